"""Computes gradients of tall kernels as their transposes where XLA would multiply slowly.

The gradient of a kernel is a product with a transposed left factor, and Eigen, with which XLA multiplies on a
CPU, reads the columns of a wide left factor slowly. A kernel with four times as many rows as columns has its
wide factor on the right in the transposed product: for 512 x 128 that takes two thirds of the time, for
512 x 10 a sixth. XLA's simplifications would turn it back, so there is an optimization barrier in between.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import apply_op, attr_value_pb2
from tfkit.src.runtime import xla

_MARK = "_tfkit_fewest_rows"
_TALL = 4  # Rows of a kernel for each column.
# Kernels of so few columns gain for any batch, wider ones for so many rows of the batch, if columns lie at
# distances in which they share lines of the CPU's cache.
_FEW_COLUMNS, _MANY_COLUMNS, _MANY_ROWS, _DISTANCE = 32, 256, 512, 128


def mark_tall_gradients(graph: tf.Graph) -> None:
    """Marks the products of a traced step that are gradients of tall kernels."""
    if xla.device() != "CPU":
        return
    for operation in graph.get_operations():
        if operation.type == "MatMul" and operation.get_attr("transpose_a"):
            fewest = _fewest_rows(operation)
            if fewest is not None:
                # Private, seen in TensorFlow 2.21.
                operation._set_attr(_MARK, attr_value_pb2.AttrValue(i=fewest))


def transposed_of(node: Any) -> Any:
    """Returns an equivalent `ConcreteFunction` of a marked product, and `None` of other nodes."""
    return _transposed(node.attr[_MARK].i) if _MARK in node.attr else None


def _fewest_rows(operation: tf.Operation) -> int | None:
    """Returns the number of rows from which the transposed product is faster, or `None`."""
    result = operation.outputs[0]
    if operation.get_attr("transpose_b") or result.dtype != tf.float32:
        return None
    inner, columns = result.shape
    if not inner or not columns or inner < _TALL * columns:
        return None
    if columns <= _FEW_COLUMNS:
        return 0
    return _MANY_ROWS if columns <= _MANY_COLUMNS and inner % _DISTANCE == 0 else None


@functools.cache
def _transposed(fewest_rows: int) -> Any:
    def transposed(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        product = tf.matmul(right, left, transpose_a=True)
        return tf.transpose(apply_op("XlaOptimizationBarrier", input=[product])[0])

    def product(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        if not fewest_rows:
            return transposed(left, right)
        # XLA knows the number of rows, and drops the part that has none.
        rows = tf.shape(left)[0]
        sizes = tf.where(rows < fewest_rows, [rows, 0], [0, rows])
        (few, many), (few_right, many_right) = (tf.split(each, sizes) for each in (left, right))
        return tf.matmul(few, few_right, transpose_a=True) + transposed(many, many_right)

    with tf.init_scope():  # Separate from the trace that needs it first.
        function = tf.function(product, autograph=False)
        return function.get_concrete_function(*[tf.TensorSpec([None, None], tf.float32)] * 2)
