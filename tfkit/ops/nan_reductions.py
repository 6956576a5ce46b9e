"""Reductions that leave NaN out."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.ops.elementwise import isnan, nan_to_num
from tfkit.ops.promotion import as_tensor, to_float, widen_for_sum
from tfkit.ops.reductions import Axis, argmax, argmin, cumprod, cumsum, max, min, prod
from tfkit.symbolic import symbolic_op

_NAN = float("nan")
_INFINITY = float("inf")


def _replace_nan(x: Any, value: float) -> tf.Tensor:
    x = as_tensor(x)
    if not x.dtype.is_floating:
        return x
    return tf.where(tf.math.is_nan(x), tf.constant(value, x.dtype), x)


def _where_all_nan(x: Any, axis: Any, keepdims: bool, value: Any, result: Any) -> tf.Tensor:
    x = as_tensor(x)
    if not x.dtype.is_floating:
        return result
    empty = tf.reduce_all(tf.math.is_nan(x), axis, keepdims)
    return tf.where(empty, tf.constant(value, result.dtype), result)


@symbolic_op
def nansum(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The sum over `axis` (all axes unless given), NaN counting as 0."""
    return tf.reduce_sum(widen_for_sum(_replace_nan(x, 0.0)), axis, keepdims)


@symbolic_op
def nanprod(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The product over `axis` (all axes unless given), NaN counting as 1."""
    return prod(_replace_nan(x, 1.0), axis, keepdims)


@symbolic_op
def nanmax(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The largest number over `axis` (all axes unless given); NaN where there is none."""
    return _where_all_nan(x, axis, keepdims, _NAN, max(_replace_nan(x, -_INFINITY), axis, keepdims))


@symbolic_op
def nanmin(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The smallest number over `axis` (all axes unless given); NaN where there is none."""
    return _where_all_nan(x, axis, keepdims, _NAN, min(_replace_nan(x, _INFINITY), axis, keepdims))


@symbolic_op
def nanargmax(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """The index of the largest number along `axis`; -1 where there is none."""
    result = argmax(_replace_nan(x, -_INFINITY), axis, keepdims)
    return _where_all_nan(x, axis, keepdims, -1, result)


@symbolic_op
def nanargmin(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """The index of the smallest number along `axis`; -1 where there is none."""
    result = argmin(_replace_nan(x, _INFINITY), axis, keepdims)
    return _where_all_nan(x, axis, keepdims, -1, result)


@symbolic_op
def nanmean(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The mean of the numbers over `axis` (all axes unless given); NaN where there are none."""
    x = to_float(x)
    count = tf.reduce_sum(tf.cast(~isnan(x), x.dtype), axis, keepdims)
    return tf.reduce_sum(_replace_nan(x, 0.0), axis, keepdims) / count


@symbolic_op
def nanvar(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The variance of the numbers over `axis` (all axes unless given)."""
    x = to_float(x)
    valid = tf.cast(~isnan(x), x.dtype)
    centered = tf.where(isnan(x), tf.zeros_like(x), x - nanmean(x, axis, keepdims=True))
    squares = tf.reduce_sum(tf.square(centered), axis, keepdims)
    return squares / tf.reduce_sum(valid, axis, keepdims)


@symbolic_op
def nanstd(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The standard deviation of the numbers over `axis` (all axes unless given)."""
    return tf.sqrt(nanvar(x, axis, keepdims))


@symbolic_op
def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """The sum of all elements so far along `axis`; NaN counts as 0, infinity as the largest number.

    Infinity is cut to what the dtype holds because Keras does so.
    """
    return cumsum(nan_to_num(x), axis, dtype)


@symbolic_op
def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """The product of all elements so far along `axis`; NaN counts as 1; else as `nancumsum`."""
    return cumprod(nan_to_num(x, nan=1.0), axis, dtype)
