"""VGG16 and VGG19: stacks of small convolutions, and a classifier of three dense layers."""

from __future__ import annotations

from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.input_and_classifier import UNNAMED, begin, finish, pooled
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.variants import variant
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.dense import Dense
from tfkit.src.layers.pooling import MaxPooling2D
from tfkit.src.layers.reshaping import Flatten
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_PAPER = 'Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", 2014'
_PIXELS = (
    "The models expect images that `tfkit.applications.{}.preprocess_input` returns: channels in the order "
    "blue, green, red, minus the means of ImageNet's channels."
)
_VGG16 = Family("vgg16", _PAPER, _PIXELS.format("vgg16"))
_VGG19 = Family("vgg19", _PAPER, _PIXELS.format("vgg19"))

_CONVOLUTIONS = {
    "vgg16": (2, 2, 3, 3, 3),
    "vgg19": (2, 2, 4, 4, 4),
}
# MD5 of the published files with and without the classifier.
_HASHES = {
    "vgg16": ("64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"),
    "vgg19": ("cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"),
}
_FILTERS = (64, 128, 256, 512, 512)


def _vgg(options: Options, name: str, architecture: str) -> Model:
    """Returns a network of five blocks with as many convolutions as a row of `_CONVOLUTIONS` says."""
    path = f"{architecture}/{architecture}_weights_tf_dim_ordering_tf_kernels"
    published = of_both(options, path, _HASHES[architecture])
    image, file = begin(options, published, size=224, min_size=32)
    x = image
    for block, (filters, count) in enumerate(
        zip(_FILTERS, _CONVOLUTIONS[architecture], strict=True), start=1
    ):
        for index in range(1, count + 1):
            conv = Conv2D(
                filters, 3, padding="same", activation="relu", name=f"block{block}_conv{index}"
            )
            x = conv(x)
        x = MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    x = _classifier(x, options) if options.include_top else pooled(x, options, UNNAMED)
    return finish(options, image, x, name, file)


def _classifier(x: KerasTensor, options: Options) -> KerasTensor:
    x = Flatten(name="flatten")(x)
    x = Dense(4096, activation="relu", name="fc1")(x)
    x = Dense(4096, activation="relu", name="fc2")(x)
    return Dense(options.classes, activation=options.classifier_activation, name="predictions")(x)


VGG16 = variant(
    _VGG16, _vgg, "VGG16", "of 13 convolutions and 3 dense layers, with 138 million parameters"
)
VGG19 = variant(
    _VGG19, _vgg, "VGG19", "of 16 convolutions and 3 dense layers, with 144 million parameters"
)
