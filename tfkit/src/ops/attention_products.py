"""The two products of attention with heads, in the form that is faster for the number of steps.

With `matmul` instead of `einsum`, a training step of a transformer takes up to 9 % less time for 24 to 128
steps, and 4 to 13 % more for 20 and for 256: the gradients for keys and values are products whose left factor
is transposed, and Eigen reads long ones slowly.
"""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.ops.kernels import swap_heads

_FEWEST_STEPS, _MOST_STEPS = 24, 128


def scores(queries: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
    """Returns the products of queries and keys, `(batch, heads, T, S)`.

    Args:
        queries: `(batch, T, heads, dim)`.
        keys: `(batch, S, heads, dim)`.
    """
    if not _suits_matmul(queries.shape, keys.shape):
        return tf.einsum("bshd,bthd->bhts", keys, queries)
    return tf.matmul(swap_heads(queries, 2, 1), swap_heads(keys, 2, 1), transpose_b=True)


def weighted_means(weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Returns the means of values with these weights, `(batch, T, heads, dim)`.

    Args:
        weights: `(batch, heads, T, S)`.
        values: `(batch, S, heads, dim)`.
    """
    if not _suits_matmul(weights.shape[:1] + weights.shape[2:3], values.shape):
        return tf.einsum("bhts,bshd->bthd", weights, values)
    return swap_heads(tf.matmul(weights, swap_heads(values, 2, 1)), 1, 2)


def _suits_matmul(targets: tf.TensorShape, sources: tf.TensorShape) -> bool:
    """Whether `matmul` is faster, given shapes `(batch, steps, ...)`.

    Unlike `einsum`, it would repeat a batch of 1.
    """
    steps = targets[1], sources[1]
    few = all(it is not None and _FEWEST_STEPS <= it <= _MOST_STEPS for it in steps)
    return few and targets[0] == sources[0]
