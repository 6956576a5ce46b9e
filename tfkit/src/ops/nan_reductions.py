"""Reductions that ignore NaN."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.ops.elementwise import isnan
from tfkit.src.ops.promotion import as_tensor, to_float, to_float32, widen_for_sum
from tfkit.src.ops.reductions import Axis, argmax, argmin, cumprod, cumsum, max, min, prod
from tfkit.src.ops.roots import root_of_sum
from tfkit.src.symbolic.tensors import symbolic_op

_NAN = float("nan")
_INFINITY = float("inf")


def _replace_nan(x: Any, value: float) -> tf.Tensor:
    x = as_tensor(x)
    # Integers are never NaN.
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
    """Returns the sum over axes of the elements that are not NaN.

    Args:
        x: a tensor of any shape.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; integers of 8 and 16 bits and bools
        are added up in 32 bits. It is 0 where all elements are NaN.

    Example:
        >>> ops.nansum([[1.0, np.nan], [3.0, 4.0]], axis=0).numpy().tolist()
        [4.0, 4.0]
    """
    return tf.reduce_sum(widen_for_sum(_replace_nan(x, 0.0)), axis, keepdims)


@symbolic_op
def nanprod(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the product over axes of the elements that are not NaN.

    Args:
        x: a tensor of any shape.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; integers of 8 and 16 bits and bools
        are multiplied in 32 bits. It is 1 where all elements are NaN.

    Example:
        >>> ops.nanprod([[2.0, np.nan], [3.0, 4.0]], axis=0).numpy().tolist()
        [6.0, 4.0]
    """
    return prod(_replace_nan(x, 1.0), axis, keepdims)


@symbolic_op
def nanmax(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the largest element over axes that is not NaN.

    Args:
        x: a real tensor of any shape.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; NaN where all elements are NaN.

    Raises:
        ValueError: for no elements.

    Example:
        >>> ops.nanmax([[1.0, np.nan], [3.0, np.nan]], axis=0).numpy().tolist()
        [3.0, nan]
    """
    return _where_all_nan(x, axis, keepdims, _NAN, max(_replace_nan(x, -_INFINITY), axis, keepdims))


@symbolic_op
def nanmin(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the smallest element over axes that is not NaN.

    Args:
        x: a real tensor of any shape.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; NaN where all elements are NaN.

    Raises:
        ValueError: for no elements.

    Example:
        >>> ops.nanmin([[1.0, np.nan], [3.0, np.nan]], axis=0).numpy().tolist()
        [1.0, nan]
    """
    return _where_all_nan(x, axis, keepdims, _NAN, min(_replace_nan(x, _INFINITY), axis, keepdims))


@symbolic_op
def nanargmax(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the index along an axis of the largest element that is not NaN.

    Args:
        x: a real tensor of any shape.
        axis: axis to search along; `None` for the flattened tensor.
        keepdims: whether the searched axis is kept, with size 1 (all axes for `None`).
            Default: `False`.

    Returns:
        A tensor without the axis `axis`, of int32; -1 where all elements are NaN.

    Example:
        >>> ops.nanargmax([[np.nan, 2.0], [3.0, 1.0]], axis=1).numpy().tolist()
        [1, 0]
    """
    result = argmax(_replace_nan(x, -_INFINITY), axis, keepdims)
    return _where_all_nan(x, axis, keepdims, -1, result)


@symbolic_op
def nanargmin(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the index along an axis of the smallest element that is not NaN.

    Args:
        x: a real tensor of any shape.
        axis: axis to search along; `None` for the flattened tensor.
        keepdims: whether the searched axis is kept, with size 1 (all axes for `None`).
            Default: `False`.

    Returns:
        A tensor without the axis `axis`, of int32; -1 where all elements are NaN.

    Example:
        >>> ops.nanargmin([[np.nan, 2.0], [3.0, 1.0]], axis=1).numpy().tolist()
        [1, 1]
    """
    result = argmin(_replace_nan(x, _INFINITY), axis, keepdims)
    return _where_all_nan(x, axis, keepdims, -1, result)


@symbolic_op
def nanmean(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the mean over axes of the elements that are not NaN.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`; NaN where all elements are
        NaN.

    Example:
        >>> ops.nanmean([1.0, np.nan, 3.0]).numpy().tolist()
        2.0
    """
    x = to_float(x)
    return tf.cast(_mean(to_float32(x), axis, keepdims), x.dtype)


def _mean(x: tf.Tensor, axis: Axis, keepdims: bool) -> tf.Tensor:
    # Without any number the mean is 0 / 0, which is NaN, as in NumPy.
    count = tf.reduce_sum(tf.cast(~isnan(x), x.dtype), axis, keepdims)
    return tf.reduce_sum(_replace_nan(x, 0.0), axis, keepdims) / count


@symbolic_op
def nanvar(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the variance over axes of the elements that are not NaN.

    It is divided by their number `n`, not by `n - 1`.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`; NaN where all elements are
        NaN.

    Example:
        >>> ops.nanvar([1.0, np.nan, 5.0]).numpy().tolist()
        4.0
    """
    x = to_float(x)
    return tf.cast(_variance(to_float32(x), axis, keepdims), x.dtype)


def _variance(x: tf.Tensor, axis: Axis, keepdims: bool) -> tf.Tensor:
    valid = tf.cast(~isnan(x), x.dtype)
    centered = tf.where(isnan(x), tf.zeros_like(x), x - _mean(x, axis, keepdims=True))
    squares = tf.reduce_sum(tf.square(centered), axis, keepdims)
    return squares / tf.reduce_sum(valid, axis, keepdims)


@symbolic_op
def nanstd(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the standard deviation over axes of the elements that are not NaN.

    It is the square root of `nanvar`.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`; NaN where all elements are
        NaN.

    Example:
        >>> ops.nanstd([1.0, np.nan, 5.0]).numpy().tolist()
        2.0
    """
    x = to_float(x)
    return tf.cast(root_of_sum(_variance(to_float32(x), axis, keepdims)), x.dtype)


@symbolic_op
def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """Returns running sums in which NaN counts as 0.

    Args:
        x: a tensor of any shape; bools are cast to int32.
        axis: axis to run along; `None` for the flattened tensor.
        dtype: dtype to add up in; `None` for the dtype of `x`.

    Returns:
        A tensor of the shape of `x`, or a vector for `axis=None`, of `dtype`.

    Example:
        >>> ops.nancumsum([1.0, np.nan, 3.0]).numpy().tolist()
        [1.0, 1.0, 4.0]
    """
    return cumsum(_replace_nan(x, 0.0), axis, dtype)


@symbolic_op
def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """Returns running products in which NaN counts as 1.

    Args:
        x: a tensor of any shape; bools are cast to int32.
        axis: axis to run along; `None` for the flattened tensor.
        dtype: dtype to multiply in; `None` for the dtype of `x`.

    Returns:
        A tensor of the shape of `x`, or a vector for `axis=None`, of `dtype`.

    Example:
        >>> ops.nancumprod([2.0, np.nan, 3.0]).numpy().tolist()
        [2.0, 2.0, 6.0]
    """
    return cumprod(_replace_nan(x, 1.0), axis, dtype)
