"""Operations for which TensorFlow has several kernels: formulas call these, which choose.

What only predicts (`predicts_only`) may use kernels that have no gradient, or a slow one.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import tensorflow as tf

from tfkit.src.engine import tensorflow_faults
from tfkit.src.engine.machine import predicts_only
from tfkit.src.engine.sizes import sizes_of

_FEW_IMAGES = 8
# oneDNN swaps the axes of so few values in 20 microseconds, slices and a stack do it in 4.
_MOST_HEADS, _MOST_VALUES = 16, 2**16


def max_pool(x: tf.Tensor, sizes: Any, strides: Any, padding: str, data_format: str) -> tf.Tensor:
    """Returns what `tf.nn.max_pool` returns.

    A call for a few images takes 50 microseconds less by TensorFlow's kernel than by oneDNN's. The gradient
    of TensorFlow's kernel takes seven times as long as oneDNN's.
    """
    is_small = x.shape.rank == 4 and x.shape[0] is not None and x.shape[0] <= _FEW_IMAGES
    if not is_small or data_format != "NHWC" or not predicts_only():
        return tf.nn.max_pool(x, sizes, strides, padding, data_format)
    window, steps = [1, *sizes, 1], [1, *strides, 1]
    return tf.raw_ops.MaxPoolV2(input=x, ksize=window, strides=steps, padding=padding)


def swap_heads(x: tf.Tensor, heads: int, other: int) -> tf.Tensor:
    """Returns `x`, of rank 4, with its axis of heads swapped with the other one of axes 1 and 2."""
    is_small = None not in x.shape and x.shape.num_elements() <= _MOST_VALUES
    if is_small and x.shape[heads] <= _MOST_HEADS and predicts_only():
        return tf.stack(tf.unstack(x, axis=heads), axis=other)
    return tf.transpose(x, [0, 2, 1, 3])


def bias_add(x: tf.Tensor, bias: Any) -> tf.Tensor:
    """Returns what `tf.nn.bias_add` returns; in a prediction as a sum of matrix and row, which is fused."""
    if x.shape.rank == 2 or not bias.shape.num_elements() or not predicts_only():
        return tf.nn.bias_add(x, bias)
    return add_row(x, bias)


def add_row(x: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """Returns `x`, seen as a matrix, with `row` added to each of its rows."""
    matrix = tf.reshape(x, [-1, row.shape[0]])
    return tf.reshape(tf.nn.bias_add(matrix, row), sizes_of(x))


def einsum(equation: str, x: tf.Tensor, kernel: Any) -> tf.Tensor:
    """Returns what `tf.einsum` returns; a prediction takes less time by a product of matrices."""
    num_summed = _num_summed(equation)
    is_plain = x.dtype == kernel.dtype == tf.float32 and kernel.shape.num_elements()
    if not num_summed or not is_plain or not predicts_only():
        return tensorflow_faults.einsum(equation, x, kernel)
    size = math.prod(kernel.shape[:num_summed])
    product = tf.matmul(tf.reshape(x, [-1, size]), tf.reshape(kernel, [size, -1]))
    return tf.reshape(product, [*sizes_of(x)[:-num_summed], *kernel.shape[num_summed:]])


@functools.cache
def _num_summed(equation: str) -> int:
    """Returns how many axes a product of matrices sums over: the last of the inputs, the first of the kernel.

    It is 0 if the equation is not such a product.
    """
    before, kernel, after = equation.replace("->", ",").replace(" ", "").split(",")
    count = sum(letter not in after for letter in kernel)
    kept, summed = before[:-count], kernel[:count]
    is_matrix = before == kept + summed and after == kept + kernel[count:]
    return count if is_matrix and "." not in equation else 0
