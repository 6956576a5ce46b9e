"""EfficientNet: one network of MobileNet's blocks, scaled in width, depth and resolution."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.efficientnet_parts import (
    DEVIATIONS,
    activated,
    added,
    blocks,
    convolved,
    filtered,
    normalized,
    top,
    weighted,
)
from tfkit.src.data.applications.input_and_classifier import begin, finish
from tfkit.src.data.applications.input_shape import channel_axis
from tfkit.src.data.applications.mobile_parts import divisible, padding_for_stride
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.variants import variant
from tfkit.src.data.applications.weights import EFFICIENTNETS, of_both
from tfkit.src.layers.image.rescaling import Rescaling
from tfkit.src.layers.preprocessing.normalization import Normalization
from tfkit.src.layers.resizing import ZeroPadding2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_EFFICIENTNET = Family(
    "efficientnet",
    'Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", 2019',
    "The models take images with pixels from 0 to 255 and scale them. With other weights than the published "
    "ones, the layer `normalization` has mean 0 and variance 1; its `adapt` sets them from data.",
)


class _Scale(NamedTuple):
    """A network: factors for the numbers of filters and blocks, and what else grows with them."""

    width: float
    depth: float
    size: int
    dropout: float


_SCALES = {
    "efficientnetb0": _Scale(1.0, 1.0, 224, 0.2),
    "efficientnetb1": _Scale(1.0, 1.1, 240, 0.2),
    "efficientnetb2": _Scale(1.1, 1.2, 260, 0.3),
    "efficientnetb3": _Scale(1.2, 1.4, 300, 0.3),
    "efficientnetb4": _Scale(1.4, 1.8, 380, 0.4),
    "efficientnetb5": _Scale(1.6, 2.2, 456, 0.4),
    "efficientnetb6": _Scale(1.8, 2.6, 528, 0.5),
    "efficientnetb7": _Scale(2.0, 3.1, 600, 0.5),
}


class _Stage(NamedTuple):
    """A row of table 1 of the paper: blocks of the same form.

    Args:
        expansion: factor for the channels inside.
        kernel_size: rows and columns of the kernel.
        strides: of the first block.
        filters: number of channels that a block returns.
        repeats: number of blocks.
    """

    expansion: int
    kernel_size: int
    strides: int
    filters: int
    repeats: int


_STAGES = (
    *(
        _Stage(1, 3, 1, 16, 1),
        _Stage(6, 3, 2, 24, 2),
        _Stage(6, 5, 2, 40, 2),
        _Stage(6, 3, 2, 80, 3),
    ),
    *(_Stage(6, 5, 1, 112, 3), _Stage(6, 5, 2, 192, 4), _Stage(6, 3, 1, 320, 1)),
)
_MOMENTUM = 0.99
# MD5 of the published files with and without the classifier.
_HASHES = {
    "efficientnetb0": ("902e53a9f72be733fc0bcb005b3ebbac", "50bc09e76180e00e4465e1a485ddc09d"),
    "efficientnetb1": ("1d254153d4ab51201f1646940f018540", "74c4e6b3e1f6a1eea24c589628592432"),
    "efficientnetb2": ("b15cce36ff4dcbd00b6dd88e7857a6ad", "111f8e2ac8aa800a7a99e3239f7bfb39"),
    "efficientnetb3": ("ffd1fdc53d0ce67064dc6a9c7960ede0", "af6d107764bb5b1abb91932881670226"),
    "efficientnetb4": ("18c95ad55216b8f92d7e70b3a046e2fc", "ebc24e6d6c33eaebbd558eafbeedf1ba"),
    "efficientnetb5": ("ace28f2a6363774853a83a0b21b9421a", "38879255a25d3c92d5e44e04ae6cec6f"),
    "efficientnetb6": ("165f6e37dce68623721b423839de8be5", "9ecce42647a20130c1f39a5d4cb75743"),
    "efficientnetb7": ("8c03f828fec3ef71311cd463b6759d99", "cbcfe4450ddf6f3ad90b1b398090fe4a"),
}


def _efficientnet(options: Options, name: str, architecture: str) -> Model:
    """Returns the network of a row of `_SCALES`."""
    scale = _SCALES[architecture]
    published = of_both(options, architecture, _HASHES[architecture])
    published = published._replace(folder=EFFICIENTNETS)
    image, file = begin(options, published, size=scale.size, min_size=32)

    x = Normalization(axis=channel_axis())(Rescaling(1 / 255)(image))
    if options.published:
        # Their `normalization` has deviations in place of variances, and divides by their square roots.
        x = Rescaling([1 / math.sqrt(each) for each in DEVIATIONS])(x)
    x = ZeroPadding2D(padding_for_stride(x, 3), name="stem_conv_pad")(x)
    x = convolved(x, divisible(32 * scale.width), 3, "stem_conv", strides=2, padding="valid")
    x = activated(x, "stem_bn", "stem_activation", _MOMENTUM)
    repeats = [math.ceil(scale.depth * stage.repeats) for stage in _STAGES]
    for form, rate, block in blocks(
        _STAGES, repeats, sum(repeats), lambda filters: divisible(filters * scale.width)
    ):
        x = _block(x, form, rate, block)
    x = convolved(x, divisible(1280 * scale.width), 1, "top_conv")
    x = activated(x, "top_bn", "top_activation", _MOMENTUM)
    return finish(options, image, top(x, options, scale.dropout), name, file)


def _block(x: KerasTensor, stage: _Stage, drop_rate: float, name: str) -> KerasTensor:
    """Returns a narrow result of a wide filter, added to the input if both have the same shape."""
    inputs, channels = x, x.shape[channel_axis()]
    if stage.expansion > 1:
        x = convolved(x, stage.expansion * channels, 1, f"{name}_expand_conv")
        x = activated(x, f"{name}_expand_bn", f"{name}_expand_activation", _MOMENTUM)
    padding = "same"
    if stage.strides == 2:
        padding = "valid"
        x = ZeroPadding2D(padding_for_stride(x, stage.kernel_size), name=f"{name}_dwconv_pad")(x)
    x = filtered(x, stage.kernel_size, stage.strides, padding, f"{name}_dwconv")
    x = activated(x, f"{name}_bn", f"{name}_activation", _MOMENTUM)
    # A quarter of the channels before they were expanded.
    x = weighted(x, max(1, channels // 4), f"{name}_se")
    x = convolved(x, stage.filters, 1, f"{name}_project_conv")
    x = normalized(x, f"{name}_project_bn", _MOMENTUM)
    same = stage.strides == 1 and channels == stage.filters
    return added(x, inputs, drop_rate, name) if same else x


_variant = functools.partial(variant, _EFFICIENTNET, _efficientnet)

EfficientNetB0 = _variant("EfficientNetB0", "with 5.3 million parameters")
EfficientNetB1 = _variant("EfficientNetB1", "with 7.9 million parameters", size=240)
EfficientNetB2 = _variant("EfficientNetB2", "with 9.2 million parameters", size=260)
EfficientNetB3 = _variant("EfficientNetB3", "with 12.3 million parameters", size=300)
EfficientNetB4 = _variant("EfficientNetB4", "with 19.5 million parameters", size=380)
EfficientNetB5 = _variant("EfficientNetB5", "with 30.6 million parameters", size=456)
EfficientNetB6 = _variant("EfficientNetB6", "with 43.3 million parameters", size=528)
EfficientNetB7 = _variant("EfficientNetB7", "with 66.7 million parameters", size=600)
