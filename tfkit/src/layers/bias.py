"""The bias of layers: a weight that is added to each of their outputs."""

from __future__ import annotations

from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.layers.parameters import AddsWeights, add_parameter
from tfkit.src.ops.kernels import add_row
from tfkit.src.symbolic.tensors import only_shapes_count


class Biased(AddsWeights, Protocol):
    """A layer with the usual arguments of a bias."""

    use_bias: bool
    bias_initializer: Any
    bias_regularizer: Any
    bias_constraint: Any


def add_bias(layer: Biased, shape: tuple[int, ...], initializer: Any = None) -> tf.Variable | None:
    """Returns the new weight `bias` of a layer, or `None` for `use_bias=False`.

    Args:
        layer: the layer, while it is built.
        shape: shape of the bias.
        initializer: initial value; `None` for `layer.bias_initializer`.
    """
    if not layer.use_bias:
        return None
    options = {} if initializer is None else {"initializer": initializer}
    return add_parameter(layer, "bias", shape, **options)


def plus_bias(x: tf.Tensor, bias: Any) -> tf.Tensor:
    """Returns `x + bias`, for a bias of at most as many axes.

    If the bias has all of the last sizes of `x`, both are seen as a matrix and a row, whose gradient XLA sums
    about 5 times as fast as over several axes.
    """
    sizes = bias.shape.as_list()
    # `bias_add` does not broadcast; its gradient is one sum over rows, faster than the gradient of `+`.
    if not sizes or sizes != x.shape.as_list()[-len(sizes) :] or 0 in sizes:
        return x + bias
    # Only the shape counts here, which is the shape of `x`.
    if only_shapes_count():
        return x
    return add_row(x, tf.reshape(bias, [-1]))
