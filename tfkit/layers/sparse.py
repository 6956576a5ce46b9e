"""Sparse tensors in layers that combine entries or move them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def is_sparse(x: Any) -> bool:
    """Whether `x` is a `tf.SparseTensor`."""
    return isinstance(x, tf.SparseTensor)


def dense(x: Any) -> Any:
    """`x`, dense where it is sparse."""
    return tf.sparse.to_dense(tf.sparse.reorder(x)) if is_sparse(x) else x


def combined(function: Callable[[list[tf.Tensor]], tf.Tensor], inputs: list[Any]) -> Any:
    """A function of entries at the same place, for sparse tensors of one shape.

    Args:
        function: takes the entries of each input and gives those of the output; of zeros it gives zero.
        inputs: sparse tensors of one shape and dtype.

    Returns:
        A sparse tensor, with an entry wherever an input has one.
    """
    # A sum of zeros has an entry wherever an input has one, and they are in order.
    zeros = [x.with_values(tf.zeros_like(x.values)) for x in map(tf.sparse.reorder, inputs)]
    pattern = functools.reduce(tf.sparse.add, zeros)
    values = [tf.sparse.add(tf.sparse.reorder(x), pattern).values for x in inputs]
    outputs = pattern.with_values(function(values))
    return with_shape(outputs, inputs[0].shape)


def with_shape(x: tf.SparseTensor, shape: Any) -> tf.SparseTensor:
    """`x`, known to have the static `shape`."""
    x.set_shape(shape)
    return x
