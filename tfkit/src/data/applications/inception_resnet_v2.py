"""Inception-ResNet V2: Inception blocks, a small part of which is added to their input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.inception import (
    Average,
    Branch,
    Conv,
    Maximum,
    halving,
    joined,
    stem,
)
from tfkit.src.data.applications.input_and_classifier import UNNAMED, begin, finish, head
from tfkit.src.data.applications.input_shape import channel_axis
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.variants import with_options
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.activation import Activation
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_INCEPTION_RESNET_V2 = Family(
    "inception_resnet_v2",
    "Szegedy, Ioffe, Vanhoucke and Alemi, "
    '"Inception-v4, Inception-ResNet and the Impact of Residual Connections on Learning", 2016',
    "The model expects images that `tfkit.applications.inception_resnet_v2.preprocess_input` returns: pixels "
    "from -1 to 1.",
    size=299,
    min_size=75,
)

# MD5 of the published files with and without the classifier.
_HASHES = ("e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4")


class _Stage(NamedTuple):
    """A block that changes the shape, and residual blocks that follow it.

    Args:
        mixed: name of the first block.
        branches: branches of the first block.
        name: name of the others.
        scales: the part of each that is added to its input.
        residual: branches of the others.
    """

    mixed: str
    branches: tuple[Branch, ...]
    name: str
    scales: tuple[float, ...]
    residual: tuple[Branch, ...]


# Figures 16 to 19 of the paper; the first block is that of Inception V3.
_STAGES = (
    _Stage(
        "mixed_5b",
        (
            (Conv(96),),
            (Conv(48), Conv(64, 5)),
            (Conv(64), Conv(96, 3), Conv(96, 3)),
            (Average(), Conv(64)),
        ),
        "block35",
        (0.17,) * 10,
        ((Conv(32),), (Conv(32), Conv(32, 3)), (Conv(32), Conv(48, 3), Conv(64, 3))),
    ),
    _Stage(
        "mixed_6a",
        ((halving(384),), (Conv(256), Conv(256, 3), halving(384)), (Maximum(),)),
        "block17",
        (0.1,) * 20,
        ((Conv(192),), (Conv(128), Conv(160, (1, 7)), Conv(192, (7, 1)))),
    ),
    _Stage(
        "mixed_7a",
        (
            (Conv(256), halving(384)),
            (Conv(256), halving(288)),
            (Conv(256), Conv(288, 3), halving(320)),
            (Maximum(),),
        ),
        "block8",
        (*(0.2,) * 9, 1.0),
        ((Conv(192),), (Conv(192), Conv(224, (1, 3)), Conv(256, (3, 1)))),
    ),
)


@with_options(_INCEPTION_RESNET_V2)
def InceptionResNetV2(options: Options, name: str = "inception_resnet_v2") -> Model:
    """Returns InceptionResNetV2, of 164 layers, with 55.9 million parameters."""
    path = "inception_resnet_v2/inception_resnet_v2_weights_tf_dim_ordering_tf_kernels"
    image, file = begin(options, of_both(options, path, _HASHES), size=299, min_size=75)
    x = stem(image)
    for stage in _STAGES:
        x = joined(x, stage.branches, stage.mixed)
        for number, scale in enumerate(stage.scales, start=1):
            x = _residual(x, stage.residual, scale, f"{stage.name}_{number}")
    x = Conv(1536, name="conv_7b")(x)
    return finish(options, image, head(x, options, pooling_names=UNNAMED), name, file)


def _residual(x: KerasTensor, branches: tuple[Branch, ...], scale: float, name: str) -> KerasTensor:
    """Returns `relu(x + scale * residual)`, without the activation in the last block."""
    residual = joined(x, branches, f"{name}_mixed")
    residual = Conv2D(x.shape[channel_axis()], 1, padding="same", name=f"{name}_conv")(residual)
    x = CustomScaleLayer(scale)([x, residual])
    return x if scale == 1.0 else Activation("relu", name=f"{name}_ac")(x)


class CustomScaleLayer(Layer):
    """`x + scale * residual`. Its name is the one in Keras's files.

    Args:
        scale: the part of the residual that is added.
        **kwargs: arguments of every layer.

    Input shape: a list of `x` and `residual`, of the same shape.

    Output shape: the shape of `x`.
    """

    _tfkit_built_at_once = True

    def __init__(self, scale: float, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.scale = scale

    def call(self, inputs: Sequence[Any]) -> Any:
        """Returns the sum."""
        x, residual = inputs
        return x + residual * self.scale
