"""Operations that reduce axes: sums, means, extremes, running sums."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import budget
from tfkit.src.engine.apart import kept_apart
from tfkit.src.ops import sparse
from tfkit.src.ops.checks import as_axes, one_axis, positive_axes
from tfkit.src.ops.ordering import ordered_keys
from tfkit.src.ops.promotion import (
    as_tensor,
    cast,
    common_dtype,
    promote_tensors,
    to_dtype,
    to_float,
    to_float32,
    widen_for_sum,
    without_bool,
)
from tfkit.src.ops.roots import root_of_sum
from tfkit.src.symbolic.tensors import symbolic_op

Axis = int | tuple[int, ...] | list[int] | None


@symbolic_op
def sum(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the sum of elements over axes.

    Args:
        x: a tensor of any shape.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; integers of 8 and 16 bits and bools
        are added up, and returned, in 32 bits. The sum of a `tf.SparseTensor` is sparse.

    Example:
        >>> x = tf.constant([[1, 2], [3, 4]])
        >>> ops.sum(x).numpy().tolist(), ops.sum(x, axis=0).numpy().tolist()
        (10, [4, 6])
        >>> ops.sum(x, axis=1, keepdims=True).numpy().tolist()
        [[3], [7]]
    """
    x = widen_for_sum(x)
    if isinstance(x, tf.SparseTensor):
        return sparse.reduced_sum(x, axis, keepdims)
    return tf.reduce_sum(sparse.to_dense(x), axis, keepdims)


@symbolic_op
def prod(x: Any, axis: Axis = None, keepdims: bool = False, dtype: Any = None) -> tf.Tensor:
    """Returns the product of elements over axes.

    Args:
        x: a tensor of any shape.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.
        dtype: dtype to multiply in; `None` for the dtype of `x`, where integers of 8 and 16 bits and
            bools are multiplied in 32 bits.

    Returns:
        A tensor without the axes `axis`, of `dtype`. The product of no elements is 1.

    Example:
        >>> ops.prod([[1, 2], [3, 4]], axis=1).numpy().tolist()
        [2, 12]
    """
    x = widen_for_sum(x) if dtype is None else tf.cast(x, dtype)
    return tf.reduce_prod(x, axis, keepdims)


