"""Operations that fold axes: sums, means, extremes, running sums."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import budget
from tfkit.ops import sparse
from tfkit.ops.arguments import positive_axes
from tfkit.ops.promotion import (
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
from tfkit.symbolic import symbolic_op

Axis = int | tuple[int, ...] | list[int] | None


@symbolic_op
def sum(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The sum over `axis` (all axes unless given); small integers are added up in 32 bits.

    The sum of a `tf.SparseTensor` is sparse.
    """
    x = widen_for_sum(x)
    if isinstance(x, tf.SparseTensor):
        return sparse.reduced_sum(x, axis, keepdims)
    return tf.reduce_sum(sparse.to_dense(x), axis, keepdims)


@symbolic_op
def prod(x: Any, axis: Axis = None, keepdims: bool = False, dtype: Any = None) -> tf.Tensor:
    """The product over `axis` (all axes unless given); small integers are multiplied in 32 bits.

    Args:
        x: a tensor.
        axis: the axis or axes to fold.
        keepdims: whether folded axes stay, with size 1.
        dtype: what to multiply in; chosen from the dtype of `x` unless given.
    """
    x = widen_for_sum(x) if dtype is None else tf.cast(x, dtype)
    return tf.reduce_prod(x, axis, keepdims)


@symbolic_op
def mean(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The mean over `axis` (all axes unless given); formed in float32 for half precision.

    The mean of a `tf.SparseTensor` is sparse.
    """
    x = as_tensor(x)
    if isinstance(x, tf.SparseTensor):
        result = sparse.reduced_mean(to_float32(x), axis, keepdims)
        return cast(result, x.dtype) if x.dtype.is_floating else result
    x = sparse.to_dense(x)
    if x.dtype == tf.float32:
        return tf.reduce_mean(x, axis, keepdims)
    result = tf.reduce_mean(to_float32(x), axis, keepdims)
    return tf.cast(result, x.dtype) if x.dtype.is_floating else result


@symbolic_op
def var(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The variance over `axis` (all axes unless given); formed in float32 for half precision."""
    x = as_tensor(x)
    result = tf.math.reduce_variance(to_float32(x), axis, keepdims)
    return tf.cast(result, common_dtype(x.dtype, float)) if not x.dtype.is_complex else result


@symbolic_op
def std(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The standard deviation over `axis` (all axes unless given)."""
    return tf.math.reduce_std(to_float(x), axis, keepdims)


@symbolic_op
def average(x: Any, axis: Axis = None, weights: Any = None) -> tf.Tensor:
    """The mean over `axis`, each element counting as much as its weight says.

    Args:
        x: a tensor.
        axis: the axis or axes to fold, all unless given.
        weights: a tensor of the shape of `x`, or of one axis, as long as `axis` of `x`.
    """
    if weights is None:
        return tf.reduce_mean(to_float(x), axis)
    x, weights = map(to_float, promote_tensors(x, weights))
    if axis is None or x.shape.rank == weights.shape.rank:
        return tf.reduce_sum(x * weights, axis) / tf.reduce_sum(weights, axis)
    return tf.tensordot(x, weights, [[axis], [0]]) / tf.reduce_sum(weights)


def _refuse_empty(x: Any, axis: Axis, name: str) -> None:
    axes = range(x.shape.rank) if axis is None else [axis] if isinstance(axis, int) else axis
    if tf.executing_eagerly() and 0 in [x.shape[i] for i in positive_axes(axes, x.shape.rank)]:
        raise ValueError(
            f"`{name}` of an empty tensor is not defined; pass `initial`. Received: shape={x.shape}"
        )


@symbolic_op
def max(x: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None) -> tf.Tensor:
    """The largest element over `axis` (all axes unless given).

    Args:
        x: a tensor.
        axis: the axis or axes to fold.
        keepdims: whether folded axes stay, with size 1.
        initial: the least value that the result can have.
    """
    x = as_tensor(x)
    if initial is None:
        _refuse_empty(x, axis, "max")
    if x.dtype == tf.bool:
        result = tf.reduce_any(x, axis, keepdims)
        return result if initial is None else tf.logical_or(result, tf.cast(initial, tf.bool))
    result = tf.reduce_max(x, axis, keepdims)
    return result if initial is None else tf.maximum(result, to_dtype(initial, x.dtype))


@symbolic_op
def min(x: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None) -> tf.Tensor:
    """The smallest element over `axis` (all axes unless given).

    Args:
        x: a tensor.
        axis: the axis or axes to fold.
        keepdims: whether folded axes stay, with size 1.
        initial: the greatest value that the result can have.
    """
    x = as_tensor(x)
    if initial is None:
        _refuse_empty(x, axis, "min")
    if x.dtype == tf.bool:
        result = tf.reduce_all(x, axis, keepdims)
        return result if initial is None else tf.logical_and(result, tf.cast(initial, tf.bool))
    result = tf.reduce_min(x, axis, keepdims)
    return result if initial is None else tf.minimum(result, to_dtype(initial, x.dtype))


@symbolic_op
def amax(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The largest element over `axis` (all axes unless given)."""
    return max(x, axis, keepdims)


@symbolic_op
def amin(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The smallest element over `axis` (all axes unless given)."""
    return min(x, axis, keepdims)


@symbolic_op
def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """The largest element less the smallest, over `axis` (all axes unless given)."""
    x = as_tensor(x)
    return tf.reduce_max(x, axis, keepdims) - tf.reduce_min(x, axis, keepdims)


@symbolic_op
def any(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Whether an element over `axis` is true; numbers are true where they are not 0."""
    return tf.reduce_any(tf.cast(x, tf.bool), axis, keepdims)


@symbolic_op
def all(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Whether all elements over `axis` are true; numbers are true where they are not 0."""
    return tf.reduce_all(tf.cast(x, tf.bool), axis, keepdims)


@symbolic_op
def count_nonzero(x: Any, axis: Axis = None) -> tf.Tensor:
    """How many elements over `axis` are not 0, as int32."""
    return tf.math.count_nonzero(x, axis=axis, dtype=tf.int32)


@symbolic_op
def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """`log(sum(exp(x)))` over `axis`, without overflow."""
    return tf.reduce_logsumexp(as_tensor(x), axis, keepdims)


def _arg_extreme(x: Any, axis: int | None, keepdims: bool, find: Any) -> tf.Tensor:
    x = as_tensor(x)
    if x.dtype.is_floating:
        # -0.0 counts as less than 0.0, as NumPy's and XLA's total order has it.
        tiny = tf.constant(_tiny(x.dtype), x.dtype)
        negative_zero = tf.logical_and(x == 0, tf.math.is_inf(tf.math.reciprocal(x)))
        negative_zero &= tf.math.reciprocal(x) < 0
        x = tf.where(negative_zero, -tiny, x)
    elif x.dtype == tf.bool:
        x = tf.cast(x, tf.int8)
    if axis is None:
        result = find(tf.reshape(x, [-1]), 0, output_type=tf.int32)
        return tf.reshape(result, [1] * x.shape.rank) if keepdims else result
    result = find(x, axis, output_type=tf.int32)
    return tf.expand_dims(result, axis) if keepdims else result


def _tiny(dtype: Any) -> float:
    return 6.104e-05 if dtype == tf.float16 else 1.1754944e-38


@symbolic_op
def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """The index of the largest element along `axis`, in the flattened tensor unless given."""
    return _arg_extreme(x, axis, keepdims, tf.argmax)


@symbolic_op
def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> tf.Tensor:
    """The index of the smallest element along `axis`, in the flattened tensor unless given."""
    return _arg_extreme(x, axis, keepdims, tf.argmin)


def _running(x: Any, axis: int | None, dtype: Any, function: Any) -> tf.Tensor:
    x = without_bool(as_tensor(x) if dtype is None else tf.cast(x, dtype))
    if axis is None:
        return function(tf.reshape(x, [-1]), 0)
    return function(x, positive_axes([axis], x.shape.rank)[0])


@symbolic_op
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """The sum of all elements so far along `axis`, of the flattened tensor unless given."""
    return _running(x, axis, dtype, tf.cumsum)


@symbolic_op
def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> tf.Tensor:
    """The product of all elements so far along `axis`, of the flattened tensor unless given."""
    return _running(x, axis, dtype, tf.math.cumprod)


@symbolic_op
def diff(a: Any, n: int = 1, axis: int = -1) -> tf.Tensor:
    """Each element less the one before it along `axis`, `n` times over.

    Raises:
        ValueError: for a negative `n` or a scalar.
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
    """The integral of `y` along `axis` by the trapezoidal rule.

    Args:
        y: values.
        x: where they were taken; `dx` apart unless given.
        dx: distance between values.
        axis: the axis to integrate over.
    """
    y = to_float(y)
    (axis,) = positive_axes([axis], y.shape.rank)
    leading = (slice(None),) * axis
    heights = 0.5 * (y[(*leading, slice(1, None))] + y[(*leading, slice(None, -1))])
    if x is None:
        return tf.reduce_sum(heights * to_dtype(dx, y.dtype), axis)
    x = tf.cast(x, y.dtype)
    if x.shape.rank == 1:
        x = tf.reshape(x, [-1] + [1] * (y.shape.rank - 1 - axis))
        return tf.reduce_sum(heights * (x[1:] - x[:-1]), axis)
    return tf.reduce_sum(heights * diff(x, axis=axis), axis)
