"""Products in 8-bit floats, whose scales follow the largest values of the last steps.

An update replaces the scales and histories by their gradients, which therefore are the new values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.weights.quantizers import float8

_FORWARD, _BACKWARD = "float8_e4m3fn", "float8_e5m2"
_ROUNDED = ("inputs", "kernel", "outputs_grad")


def add_scales(layer: Layer, history_length: int) -> None:
    """Makes the scales and the histories of largest values of a layer."""
    for name in _ROUNDED:
        shapes = {"scale": ((), "ones"), "amax_history": ((history_length,), "zeros")}
        for part, (shape, first) in shapes.items():
            weight = layer.add_weight(
                shape,
                first,
                name=f"{name}_{part}",
                trainable=True,
                autocast=False,
                overwrite_with_gradient=True,
            )
            setattr(layer, f"{name}_{part}", weight)


@dataclasses.dataclass
class Float8Product:
    """A product whose factors, and whose gradient, are rounded to 8 bits.

    Attributes:
        layer: the layer with the scales.
        multiply: returns the product of inputs and kernel.
        training: whether the scales follow the values.
    """

    layer: Layer
    multiply: Callable[[Any, Any], tf.Tensor]
    training: Any

    def __call__(self, inputs: Any, kernel: Any) -> tf.Tensor:
        """Returns the product of `inputs` and `kernel`."""
        inputs = _rounded(self.layer, "inputs", inputs, self.training)
        kernel = _rounded(self.layer, "kernel", kernel, self.training)
        outputs = self.multiply(inputs, kernel)
        return _with_rounded_gradient(self.layer, outputs) if self.training else outputs


def _state(layer: Layer, name: str) -> tuple[tf.Tensor, tf.Tensor]:
    parts = ("scale", "amax_history")
    scale, history = (tf.convert_to_tensor(getattr(layer, f"{name}_{part}")) for part in parts)
    return scale, history


def _next(x: tf.Tensor, scale: tf.Tensor, history: tf.Tensor, dtype: str) -> tuple[Any, Any]:
    """Returns the scale and the history for the next step."""
    new_scale = float8.compute_float8_scale(tf.reduce_max(history), scale, float8.LARGEST[dtype])
    return new_scale, float8.compute_float8_amax_history(x, history)


def _rounded(layer: Layer, name: str, x: Any, training: Any) -> tf.Tensor:
    x = tf.convert_to_tensor(x)
    scale, history = _state(layer, name)
    if not training:
        return float8.quantize_and_dequantize(x, scale, _FORWARD, x.dtype)

    @tf.custom_gradient
    def rounded(x: tf.Tensor, scale: tf.Tensor, history: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> tuple[Any, ...]:
            return (upstream, *_next(x, scale, history, _FORWARD))

        return float8.quantize_and_dequantize(x, scale, _FORWARD, x.dtype), gradient

    return rounded(x, scale, history)


def _with_rounded_gradient(layer: Layer, outputs: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def identity(outputs: tf.Tensor, scale: tf.Tensor, history: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> tuple[Any, ...]:
            rounded = float8.quantize_and_dequantize(upstream, scale, _BACKWARD, upstream.dtype)
            return (rounded, *_next(upstream, scale, history, _BACKWARD))

        return tf.identity(outputs), gradient

    return identity(outputs, *_state(layer, "outputs_grad"))
