"""The learned weights of ConvNeXt's residuals."""

from __future__ import annotations

from typing import Any, Unpack

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.weights.initializers.constant import Constant


class LayerScale(Layer):
    """`gamma * x`, with a weight for each channel.

    Args:
        init_values: initial value of the weights.
        projection_dim: number of channels.
        **kwargs: arguments of every layer.

    Input shape: `(..., projection_dim)`.

    Output shape: the shape of the input.

    Reference:
        Touvron, Cord, Sablayrolles, Synnaeve and Jégou, "Going deeper with Image Transformers", 2021
    """

    def __init__(
        self, init_values: float, projection_dim: int, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.init_values = init_values
        self.projection_dim = projection_dim

    def build(self, input_shape: Any) -> None:
        """Makes the weights."""
        self.gamma = self.add_weight(
            shape=(self.projection_dim,), initializer=Constant(self.init_values), name="gamma"
        )

    def call(self, x: Any) -> Any:
        """Returns the weighted channels."""
        return x * self.gamma
