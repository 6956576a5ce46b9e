"""EfficientNet V2: its first blocks filter all channels together, which is faster."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.applications.describing import Family, application
from tfkit.src.data.applications.efficientnet_parts import (
    DEVIATIONS,
    MEANS,
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
from tfkit.src.data.applications.input_shape import CHANNELS, channel_axis
from tfkit.src.data.applications.options import Options, Pooling, Shape, Weights
from tfkit.src.data.applications.variants import titled
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.image.rescaling import Rescaling
from tfkit.src.layers.preprocessing.normalization import Normalization
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model
from tfkit.src.weights.initializers.constant import Constant

_EFFICIENTNET_V2 = Family(
    "efficientnet_v2",
    'Tan and Le, "EfficientNetV2: Smaller Models and Faster Training", 2021',
    "The models take images with pixels from 0 to 255 and scale them. With include_preprocessing=False they "
    "expect scaled ones: B0 to B3 pixels from 0 to 1, minus the means of ImageNet's channels, divided by "
    "their deviations; S, M and L pixels from -1 to 1.",
)


class _Stage(NamedTuple):
    """A row of table 4 of the paper: blocks of the same form.

    Args:
        fused: whether a block filters all channels together, and has no weights for channels.
        expansion: factor for the channels inside.
        strides: of the first block.
        filters: number of channels that a block returns.
        repeats: number of blocks.
    """

    fused: bool
    expansion: int
    strides: int
    filters: int
    repeats: int


class _Network(NamedTuple):
    """A network: the size of its images, its first filters, its stages, factors for filters and blocks."""

    size: int
    stem: int
    stages: tuple[_Stage, ...]
    width: float = 1.0
    depth: float = 1.0


_B = (
    *(_Stage(True, 1, 1, 16, 1), _Stage(True, 4, 2, 32, 2), _Stage(True, 4, 2, 48, 2)),
    *(_Stage(False, 4, 2, 96, 3), _Stage(False, 6, 1, 112, 5), _Stage(False, 6, 2, 192, 8)),
)
_S = (
    *(_Stage(True, 1, 1, 24, 2), _Stage(True, 4, 2, 48, 4), _Stage(True, 4, 2, 64, 4)),
    *(_Stage(False, 4, 2, 128, 6), _Stage(False, 6, 1, 160, 9), _Stage(False, 6, 2, 256, 15)),
)
_M = (
    *(_Stage(True, 1, 1, 24, 3), _Stage(True, 4, 2, 48, 5), _Stage(True, 4, 2, 80, 5)),
    *(_Stage(False, 4, 2, 160, 7), _Stage(False, 6, 1, 176, 14), _Stage(False, 6, 2, 304, 18)),
    _Stage(False, 6, 1, 512, 5),
)
_L = (
    *(_Stage(True, 1, 1, 32, 4), _Stage(True, 4, 2, 64, 7), _Stage(True, 4, 2, 96, 7)),
    *(_Stage(False, 4, 2, 192, 10), _Stage(False, 6, 1, 224, 19), _Stage(False, 6, 2, 384, 25)),
    _Stage(False, 6, 1, 640, 7),
)
_NETWORKS = {
    "b0": _Network(224, 32, _B),
    "b1": _Network(240, 32, _B, depth=1.1),
    "b2": _Network(260, 32, _B, width=1.1, depth=1.2),
    "b3": _Network(300, 32, _B, width=1.2, depth=1.4),
    "s": _Network(384, 24, _S),
    "m": _Network(480, 24, _M),
    "l": _Network(480, 32, _L),
}
_MOMENTUM = 0.9
# MD5 of the published files with and without the classifier.
_HASHES = {
    "b0": ("21ecbf6da12460d5c40bb2f29ceb2188", "893217f2bb855e2983157299931e43ff"),
    "b1": ("069f0534ff22adf035c89e2d9547a9dc", "0e80663031ca32d657f9caa404b6ec37"),
    "b2": ("424e49f28180edbde1e94797771950a7", "1dfe2e7a5d45b6632553a8961ea609eb"),
    "b3": ("1f1fc43bd98a6e4fd8fdfd551e02c7a0", "f6abf7b5849ac99a89b50dd3fd532856"),
    "s": ("e1d88a8495beba45748fedd0cecbe016", "af0682fb74e8c54910f2d4393339c070"),
    "m": ("a3bf6aa3276309f4fc6a34aa114c95cd", "1b8dc055df72dde80d614482840fe342"),
    "l": ("27e6d408b53c7ebc868fefa357689935", "b0b66b5c863aef5b46e8608fe1711615"),
}


def _efficientnet_v2(
    options: Options, name: str, version: str, include_preprocessing: bool
) -> Model:
    """Returns the network of a row of `_NETWORKS`."""
    network = _NETWORKS[version]
    published = of_both(options, f"efficientnet_v2/efficientnetv2-{version}", _HASHES[version])
    image, file = begin(options, published, size=network.size, min_size=32)

    x = _scaled(image, version) if include_preprocessing else image
    x = convolved(x, _rounded(network.stem * network.width), 3, "stem_conv", strides=2)
    x = activated(x, "stem_bn", "stem_activation", _MOMENTUM)
    # The rates are those of a network of unscaled depth.
    unscaled = sum(stage.repeats for stage in network.stages)
    repeats = [math.ceil(network.depth * stage.repeats) for stage in network.stages]
    for form, rate, block in blocks(
        network.stages, repeats, unscaled, lambda filters: _rounded(filters * network.width)
    ):
        x = _block(x, form, rate, block)
    x = convolved(x, _rounded(1280 * network.width), 1, "top_conv")
    x = activated(x, "top_bn", "top_activation", _MOMENTUM)
    x = top(x, options, dropout=0.2, bias_initializer=Constant(0.0))
    return finish(options, image, x, name, file)


def _rounded(channels: float) -> int:
    """Returns the nearest multiple of 8."""
    return int(channels + 4) // 8 * 8


def _scaled(image: KerasTensor, version: str) -> KerasTensor:
    """Returns the pixels as the network was trained on them."""
    if not version.startswith("b") or image.shape[channel_axis()] != CHANNELS:
        return Rescaling(1 / 128, offset=-1)(image)
    variances = [each**2 for each in DEVIATIONS]
    return Normalization(axis=channel_axis(), mean=MEANS, variance=variances)(
        Rescaling(1 / 255)(image)
    )


def _block(x: KerasTensor, stage: _Stage, drop_rate: float, name: str) -> KerasTensor:
    """Returns a narrow result of a wide filter, added to the input if both have the same shape."""
    inputs, channels = x, x.shape[channel_axis()]
    x = _fused(x, stage, name) if stage.fused else _filtered(x, stage, name)
    same = stage.strides == 1 and channels == stage.filters
    return added(x, inputs, drop_rate, name) if same else x


def _fused(x: KerasTensor, stage: _Stage, name: str) -> KerasTensor:
    """Returns the result of one convolution, which projects at once if it does not expand."""
    if stage.expansion == 1:
        x = convolved(x, stage.filters, 3, f"{name}_project_conv", strides=stage.strides)
        return activated(x, f"{name}_project_bn", f"{name}_project_activation", _MOMENTUM)
    width = stage.expansion * x.shape[channel_axis()]
    x = convolved(x, width, 3, f"{name}_expand_conv", strides=stage.strides)
    x = activated(x, f"{name}_expand_bn", f"{name}_expand_activation", _MOMENTUM)
    return _projected(x, stage, name)


def _filtered(x: KerasTensor, stage: _Stage, name: str) -> KerasTensor:
    """Returns the result of a convolution of each channel alone, with weights for channels."""
    channels = x.shape[channel_axis()]
    x = convolved(x, stage.expansion * channels, 1, f"{name}_expand_conv")
    x = activated(x, f"{name}_expand_bn", f"{name}_expand_activation", _MOMENTUM)
    x = filtered(x, 3, stage.strides, "same", f"{name}_dwconv2")
    x = activated(x, f"{name}_bn", f"{name}_activation", _MOMENTUM)
    x = weighted(x, channels // 4, f"{name}_se")
    return _projected(x, stage, name)


def _projected(x: KerasTensor, stage: _Stage, name: str) -> KerasTensor:
    x = convolved(x, stage.filters, 1, f"{name}_project_conv")
    return normalized(x, f"{name}_project_bn", _MOMENTUM)


class _Application(Protocol):
    """A function of a model, for type checkers."""

    def __call__(
        self,
        include_top: bool = ...,
        weights: Weights = ...,
        input_tensor: KerasTensor | None = ...,
        input_shape: Shape = ...,
        pooling: Pooling = ...,
        classes: int = ...,
        classifier_activation: Any = ...,
        include_preprocessing: bool = ...,
        name: str = ...,
    ) -> Model:
        """Returns the model."""


def _variant(title: str, words: str, version: str) -> _Application:
    """Returns the function of the network of a row of `_NETWORKS`."""

    @application(_EFFICIENTNET_V2, size=_NETWORKS[version].size)
    @titled(title, words)
    def function(
        include_top: bool = True,
        weights: Weights = "imagenet",
        input_tensor: KerasTensor | None = None,
        input_shape: Shape = None,
        pooling: Pooling = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
        include_preprocessing: bool = True,
        name: str = f"efficientnetv2-{version}",
    ) -> Model:
        options = made_of(Options, locals())
        return _efficientnet_v2(options, name, version, include_preprocessing)

    return function


EfficientNetV2B0 = _variant("EfficientNetV2B0", "with 7.2 million parameters", "b0")
EfficientNetV2B1 = _variant("EfficientNetV2B1", "with 8.2 million parameters", "b1")
EfficientNetV2B2 = _variant("EfficientNetV2B2", "with 10.2 million parameters", "b2")
EfficientNetV2B3 = _variant("EfficientNetV2B3", "with 14.5 million parameters", "b3")
EfficientNetV2S = _variant("EfficientNetV2S", "with 21.6 million parameters", "s")
EfficientNetV2M = _variant("EfficientNetV2M", "with 54.4 million parameters", "m")
EfficientNetV2L = _variant("EfficientNetV2L", "with 119 million parameters", "l")
