"""Integers that are floats times a scale, which the largest absolute value determines."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.dtypes import standardize_dtype


@shortened
def abs_max_quantize(
    inputs: Any,
    axis: Any,
    value_range: tuple[int, int] = (-127, 127),
    dtype: Any = "int8",
    epsilon: float = 1e-7,
    to_numpy: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `round(inputs * scale)` and `scale = value_range[1] / (max(abs(inputs)) + epsilon)`.

    Args:
        inputs: floats.
        axis: axis or axes along which the maximum is taken; `None` for all.
        value_range: smallest and largest integer of the result. Default: `(-127, 127)`.
        dtype: dtype of the integers. Default: `"int8"`.
        epsilon: number that is added to the maximum, so that zeros have a scale. Default: `1e-7`.
        to_numpy: whether to compute on the CPU, which saves memory of an accelerator. Default: `False`.

    Returns:
        The integers, and the scale in the dtype of the inputs, with size 1 along `axis`.

    Raises:
        ValueError: for inputs that are not floats, and a range without positive numbers.

    Example:
        >>> quantized, scale = abs_max_quantize(tf.constant([[1.0, -2.0]]), axis=-1)
        >>> quantized.numpy().tolist(), scale.numpy().tolist()
        ([[64, -127]], [[63.5]])
    """
    with tf.device("CPU:0" if to_numpy else None):
        x = as_floats(inputs)
        low, high = check_range(value_range, dtype)
        largest = tf.reduce_max(tf.abs(x), axis, keepdims=True)
        scale = tf.cast(high, x.dtype) / (largest + tf.cast(epsilon, x.dtype))
        return _to_integers(x * scale, low, high, dtype), scale


@shortened
def abs_max_quantize_grouped_with_zero_point(
    inputs: Any,
    block_size: int,
    value_range: tuple[int, int] = (-8, 7),
    dtype: Any = "int8",
    epsilon: float = 1e-7,
    to_numpy: bool = False,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the integers `round(inputs / scale) + zero`, `scale` and `zero`, for groups of rows.

    `(quantized - zero) * scale` is close to the inputs. `scale` and `zero` are chosen so that the range of
    the integers covers the group's values in a column, and 0.

    Args:
        inputs: floats of shape `(rows, columns)`.
        block_size: positive integer, the number of rows of a group; the last may have fewer.
        value_range: smallest and largest integer. Default: `(-8, 7)`.
        dtype: dtype of the integers. Default: `"int8"`.
        epsilon: number that is added to the size of the range of the values. Default: `1e-7`.
        to_numpy: whether to compute on the CPU, which saves memory of an accelerator. Default: `False`.

    Returns:
        The integers, of the inputs' shape; the scale and the zero, both of shape `(groups, columns)`.

    Raises:
        ValueError: for inputs that are not a matrix of floats, or a size of groups that is not positive.

    Example:
        >>> matrix = tf.constant([[-1.0], [0.5], [0.0], [3.0]])
        >>> quantized, scale, zero = abs_max_quantize_grouped_with_zero_point(matrix, block_size=2)
        >>> zero.numpy().tolist()
        [[2], [-8]]
        >>> (tf.cast(quantized[2:] - zero[1], "float32") * scale[1]).numpy().round(1).tolist()
        [[0.0], [3.0]]
    """
    with tf.device("CPU:0" if to_numpy else None):
        x = as_floats(inputs)
        low, high = check_range(value_range, dtype)
        if x.shape.rank != 2 or block_size < 1:
            raise ValueError(
                "Groups of rows need a matrix and a positive number of rows. Received: inputs of shape "
                f"{x.shape}, block_size={block_size}"
            )
        # The rows that fill up the last group are zeros, which each group covers anyway.
        rows = tf.shape(x)[0]
        groups = -(-rows // block_size)
        padded = tf.pad(x, [[0, groups * block_size - rows], [0, 0]])
        # Groups of consecutive rows; each column of a group has its own scale.
        blocks = tf.reshape(padded, [groups, block_size, tf.shape(x)[1]])
        smallest = tf.minimum(tf.reduce_min(blocks, 1, keepdims=True), 0)  # (groups, 1, columns)
        largest = tf.maximum(tf.reduce_max(blocks, 1, keepdims=True), 0)
        scale = (largest - smallest + tf.cast(epsilon, x.dtype)) / (high - low)
        # The integer for 0.0, which is therefore exact: weights that were pruned stay 0.
        zero = tf.clip_by_value(tf.round(low - smallest / scale), low, high)
        integers = _to_integers(tf.round(blocks / scale) + zero, low, high, dtype)
        quantized = tf.reshape(integers, tf.shape(padded))[:rows]
        quantized.set_shape(x.shape)
        return quantized, scale[:, 0], tf.cast(zero[:, 0], standardize_dtype(dtype))


def as_floats(inputs: Any) -> tf.Tensor:
    """Returns floats as a tensor.

    Raises:
        ValueError: for other dtypes; the scale of integers would be rounded.
    """
    if not tf.is_tensor(inputs) and not isinstance(inputs, (tf.Variable, np.ndarray)):
        inputs = np.asarray(inputs)
    x = tf.convert_to_tensor(inputs)
    if not x.dtype.is_floating:
        raise ValueError(
            "Expected floats to quantize. Received: a tensor of dtype "
            f"{x.dtype.name}. Cast it: `ops.cast(x, 'float32')`."
        )
    return x


def check_range(value_range: Any, dtype: str = "int8") -> tuple[int, int]:
    """Returns the smallest and the largest integer of a range.

    Raises:
        ValueError: unless these are two integers, the second of which is above 0 and above the first, and
            unless the dtype holds both.
    """
    holds = isinstance(value_range, (tuple, list)) and len(value_range) == 2
    if not holds or not value_range[0] < value_range[1] or value_range[1] <= 0:
        raise ValueError(
            "`value_range` must be the smallest and the largest integer, the latter above 0, such as "
            f"(-127, 127). Received: value_range={value_range!r}"
        )
    limits = tf.as_dtype(dtype)
    if not limits.min <= value_range[0] or not value_range[1] <= limits.max:
        raise ValueError(
            f"`value_range` must be in the range of {dtype}, from {limits.min} to {limits.max}. Received: "
            f"value_range={value_range!r}"
        )
    return value_range[0], value_range[1]


def _to_integers(x: tf.Tensor, low: int, high: int, dtype: Any) -> tf.Tensor:
    return tf.cast(tf.clip_by_value(tf.round(x), low, high), standardize_dtype(dtype))
