"""Derivatives of activation functions, computed from their outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.ops import activation_lookup as activations

# In terms of outputs, so that the loop keeps nothing else for the gradient.
_SLOPES: dict[Callable[..., Any], Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    activations.linear: lambda outputs, upstream: upstream,
    activations.relu: lambda outputs, upstream: tf.raw_ops.ReluGrad(
        gradients=upstream, features=outputs
    ),
    activations.sigmoid: lambda outputs, upstream: tf.raw_ops.SigmoidGrad(y=outputs, dy=upstream),
    activations.tanh: lambda outputs, upstream: tf.raw_ops.TanhGrad(y=outputs, dy=upstream),
}


def known(activation: Callable[..., Any]) -> bool:
    """Returns whether `slope` supports an activation function."""
    return activation in _SLOPES


def slope(activation: Callable[..., Any], outputs: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """Returns the gradient of the inputs of an activation function, from its outputs and their gradient."""
    return _SLOPES[activation](outputs, upstream)
