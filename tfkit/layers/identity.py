"""Layers that hand on: nothing done, or another layer called."""

from __future__ import annotations

from typing import Any, Unpack

from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions


class Identity(Layer):
    """Gives its inputs."""

    def __init__(self, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        """The inputs."""
        return inputs


class Wrapper(Layer):
    """Base of layers around another layer; subclasses define `call`.

    Args:
        layer: the layer inside.

    Raises:
        ValueError: where `layer` is no layer.
    """

    def __init__(self, layer: Layer, **kwargs: Unpack[LayerOptions]) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Invalid value for argument `layer` of layer {type(self).__name__}. Expected a "
                f"`Layer`. Received: layer={layer!r} (of type {type(layer).__name__})"
            )
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Builds the layer inside."""
        if not self.layer.built:
            self.layer.build(input_shape)
