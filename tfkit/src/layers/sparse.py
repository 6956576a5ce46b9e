"""Sparse tensors in layers that combine or move entries."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.engine.derivatives import derivative
from tfkit.src.ops.sparse import with_shape


def is_sparse(x: Any) -> bool:
    """Whether `x` is a `tf.SparseTensor`."""
    return isinstance(x, tf.SparseTensor)


def dense(x: Any) -> Any:
    """Returns `x`, converted to a dense tensor if it is sparse."""
    return tf.sparse.to_dense(tf.sparse.reorder(x)) if is_sparse(x) else x


def combined(function: Callable[[list[tf.Tensor]], tf.Tensor], inputs: list[Any]) -> Any:
    """Returns a function of entries at the same position, for sparse tensors of one shape.

    Args:
        function: computes the entries of the output from the entries of each input; zeros must give zero.
        inputs: sparse tensors of one shape and dtype.

    Returns:
        A sparse tensor, with entries where any input has one.
    """
    # A sum of zeros has entries where any input has one, and they are in order.
    zeros = [x.with_values(tf.zeros_like(x.values)) for x in map(tf.sparse.reorder, inputs)]
    pattern = functools.reduce(tf.sparse.add, zeros)
    values = [tf.sparse.add(tf.sparse.reorder(x), pattern).values for x in inputs]
    outputs = pattern.with_values(function(values))
    return with_shape(outputs, inputs[0].shape)


def product(x: tf.SparseTensor, kernel: Any) -> tf.Tensor:
    """Returns `x @ kernel`; the kernel's gradient contains only the rows for which `x` has entries.

    Args:
        x: sparse matrix.
        kernel: matrix, with as many rows as `x` has columns.

    Returns:
        A matrix.
    """
    shape = [x.shape[0], kernel.shape[1]]

    @tf.custom_gradient
    def multiply(values: tf.Tensor, kernel: tf.Tensor) -> Any:
        @derivative
        def gradients(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.IndexedSlices]:
            rows, columns = tf.unstack(x.indices, axis=1)
            # A wide input has few distinct columns in a batch: the gradient has rows only for these.
            used, places = tf.unique(columns)
            size = tf.stack([tf.size(used, tf.int64), x.dense_shape[0]])
            indices = tf.stack([tf.cast(places, tf.int64), rows], axis=1)
            by_row = tf.sparse.sparse_dense_matmul(tf.SparseTensor(indices, values, size), upstream)
            # The entry (i, j) is multiplied with row j of the kernel, and added to row i of the
            # outputs.
            of_values = tf.reduce_sum(
                tf.gather(upstream, rows) * tf.gather(kernel, columns), axis=-1
            )
            return of_values, tf.IndexedSlices(by_row, used, tf.shape(kernel, tf.int64))

        return tf.sparse.sparse_dense_matmul(x.with_values(values), kernel), gradients

    return tf.ensure_shape(multiply(x.values, tf.convert_to_tensor(kernel)), shape)
