"""MobileNet V3: the blocks of V2, with weights for channels and cheaper activations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.applications.describing import Family, application
from tfkit.src.data.applications.input_and_classifier import enter, finish, pooled
from tfkit.src.data.applications.input_shape import (
    CHANNELS,
    Sizes,
    channel_axis,
    check_like,
    checked,
    with_channels,
)
from tfkit.src.data.applications.mobile_parts import divisible, filtered, normalized, pointwise
from tfkit.src.data.applications.options import Options, Pooling, Shape, Weights
from tfkit.src.data.applications.weights import Published, of_both
from tfkit.src.layers.activation import Activation, ReLU
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.image.rescaling import Rescaling
from tfkit.src.layers.merging import Add, Multiply
from tfkit.src.layers.pooling import GlobalAveragePooling2D
from tfkit.src.layers.regularization import Dropout
from tfkit.src.layers.reshaping import Flatten
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_MOBILENET_V3 = Family(
    "mobilenet_v3",
    'Howard et al., "Searching for MobileNetV3", 2019',
    "The models take images with pixels from 0 to 255 and scale them; with include_preprocessing=False they "
    "expect pixels from -1 to 1. The published weights are for images of 224 rows and columns.",
    arguments={
        "alpha": (
            "factor for the numbers of filters; weights are published for 0.75 and 1, and for 1 if the "
            "model is minimalistic."
        ),
        "minimalistic": (
            "whether the model has convolutions of 3 x 3 pixels and ReLU only, and no weights for channels."
        ),
        "input_shape": (
            "sizes of an image with channels and without the batch, at least {min_size} rows and columns, in "
            "the order of `config.image_data_format()`. `None` is any size with 3 channels, or the shape of "
            "`input_tensor`."
        ),
        "dropout_rate": "rate of the dropout in front of the classifier.",
    },
)

# MD5 of the published files with and without the classifier.
_HASHES = {
    "large_224_0.75": ("765b44a33ad4005b3ac83185abf1d0eb", "40af19a13ebea4e2ee0c676887f69a2e"),
    "large_224_1.0": ("59e551e166be033d707958cf9e29a6a7", "07fb09a5933dd0c8eaafa16978110389"),
    "large_minimalistic_224_1.0": (
        "675e7b876c45c57e9e63e6d90a36599c",
        "ec5221f64a2f6d1ef965a614bdae7973",
    ),
    "small_224_0.75": ("cb65d4e5be93758266aa0a7f2c6708b7", "ebdb5cc8e0b497cd13a7c275d475c819"),
    "small_224_1.0": ("8768d4c2e7dee89b9d02b2d03d65d862", "d3e8ec802a04aa4fc771ee12a9a9b836"),
    "small_minimalistic_224_1.0": (
        "99cd97fb2fcdad2bf028eb838de69e37",
        "cde8136e733e811080d9fcd8a252f7e4",
    ),
}


class _Block(NamedTuple):
    """A row of tables 1 and 2 of the paper."""

    expansion: float
    filters: int
    kernel_size: int
    strides: int
    squeezes: bool
    activation: str


_RELU, _SWISH = "relu", "hard_swish"
_LARGE = (
    _Block(1, 16, 3, 1, False, _RELU),
    _Block(4, 24, 3, 2, False, _RELU),
    _Block(3, 24, 3, 1, False, _RELU),
    _Block(3, 40, 5, 2, True, _RELU),
    _Block(3, 40, 5, 1, True, _RELU),
    _Block(3, 40, 5, 1, True, _RELU),
    _Block(6, 80, 3, 2, False, _SWISH),
    _Block(2.5, 80, 3, 1, False, _SWISH),
    _Block(2.3, 80, 3, 1, False, _SWISH),
    _Block(2.3, 80, 3, 1, False, _SWISH),
    _Block(6, 112, 3, 1, True, _SWISH),
    _Block(6, 112, 3, 1, True, _SWISH),
    _Block(6, 160, 5, 2, True, _SWISH),
    _Block(6, 160, 5, 1, True, _SWISH),
    _Block(6, 160, 5, 1, True, _SWISH),
)
_SMALL = (
    _Block(1, 16, 3, 2, True, _RELU),
    _Block(72 / 16, 24, 3, 2, False, _RELU),
    _Block(88 / 24, 24, 3, 1, False, _RELU),
    _Block(4, 40, 5, 2, True, _SWISH),
    _Block(6, 40, 5, 1, True, _SWISH),
    _Block(6, 40, 5, 1, True, _SWISH),
    _Block(3, 48, 5, 1, True, _SWISH),
    _Block(3, 48, 5, 1, True, _SWISH),
    _Block(6, 96, 5, 2, True, _SWISH),
    _Block(6, 96, 5, 1, True, _SWISH),
    _Block(6, 96, 5, 1, True, _SWISH),
)


@dataclasses.dataclass(frozen=True)
class _Form:
    """The additional arguments of MobileNet V3, and the properties of each of the two models."""

    size: str
    blocks: Sequence[_Block]
    last_filters: int
    alpha: float
    minimalistic: bool
    dropout_rate: float
    include_preprocessing: bool

    @property
    def activation(self) -> str:
        """The activation of the first and the last layers."""
        return _RELU if self.minimalistic else _SWISH

    def simplified(self, block: _Block) -> _Block:
        """Returns the form of the block in the minimalistic model."""
        return block._replace(kernel_size=3, squeezes=False, activation=_RELU)


def _mobilenet_v3(options: Options, name: str | None, form: _Form) -> Model:
    options.check()
    shape = _image_shape(options)
    image, file = enter(options, shape, _published(options, form))

    x = Rescaling(scale=1.0 / 127.5, offset=-1.0)(image) if form.include_preprocessing else image
    x = Conv2D(16, 3, strides=2, padding="same", use_bias=False, name="conv")(x)
    x = _activated(normalized(x, "conv_bn"), form.activation)
    for number, row in enumerate(form.blocks):
        block = form.simplified(row) if form.minimalistic else row
        name_of_block = f"expanded_conv_{number}" if number else "expanded_conv"
        x = _block(x, block, divisible(block.filters * form.alpha), name_of_block)
    x = pointwise(x, divisible(x.shape[channel_axis(last=-1)] * 6), "conv_1")
    x = _activated(normalized(x, "conv_1_bn"), form.activation)
    x = _classifier(x, options, form) if options.include_top else pooled(x, options)
    return finish(options, image, x, name, file)


def _image_shape(options: Options) -> Sizes:
    check_like(options.input_tensor, options.input_shape)
    if options.input_shape is not None:
        return checked(options, min_size=32)
    if options.input_tensor is not None:
        shape = tuple(options.input_tensor.shape[1:])
        return checked(dataclasses.replace(options, input_shape=shape), min_size=32)
    return with_channels(None, None, CHANNELS)


def _published(options: Options, form: _Form) -> Published:
    alphas = (1.0,) if form.minimalistic else (0.75, 1.0)
    if options.published and form.alpha not in alphas:
        raise ValueError(
            f'With weights="imagenet" and minimalistic={form.minimalistic}, `alpha` must be one of {alphas}. '
            f"Received: alpha={form.alpha!r}"
        )
    minimalistic = "_minimalistic" if form.minimalistic else ""
    version = f"{form.size}{minimalistic}_224_{float(form.alpha)}"
    path = f"mobilenet_v3/weights_mobilenet_v3_{version}_float"
    return of_both(options, path, _HASHES.get(version, (None, None)), notop="_no_top_v2")


def _block(x: KerasTensor, block: _Block, filters: int, name: str) -> KerasTensor:
    """Returns a narrow result of a wide filter, added to the input if both have the same shape."""
    inputs, channels = x, x.shape[channel_axis(last=-1)]
    width = divisible(channels * block.expansion)
    if name != "expanded_conv":
        x = pointwise(x, width, f"{name}_expand")
        x = _activated(normalized(x, f"{name}_expand_bn"), block.activation)
    name_of_filter = f"{name}_depthwise"
    x = filtered(x, block.kernel_size, block.strides, name_of_filter, pad=f"{name_of_filter}_pad")
    x = _activated(normalized(x, f"{name_of_filter}_bn"), block.activation)
    if block.squeezes:
        x = _weighted(x, width, f"{name}_squeeze_excite")
    x = normalized(pointwise(x, filters, f"{name}_project"), f"{name}_project_bn")
    if block.strides == 1 and channels == filters:
        return Add(name=f"{name}_add")([inputs, x])
    return x


def _weighted(x: KerasTensor, channels: int, name: str) -> KerasTensor:
    """Returns channels times weights from 0 to 1, which are computed from the means of all channels."""
    means = GlobalAveragePooling2D(keepdims=True, name=f"{name}_avg_pool")(x)
    weights = Conv2D(divisible(channels * 0.25), 1, padding="same", name=f"{name}_conv")(means)
    weights = ReLU(name=f"{name}_relu")(weights)
    weights = Conv2D(channels, 1, padding="same", name=f"{name}_conv_1")(weights)
    weights = ReLU(6.0)(weights + 3.0) * (1.0 / 6.0)
    return Multiply(name=f"{name}_mul")([x, weights])


def _activated(x: KerasTensor, activation: str) -> KerasTensor:
    return ReLU()(x) if activation == _RELU else Activation(activation)(x)


def _classifier(x: KerasTensor, options: Options, form: _Form) -> KerasTensor:
    # The last layer does not become narrower.
    wide = form.alpha > 1.0
    filters = divisible(form.last_filters * form.alpha) if wide else form.last_filters
    x = GlobalAveragePooling2D(keepdims=True)(x)
    x = Conv2D(filters, 1, padding="same", name="conv_2")(x)
    x = _activated(x, form.activation)
    if form.dropout_rate > 0:
        x = Dropout(form.dropout_rate)(x)
    x = Conv2D(options.classes, 1, padding="same", name="logits")(x)
    x = Flatten()(x)
    return Activation(options.classifier_activation, name="predictions")(x)


@application(_MOBILENET_V3)
def MobileNetV3Small(
    input_shape: Shape = None,
    alpha: float = 1.0,
    minimalistic: bool = False,
    include_top: bool = True,
    weights: Weights = "imagenet",
    input_tensor: KerasTensor | None = None,
    classes: int = 1000,
    pooling: Pooling = None,
    dropout_rate: float = 0.2,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "MobileNetV3Small",
) -> Model:
    """Returns the small MobileNetV3, with 2.6 million parameters."""
    options = made_of(Options, locals())
    form = _Form("small", _SMALL, 1024, alpha, minimalistic, dropout_rate, include_preprocessing)
    return _mobilenet_v3(options, name, form)


@application(_MOBILENET_V3)
def MobileNetV3Large(
    input_shape: Shape = None,
    alpha: float = 1.0,
    minimalistic: bool = False,
    include_top: bool = True,
    weights: Weights = "imagenet",
    input_tensor: KerasTensor | None = None,
    classes: int = 1000,
    pooling: Pooling = None,
    dropout_rate: float = 0.2,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "MobileNetV3Large",
) -> Model:
    """Returns the large MobileNetV3, with 5.5 million parameters."""
    options = made_of(Options, locals())
    form = _Form("large", _LARGE, 1280, alpha, minimalistic, dropout_rate, include_preprocessing)
    return _mobilenet_v3(options, name, form)
