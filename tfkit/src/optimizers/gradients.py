"""Arithmetic on gradients: dense tensors, and `tf.IndexedSlices` (rows) from lookups in tables.

The rows of an `IndexedSlices` may repeat an index, and functions that are linear in the gradient add them up.
Others (`square`, clipping) work on each row separately, before they are added, and so does
Keras. Clipping by the global norm gives dense gradients, in which rows are added before they are squared:
so it is in Keras, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.frames import warn


def dense(g: Any) -> tf.Tensor:
    """Returns `g` as a dense tensor; rows with the same index are summed."""
    if isinstance(g, tf.IndexedSlices):
        # An index may occur several times: its rows add up, which an assignment would not do.
        return tf.math.unsorted_segment_sum(g.values, g.indices, g.dense_shape[0])
    return g


def of_tensors(g: Any) -> Any:
    """Returns `g`; lists or arrays in an `IndexedSlices` are converted to tensors."""
    if not isinstance(g, tf.IndexedSlices):
        return g
    shape = None if g.dense_shape is None else tf.convert_to_tensor(g.dense_shape)
    return tf.IndexedSlices(tf.convert_to_tensor(g.values), tf.convert_to_tensor(g.indices), shape)


def map_values(function: Any, g: Any) -> Any:
    """Applies `function` to a tensor, or to the rows of an `IndexedSlices`."""
    if isinstance(g, tf.IndexedSlices):
        return tf.IndexedSlices(function(g.values), g.indices, g.dense_shape)
    return function(g)


def square(g: Any) -> Any:
    """Returns the elementwise square."""
    return map_values(tf.square, g)


def add(x: tf.Tensor, g: Any) -> tf.Tensor:
    """Returns `x + g`; only the rows in `g` are changed."""
    if isinstance(g, tf.IndexedSlices):
        return tf.tensor_scatter_nd_add(x, g.indices[:, tf.newaxis], g.values)
    return x + g


def multiply(g: Any, x: tf.Tensor) -> Any:
    """Returns `g * x`; only the rows of `x` that are in `g` are used."""
    if isinstance(g, tf.IndexedSlices):
        return tf.IndexedSlices(g.values * tf.gather(x, g.indices), g.indices, g.dense_shape)
    return g * x


def moving_average(average: tf.Tensor, value: Any, beta: Any) -> tf.Tensor:
    """Returns `beta * average + (1 - beta) * value`; NaN from the second infinite value on."""
    if isinstance(value, tf.IndexedSlices):
        return decayed(average, value, beta)
    average = tf.convert_to_tensor(average)  # The variable is read once.
    # One product less than the usual form, and exact if value and average are equal.
    return average + (value - average) * (1 - beta)


def decayed(average: tf.Tensor, value: Any, beta: Any) -> tf.Tensor:
    """Returns `beta * average + (1 - beta) * value`, which stays infinite after an infinite value."""
    # The average decays in all rows: rows that the gradient does not name have the gradient 0.
    return add(beta * average, map_values(lambda rows: (1 - beta) * rows, value))


def wide(x: tf.Tensor) -> tf.Tensor:
    """Returns `x` in at least 32 bits: float16 holds no number above 65504, such as the square of 300."""
    return tf.cast(x, tf.float32) if tf.as_dtype(x.dtype).size < 4 else x


def divide(gradients: Sequence[Any], divisor: Any) -> list[Any]:
    """Returns the gradients divided by a number, which may exceed the range of their dtype."""

    def divided(x: tf.Tensor) -> tf.Tensor:
        dividend = wide(x)
        return tf.cast(dividend / tf.cast(divisor, dividend.dtype), x.dtype)

    return [map_values(divided, g) for g in gradients]


def clip_by_norm(gradients: Sequence[Any], clip_norm: float) -> list[Any]:
    """Returns the gradients, each scaled so that its norm is at most `clip_norm`."""

    def clipped(x: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.clip_by_norm(wide(x), clip_norm), x.dtype)

    return [map_values(clipped, g) for g in gradients]


def clip_by_value(gradients: Sequence[Any], limit: float) -> list[Any]:
    """Returns the gradients with their entries clipped to `[-limit, limit]`."""
    return [map_values(lambda x: tf.clip_by_value(x, -limit, limit), g) for g in gradients]


def clip_by_global_norm(gradients: Sequence[Any], clip_norm: float) -> list[Any]:
    """Returns the gradients, dense, scaled so that their global norm is at most `clip_norm`."""
    # Rows are not summed first: an index that occurs
    # twice counts twice, as in TensorFlow's function.
    values = [wide(g.values if isinstance(g, tf.IndexedSlices) else g) for g in gradients]
    dtype = tf.float64 if any(x.dtype == tf.float64 for x in values) else tf.float32
    norm = tf.sqrt(tf.add_n([tf.cast(tf.reduce_sum(tf.square(x)), dtype) for x in values]))
    # Exactly 1 for gradients within the limit.
    scale = clip_norm / tf.maximum(norm, clip_norm)
    # A single value that is not finite makes the norm infinite or NaN. NaN everywhere is better than a wrong
    # step.
    scale += norm - norm
    return [dense(g) * tf.cast(scale, g.dtype) for g in gradients]


def drop_missing(
    gradients: Sequence[Any], variables: Sequence[tf.Variable], names: Sequence[str]
) -> tuple[list[Any], list[tf.Variable]]:
    """Returns gradients and variables without the pairs whose gradient is `None`.

    Raises:
        ValueError: when no pair is left.
    """
    pairs = [(g, v) for g, v in zip(gradients, variables, strict=True) if g is not None]
    missing = [name for g, name in zip(gradients, names, strict=True) if g is None]
    if not pairs:
        raise ValueError(
            f"No gradients provided for any variable. Received `None` for each of {missing}. "
            "Compute the loss from the variables inside the `tf.GradientTape`."
        )
    if missing:
        warn(
            f"Gradients do not exist for variables {missing} when minimizing the loss. Their "
            "values do not change. If the loss should depend on them, compute it in the tape."
        )
    return [of_tensors(g) for g, _ in pairs], [v for _, v in pairs]
