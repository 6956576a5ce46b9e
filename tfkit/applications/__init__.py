"""Published image classifiers, by family; loaded when `tfkit.applications` is first used."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.applications import convnext as convnext
    from tfkit.applications import densenet as densenet
    from tfkit.applications import efficientnet as efficientnet
    from tfkit.applications import efficientnet_v2 as efficientnet_v2
    from tfkit.applications import imagenet_utils as imagenet_utils
    from tfkit.applications import inception_resnet_v2 as inception_resnet_v2
    from tfkit.applications import inception_v3 as inception_v3
    from tfkit.applications import mobilenet as mobilenet
    from tfkit.applications import mobilenet_v2 as mobilenet_v2
    from tfkit.applications import mobilenet_v3 as mobilenet_v3
    from tfkit.applications import nasnet as nasnet
    from tfkit.applications import resnet as resnet
    from tfkit.applications import resnet50 as resnet50
    from tfkit.applications import resnet_v2 as resnet_v2
    from tfkit.applications import vgg16 as vgg16
    from tfkit.applications import vgg19 as vgg19
    from tfkit.applications import xception as xception
    from tfkit.src.data.applications.convnext import ConvNeXtBase as ConvNeXtBase
    from tfkit.src.data.applications.convnext import ConvNeXtLarge as ConvNeXtLarge
    from tfkit.src.data.applications.convnext import ConvNeXtSmall as ConvNeXtSmall
    from tfkit.src.data.applications.convnext import ConvNeXtTiny as ConvNeXtTiny
    from tfkit.src.data.applications.convnext import ConvNeXtXLarge as ConvNeXtXLarge
    from tfkit.src.data.applications.densenet import DenseNet121 as DenseNet121
    from tfkit.src.data.applications.densenet import DenseNet169 as DenseNet169
    from tfkit.src.data.applications.densenet import DenseNet201 as DenseNet201
    from tfkit.src.data.applications.efficientnet import EfficientNetB0 as EfficientNetB0
    from tfkit.src.data.applications.efficientnet import EfficientNetB1 as EfficientNetB1
    from tfkit.src.data.applications.efficientnet import EfficientNetB2 as EfficientNetB2
    from tfkit.src.data.applications.efficientnet import EfficientNetB3 as EfficientNetB3
    from tfkit.src.data.applications.efficientnet import EfficientNetB4 as EfficientNetB4
    from tfkit.src.data.applications.efficientnet import EfficientNetB5 as EfficientNetB5
    from tfkit.src.data.applications.efficientnet import EfficientNetB6 as EfficientNetB6
    from tfkit.src.data.applications.efficientnet import EfficientNetB7 as EfficientNetB7
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B0 as EfficientNetV2B0
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B1 as EfficientNetV2B1
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B2 as EfficientNetV2B2
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B3 as EfficientNetV2B3
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2L as EfficientNetV2L
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2M as EfficientNetV2M
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2S as EfficientNetV2S
    from tfkit.src.data.applications.inception_resnet_v2 import (
        InceptionResNetV2 as InceptionResNetV2,
    )
    from tfkit.src.data.applications.inception_v3 import InceptionV3 as InceptionV3
    from tfkit.src.data.applications.mobilenet import MobileNet as MobileNet
    from tfkit.src.data.applications.mobilenet_v2 import MobileNetV2 as MobileNetV2
    from tfkit.src.data.applications.mobilenet_v3 import MobileNetV3Large as MobileNetV3Large
    from tfkit.src.data.applications.mobilenet_v3 import MobileNetV3Small as MobileNetV3Small
    from tfkit.src.data.applications.nasnet import NASNetLarge as NASNetLarge
    from tfkit.src.data.applications.nasnet import NASNetMobile as NASNetMobile
    from tfkit.src.data.applications.resnet import ResNet50 as ResNet50
    from tfkit.src.data.applications.resnet import ResNet101 as ResNet101
    from tfkit.src.data.applications.resnet import ResNet152 as ResNet152
    from tfkit.src.data.applications.resnet_v2 import ResNet50V2 as ResNet50V2
    from tfkit.src.data.applications.resnet_v2 import ResNet101V2 as ResNet101V2
    from tfkit.src.data.applications.resnet_v2 import ResNet152V2 as ResNet152V2
    from tfkit.src.data.applications.vgg import VGG16 as VGG16
    from tfkit.src.data.applications.vgg import VGG19 as VGG19
    from tfkit.src.data.applications.xception import Xception as Xception

_later.offer(__name__)
