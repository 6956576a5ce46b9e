"""Published image classifiers, by family; loaded when `tfkit.applications` is first used."""

from tfkit.applications import densenet as densenet
from tfkit.applications import imagenet_utils as imagenet_utils
from tfkit.applications import mobilenet as mobilenet
from tfkit.applications import mobilenet_v2 as mobilenet_v2
from tfkit.applications import mobilenet_v3 as mobilenet_v3
from tfkit.applications import resnet as resnet
from tfkit.applications import resnet50 as resnet50
from tfkit.applications import resnet_v2 as resnet_v2
from tfkit.applications import vgg16 as vgg16
from tfkit.applications import vgg19 as vgg19
from tfkit.src.applications.densenet import DenseNet121 as DenseNet121
from tfkit.src.applications.densenet import DenseNet169 as DenseNet169
from tfkit.src.applications.densenet import DenseNet201 as DenseNet201
from tfkit.src.applications.mobilenet import MobileNet as MobileNet
from tfkit.src.applications.mobilenet_v2 import MobileNetV2 as MobileNetV2
from tfkit.src.applications.mobilenet_v3 import MobileNetV3Large as MobileNetV3Large
from tfkit.src.applications.mobilenet_v3 import MobileNetV3Small as MobileNetV3Small
from tfkit.src.applications.resnet import ResNet50 as ResNet50
from tfkit.src.applications.resnet import ResNet101 as ResNet101
from tfkit.src.applications.resnet import ResNet152 as ResNet152
from tfkit.src.applications.resnet_v2 import ResNet50V2 as ResNet50V2
from tfkit.src.applications.resnet_v2 import ResNet101V2 as ResNet101V2
from tfkit.src.applications.resnet_v2 import ResNet152V2 as ResNet152V2
from tfkit.src.applications.vgg import VGG16 as VGG16
from tfkit.src.applications.vgg import VGG19 as VGG19
