"""Layers that return their inputs, or wrap another layer."""

from __future__ import annotations

from typing import Any, Unpack

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check_type


class Identity(Layer):
    """Returns its inputs.

    Args:
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any.

    Output shape: The same as the input shape.

    Example:
        >>> Identity()(tf.constant([1.0, 2.0])).numpy().tolist()
        [1.0, 2.0]
    """

    _tfkit_built_at_once = True

    def __init__(self, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        """Returns the inputs."""
        return inputs


class Wrapper(Layer):
    """The base of layers around another layer, `self.layer`; a subclass defines `call`.

    Args:
        layer: the layer inside.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Determined by the subclass; `build` builds the wrapped layer for it.

    Output shape: Determined by the subclass.

    Raises:
        ValueError: if `layer` is not a layer.

    Example:
        >>> from tfkit.layers import Dense
        >>> class Residual(Wrapper):
        ...     def call(self, inputs):
        ...         return inputs + self.layer(inputs)
        >>> Residual(Dense(3, kernel_initializer="zeros"))(tf.ones((1, 3))).numpy().tolist()
        [[1.0, 1.0, 1.0]]
    """

    def __init__(self, layer: Layer, **kwargs: Unpack[LayerOptions]) -> None:
        check_type(self, isinstance(layer, Layer), "layer", "a `Layer`", layer, ValueError)
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Builds the wrapped layer."""
        if not self.layer.built:
            self.layer.build(input_shape)
