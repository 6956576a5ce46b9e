"""Xception: blocks of convolutions that filter each channel alone, with the input added around them."""

from __future__ import annotations

from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.input_and_classifier import UNNAMED, begin, finish, head
from tfkit.src.data.applications.input_shape import channel_axis
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.variants import with_options
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.activation import Activation
from tfkit.src.layers.batch_normalization import BatchNormalization
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.merging import Add
from tfkit.src.layers.pooling import MaxPooling2D
from tfkit.src.layers.separable_convolution import SeparableConv2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_XCEPTION = Family(
    "xception",
    'Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions", 2017',
    "The model expects images that `tfkit.applications.xception.preprocess_input` returns: pixels from -1 "
    "to 1.",
    size=299,
    min_size=71,
)

# MD5 of the published files with and without the classifier.
_HASHES = ("0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97")
# Figure 5 of the paper: the filters of each block, and whether it halves rows and columns.
_BLOCKS = (
    *(((128, 128), True), ((256, 256), True), ((728, 728), True)),
    *[((728, 728, 728), False)] * 8,
    ((728, 1024), True),
)


@with_options(_XCEPTION)
def Xception(options: Options, name: str = "xception") -> Model:
    """Returns Xception, of 36 convolutions, with 22.9 million parameters."""
    published = of_both(options, "xception/xception_weights_tf_dim_ordering_tf_kernels", _HASHES)
    image, file = begin(options, published, size=299, min_size=71)

    x = Conv2D(32, 3, strides=2, use_bias=False, name="block1_conv1")(image)
    x = _activated(_normalized(x, "block1_conv1_bn"), "block1_conv1_act")
    x = Conv2D(64, 3, use_bias=False, name="block1_conv2")(x)
    x = _activated(_normalized(x, "block1_conv2_bn"), "block1_conv2_act")
    for number, (filters, halves) in enumerate(_BLOCKS, start=2):
        x = _block(x, filters, halves, f"block{number}")
    for index, count in enumerate((1536, 2048), start=1):
        x = _separable(x, count, f"block14_sepconv{index}")
        x = _activated(x, f"block14_sepconv{index}_act")
    return finish(options, image, head(x, options, pooling_names=UNNAMED), name, file)


def _block(x: KerasTensor, filters: tuple[int, ...], halves: bool, name: str) -> KerasTensor:
    """Returns `shortcut + residual`; a block that halves its input projects its shortcut."""
    shortcut = x
    if halves:
        shortcut = Conv2D(filters[-1], 1, strides=2, padding="same", use_bias=False)(x)
        shortcut = _normalized(shortcut)
    for index, count in enumerate(filters, start=1):
        if (name, index) != ("block2", 1):  # Block 1 ends in an activation.
            x = _activated(x, f"{name}_sepconv{index}_act")
        x = _separable(x, count, f"{name}_sepconv{index}")
    if halves:
        x = MaxPooling2D(3, strides=2, padding="same", name=f"{name}_pool")(x)
    return Add()([x, shortcut])


def _separable(x: KerasTensor, filters: int, name: str) -> KerasTensor:
    x = SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return _normalized(x, f"{name}_bn")


def _normalized(x: KerasTensor, name: str | None = None) -> KerasTensor:
    return BatchNormalization(axis=channel_axis(last=-1), name=name)(x)


def _activated(x: KerasTensor, name: str) -> KerasTensor:
    return Activation("relu", name=name)(x)