@symbolic_op
def mean(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the mean of elements over axes: their sum divided by their number.

    Means of float16 and bfloat16 are computed in float32.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`; NaN for no elements. The mean
        of a `tf.SparseTensor` is sparse.

    Example:
        >>> ops.mean([[1, 2], [3, 6]]).numpy().tolist()
        3.0
        >>> ops.mean([[1, 2], [3, 6]], axis=0, keepdims=True).numpy().tolist()
        [[2.0, 4.0]]
    """
    x = as_tensor(x)
    if isinstance(x, tf.SparseTensor):
        result = sparse.reduced_mean(to_float32(x), axis, keepdims)
        return cast(result, x.dtype) if x.dtype.is_floating else result
    x = sparse.to_dense(x)
    # The usual case has no casts around it.
    if x.dtype == tf.float32:
        return tf.reduce_mean(x, axis, keepdims)
    result = tf.reduce_mean(to_float32(x), axis, keepdims)
    return tf.cast(result, x.dtype) if x.dtype.is_floating else result


@symbolic_op
def var(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the variance over axes: `mean(abs(x - mean(x))**2)`.

    It is divided by the number of elements `n`, not by `n - 1`. For float16 and bfloat16 it is
    computed in float32.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`, real for complex numbers.

    Example:
        >>> ops.var([[1, 3], [2, 8]], axis=1).numpy().tolist()
        [1.0, 9.0]
    """
    x = as_tensor(x)
    result = tf.math.reduce_variance(to_float32(x), axis, keepdims)
    return tf.cast(result, common_dtype(x.dtype, float)) if not x.dtype.is_complex else result


@symbolic_op
def std(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the standard deviation over axes: the square root of the variance (see `var`).

    Its gradient is 0 where all elements are equal.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`, real for complex numbers.

    Example:
        >>> ops.std([[1, 3], [2, 8]], axis=1).numpy().tolist()
        [1.0, 3.0]
    """
    x = as_tensor(x)
    result = root_of_sum(tf.math.reduce_variance(to_float32(x), axis, keepdims))
    return tf.cast(result, common_dtype(x.dtype, float)) if not x.dtype.is_complex else result


@symbolic_op
def average(x: Any, axis: Axis = None, weights: Any = None) -> tf.Tensor:
    """Returns the weighted mean over axes: `sum(x * weights) / sum(weights)`.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        weights: a tensor of the shape of `x`, or a vector of the size of the one axis `axis`;
            `None` for equal weights.

    Returns:
        A tensor without the axes `axis`, of the common float dtype of `x` and `weights`.

    Example:
        >>> ops.average([1.0, 2.0, 3.0], weights=[3.0, 0.0, 1.0]).numpy().tolist()
        1.5
        >>> ops.average([[1.0, 2.0], [3.0, 4.0]], axis=0, weights=[3.0, 1.0]).numpy().tolist()
        [1.5, 2.5]
    """
    if weights is None:
        return mean(to_float(x), axis)
    x, weights = map(to_float, promote_tensors(x, weights))
    dtype, x, weights = x.dtype, to_float32(x), to_float32(weights)
    if axis is None or x.shape.rank == weights.shape.rank:
        result = tf.reduce_sum(x * weights, axis) / tf.reduce_sum(weights, axis)
    else:
        # One weight for each slice along the axis, as in NumPy.
        result = tf.tensordot(x, weights, [as_axes(axis), [0]]) / tf.reduce_sum(weights)
    return tf.cast(result, dtype)


def _refuse_empty(x: Any, axis: Axis, name: str) -> None:
    axes = range(x.shape.rank) if axis is None else as_axes(axis)
    if tf.executing_eagerly() and 0 in [x.shape[i] for i in positive_axes(axes, x.shape.rank)]:
        raise ValueError(
            f"`{name}` of an empty tensor is not defined; pass `initial`. Received: shape={x.shape}"
        )


@symbolic_op
def max(x: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None) -> tf.Tensor:
    """Returns the largest element over axes; NaN where there is a NaN.

    Args:
        x: a real tensor of any shape. The largest bool is whether one of them is true.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.
        initial: smallest value that the result can have; needed where there may be no elements.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`.

    Raises:
        ValueError: for no elements without `initial`.

    Example:
        >>> ops.max([[1, 5], [7, 2]], axis=0).numpy().tolist()
        [7, 5]
        >>> ops.max([1, 2], initial=4).numpy().tolist()
        4
    """
    x = as_tensor(x)
    if initial is None:
        _refuse_empty(x, axis, "max")
    if x.dtype == tf.bool:
        result = tf.reduce_any(x, axis, keepdims)
        return result if initial is None else tf.logical_or(result, tf.cast(initial, tf.bool))
    result = kept_apart(tf.reduce_max(x, axis, keepdims))
    return result if initial is None else tf.maximum(result, to_dtype(initial, x.dtype))


@symbolic_op
def min(x: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None) -> tf.Tensor:
    """Returns the smallest element over axes; NaN where there is a NaN.

    Args:
        x: a real tensor of any shape. The smallest bool is whether all of them are true.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.
        initial: largest value that the result can have; needed where there may be no elements.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`.

    Raises:
        ValueError: for no elements without `initial`.

    Example:
        >>> ops.min([[1, 5], [7, 2]], axis=0).numpy().tolist()
        [1, 2]
        >>> ops.min([1, 2], initial=0).numpy().tolist()
        0
    """
    x = as_tensor(x)
    if initial is None:
        _refuse_empty(x, axis, "min")
    if x.dtype == tf.bool:
        result = tf.reduce_all(x, axis, keepdims)
        return result if initial is None else tf.logical_and(result, tf.cast(initial, tf.bool))
    result = kept_apart(tf.reduce_min(x, axis, keepdims))
    return result if initial is None else tf.minimum(result, to_dtype(initial, x.dtype))


@symbolic_op
def amax(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the largest element over axes: `max` without `initial`.

    Args:
        x: a real tensor of any shape. The largest bool is whether one of them is true.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; NaN where there is a NaN.

    Raises:
        ValueError: for no elements.

    Example:
        >>> ops.amax([[1, 5], [7, 2]], axis=1).numpy().tolist()
        [5, 7]
    """
    return max(x, axis, keepdims)


@symbolic_op
def amin(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the smallest element over axes: `min` without `initial`.

    Args:
        x: a real tensor of any shape. The smallest bool is whether all of them are true.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; NaN where there is a NaN.

    Raises:
        ValueError: for no elements.

    Example:
        >>> ops.amin([[1, 5], [7, 2]], axis=1).numpy().tolist()
        [1, 2]
    """
    return min(x, axis, keepdims)


@symbolic_op
def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the range of the elements over axes, "peak to peak": `max(x) - min(x)`.

    Args:
        x: a tensor of real numbers (no bools) of any shape.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; NaN where there is a NaN.

    Example:
        >>> ops.ptp([[1, 5], [7, 2]], axis=0).numpy().tolist()
        [6, 3]
    """
    x = as_tensor(x)
    return tf.reduce_max(x, axis, keepdims) - tf.reduce_min(x, axis, keepdims)


@symbolic_op
def any(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns whether at least one element over axes is true.

    Args:
        x: a tensor of any shape and dtype; a number is true where it is not 0, NaN included.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of bools; false for no elements.

    Example:
        >>> ops.any([[0, 1], [0, 0]], axis=1).numpy().tolist()
        [True, False]
    """
    return tf.reduce_any(tf.cast(x, tf.bool), axis, keepdims)


@symbolic_op
def all(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns whether all elements over axes are true.

    Args:
        x: a tensor of any shape and dtype; a number is true where it is not 0, NaN included.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of bools; true for no elements.

    Example:
        >>> ops.all([[1, 1], [0, 2]], axis=1).numpy().tolist()
        [True, False]
    """
    return tf.reduce_all(tf.cast(x, tf.bool), axis, keepdims)


@symbolic_op
def count_nonzero(x: Any, axis: Axis = None) -> tf.Tensor:
    """Returns the number of elements that are not 0 over axes.

    Args:
        x: a tensor of any shape and dtype; NaN and true count as not 0.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.

    Returns:
        A tensor without the axes `axis`, of int32.

    Example:
        >>> ops.count_nonzero([[0, 1], [2, 3]], axis=0).numpy().tolist()
        [1, 2]
    """
    return tf.math.count_nonzero(x, axis=axis, dtype=tf.int32)


@symbolic_op
def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns `log(sum(exp(x)))` over axes, without overflow in the exponentials.

    Args:
        x: a tensor of any shape, of a real float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the dtype of `x`; minus infinity for no elements.

    Raises:
        InvalidArgumentError: for integers, bools and complex numbers.

    Example:
        >>> round(float(ops.logsumexp([1000.0, 1000.0])), 3)
        1000.693
    """
    return tf.reduce_logsumexp(as_tensor(x), axis, keepdims)


def _arg_extreme(x: Any, axis: int | None, keepdims: bool, find: Any) -> tf.Tensor:
    # TensorFlow's kernels ignore NaN, and the smallest finite number after minus infinity.
    x = ordered_keys(as_tensor(x), nan_first=find is tf.argmin)
    if axis is None:
        result = find(tf.reshape(x, [-1]), 0, output_type=tf.int32)
        return tf.reshape(result, [1] * x.shape.rank) if keepdims else result
    axis = one_axis(axis, x.shape.rank)
    result = find(x, axis, output_type=tf.int32)
    return tf.expand_dims(result, axis) if keepdims else result


@symbolic_op
def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the index of the largest element along an axis; the first one of several equal ones.

    NaN, the first one, precedes all numbers; `nanargmax` ignores it. -0.0 counts as less than 0.0.

    Args:
        x: a real tensor of any shape.
        axis: axis to search along; `None` for the flattened tensor.
        keepdims: whether the searched axis is kept, with size 1 (all axes for `None`).
            Default: `False`.

    Returns:
        A tensor without the axis `axis`, of int32.

    Example:
        >>> ops.argmax([[1, 5], [7, 2]]).numpy().tolist()
        2
        >>> ops.argmax([[1, 5], [7, 2]], axis=1).numpy().tolist()
        [1, 0]
    """
    return _arg_extreme(x, axis, keepdims, tf.argmax)


@symbolic_op
def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the index of the smallest element along an axis; the first one of several equal ones.

    NaN, the first one, precedes all numbers; `nanargmin` ignores it. -0.0 counts as less than 0.0.

    Args:
        x: a real tensor of any shape.
        axis: axis to search along; `None` for the flattened tensor.
        keepdims: whether the searched axis is kept, with size 1 (all axes for `None`).
            Default: `False`.

    Returns:
        A tensor without the axis `axis`, of int32.

    Example:
        >>> ops.argmin([[1, 5], [7, 2]]).numpy().tolist()
        0
        >>> ops.argmin([[1, 5], [7, 2]], axis=1).numpy().tolist()
        [0, 1]
    """
    return _arg_extreme(x, axis, keepdims, tf.argmin)


def _running(x: Any, axis: int | None, dtype: Any, function: Any) -> tf.Tensor:
    x = without_bool(as_tensor(x) if dtype is None else tf.cast(x, dtype))
    if axis is None:
        return function(tf.reshape(x, [-1]), 0)
    return function(x, one_axis(axis, x.shape.rank))


@symbolic_op
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """Returns running sums: each element is the sum of the elements up to and including it.

    Args:
        x: a tensor of any shape; bools are cast to int32.
        axis: axis to run along; `None` for the flattened tensor.
        dtype: dtype to add up in; `None` for the dtype of `x`, in which small integers can wrap
            around.

    Returns:
        A tensor of the shape of `x`, or a vector for `axis=None`, of `dtype`.

    Example:
        >>> ops.cumsum([[1, 2], [3, 4]], axis=0).numpy().tolist()
        [[1, 2], [4, 6]]
        >>> ops.cumsum([[1, 2], [3, 4]]).numpy().tolist()
        [1, 3, 6, 10]
    """
    return _running(x, axis, dtype, tf.cumsum)


@symbolic_op
def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """Returns running products: each element is the product of the elements up to and including it.

    Args:
        x: a tensor of any shape; bools are cast to int32.
        axis: axis to run along; `None` for the flattened tensor.
        dtype: dtype to multiply in; `None` for the dtype of `x`, in which small integers can wrap
            around.

    Returns:
        A tensor of the shape of `x`, or a vector for `axis=None`, of `dtype`.

    Example:
        >>> ops.cumprod([[1, 2], [3, 4]], axis=0).numpy().tolist()
        [[1, 2], [3, 8]]
        >>> ops.cumprod([[1, 2], [3, 4]]).numpy().tolist()
        [1, 2, 6, 24]
    """
    return _running(x, axis, dtype, _running_product)


def _running_product(x: tf.Tensor, axis: int) -> tf.Tensor:
    """Returns running products; TensorFlow's gradient divides by the elements, and is 0 at zeros."""
    products = tf.math.cumprod(x, axis)
    if not x.dtype.is_floating:
        return products
    # From the first zero on, all products are that zero times the product of the others.
    number = tf.cumsum(tf.cast(tf.equal(x, 0), tf.int32), axis)
    first = tf.equal(x, 0) & tf.equal(number, 1)
    zero = tf.reduce_sum(tf.where(first, x, tf.zeros_like(x)), axis, keepdims=True)
    others = tf.math.cumprod(tf.where(first, tf.ones_like(x), x), axis)
    # Infinity times 0 is NaN: the value is the plain product, without a gradient.
    after = tf.where(tf.math.is_finite(others), others * zero, tf.stop_gradient(products))
    return tf.where(number > 0, after, others)


@symbolic_op
def diff(a: Any, n: int = 1, axis: int = -1) -> tf.Tensor:
    """Returns differences of neighbours along an axis: `a[i + 1] - a[i]`, taken `n` times.

    Args:
        a: a tensor with at least one axis. For bools the result is whether neighbours differ.
        n: number of times. Default: `1`.
        axis: axis of the neighbours. Default: `-1`.

    Returns:
        A tensor of the dtype of `a` whose axis `axis` is shorter by `n`.

    Raises:
        ValueError: for a negative `n`, or an `a` without axes.

    Example:
        >>> ops.diff([1, 4, 9, 16]).numpy().tolist()
        [3, 5, 7]
        >>> ops.diff([1, 4, 9, 16], n=2).numpy().tolist()
        [2, 2]
    """
    a = as_tensor(a)
    if n < 0:
        raise ValueError(f"`n` must not be negative. Received: n={n}")
    if a.shape.rank == 0:
        raise ValueError("`a` must have at least one axis. Received: a scalar")
    (axis,) = positive_axes([axis], a.shape.rank)
    leading = (slice(None),) * axis
    budget.check_repeats(n)
    size = a.shape[axis]
    if size is not None and n > size:
        n = size + 1  # Nothing is left then.
    for _ in range(n):
        after, before = a[(*leading, slice(1, None))], a[(*leading, slice(None, -1))]
        a = tf.not_equal(after, before) if a.dtype == tf.bool else after - before
    return a


@symbolic_op
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> tf.Tensor:
    """Returns the integral along an axis by the trapezoidal rule.

    It is the sum of `(x[i + 1] - x[i]) * (y[i] + y[i + 1]) / 2`.

    Args:
        y: values of the integrand; integers are cast to the default float dtype.
        x: points at which `y` was taken, a vector or a tensor of the shape of `y`; `None` for
            points at distance `dx`.
        dx: distance between points where `x` is `None`. Default: `1.0`.
        axis: axis to integrate along. Default: `-1`.

    Returns:
        A tensor without the axis `axis`, of the float dtype of `y`.

    Example:
        >>> ops.trapezoid([1.0, 2.0, 3.0]).numpy().tolist()
        4.0
        >>> ops.trapezoid([1.0, 2.0, 3.0], x=[0.0, 2.0, 3.0]).numpy().tolist()
        5.5
    """
    y = to_float(y)
    (axis,) = positive_axes([axis], y.shape.rank)
    leading = (slice(None),) * axis
    # The mean height of each trapezoid.
    heights = 0.5 * (y[(*leading, slice(1, None))] + y[(*leading, slice(None, -1))])
    if x is None:
        return tf.reduce_sum(heights * to_dtype(dx, y.dtype), axis)
    x = tf.cast(x, y.dtype)
    if x.shape.rank == 1:
        x = tf.reshape(x, [-1] + [1] * (y.shape.rank - 1 - axis))
        return tf.reduce_sum(heights * (x[1:] - x[:-1]), axis)
    return tf.reduce_sum(heights * diff(x, axis=axis), axis)
