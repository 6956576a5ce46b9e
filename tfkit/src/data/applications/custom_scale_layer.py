"""The sum of Inception-ResNet V2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer


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
