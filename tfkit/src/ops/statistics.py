"""Quantiles: the values below which given fractions of the elements lie."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.ops.checks import as_axes, positive_axes
from tfkit.src.ops.promotion import to_dtype, to_float
from tfkit.src.ops.reductions import Axis
from tfkit.src.ops.shaping import moveaxis, static_or_dynamic_shape
from tfkit.src.symbolic.tensors import symbolic_op

_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def _folded_axes_last(x: Any, axis: Axis) -> tuple[tf.Tensor, list[int]]:
    """Returns `x` with the axes to reduce as one last axis, and the indices of these axes."""
    rank = x.shape.rank
    axes = list(range(rank)) if axis is None else as_axes(axis)
    axes = sorted(positive_axes(axes, rank))
    x = moveaxis(x, axes, range(rank - len(axes), rank))
    return tf.reshape(x, (*static_or_dynamic_shape(x)[: rank - len(axes)], -1)), axes


def _at(ordered: Any, place: Any) -> tf.Tensor:
    """Returns the elements of the last axis at the positions `place`, which has an additional first axis."""
    last = tf.cast(tf.shape(ordered)[-1] - 1, place.dtype)
    index = tf.cast(tf.clip_by_value(place, tf.zeros_like(last), last), tf.int32)
    index = tf.broadcast_to(index, tf.concat([tf.shape(index)[:1], tf.shape(ordered)[:-1]], 0))
    return tf.map_fn(
        lambda i: tf.gather(ordered, i, batch_dims=ordered.shape.rank - 1),
        index,
        fn_output_signature=tf.TensorSpec(ordered.shape[:-1], ordered.dtype),
    )


def _quantile(x: Any, q: Any, axis: Axis, method: str, keepdims: bool, skip_nan: bool) -> tf.Tensor:
    if method not in _METHODS:
        raise ValueError(f"`method` must be one of {_METHODS}. Received: method={method!r}")
    # Positions in long axes need more than the 24 bits of float32.
    q = to_dtype(q, tf.float64)
    if q.shape.rank not in (0, 1):
        result = _quantile(x, tf.reshape(q, [-1]), axis, method, keepdims, skip_nan)
        shape = (*static_or_dynamic_shape(q), *static_or_dynamic_shape(result)[1:])
        return tf.reshape(result, shape)
    x, axes = _folded_axes_last(to_float(x), axis)
    missing = tf.math.is_nan(x)
    # NaN is sorted to the end, after the elements that count.
    ordered = tf.sort(tf.where(missing, tf.constant(float("inf"), x.dtype), x))
    count = tf.reduce_sum(tf.cast(~missing, tf.float64), -1)
    shares = tf.reshape(q, [-1] + [1] * count.shape.rank)
    unknown = tf.math.is_nan(shares) | (count == 0 if skip_nan else tf.reduce_any(missing, -1))
    # A position between 0 and count - 1; a NaN here would be an index outside.
    place = tf.where(unknown, tf.zeros_like(count), shares * (count - 1))
    lower, higher = _at(ordered, tf.floor(place)), _at(ordered, tf.math.ceil(place))
    if method == "linear":
        fraction = tf.cast(place - tf.floor(place), x.dtype)
        # Without the product by 0, which would make infinity NaN.
        result = tf.where(fraction == 0, lower, lower * (1 - fraction) + higher * fraction)
    elif method == "midpoint":
        result = 0.5 * (lower + higher)
    elif method == "nearest":
        result = _at(ordered, tf.round(place))
    else:
        result = lower if method == "lower" else higher
    result = tf.where(unknown, tf.constant(float("nan"), x.dtype), result)
    # The axis of the quantiles is in front.
    for a in axes if keepdims else ():
        result = tf.expand_dims(result, a + 1)
    return result[0] if q.shape.rank == 0 else result


@symbolic_op
def quantile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> tf.Tensor:
    """Returns quantiles over axes: the values below which the fractions `q` of the elements are.

    For `n` elements in ascending order, that is the element number `q * (n - 1)`, counted from 0.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        q: a share in [0, 1], or a tensor of shares.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        method: how to choose between the two neighbouring elements: `"linear"` (interpolate),
            `"lower"`, `"higher"`, `"nearest"` or `"midpoint"`. Default: `"linear"`.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor of the float dtype of `x`, without the axes `axis`, after the axes of `q`. NaN
        where an element is NaN.

    Raises:
        ValueError: for any other method.

    Example:
        >>> ops.quantile([1.0, 2.0, 3.0, 4.0], [0.25, 0.5]).numpy().tolist()
        [1.75, 2.5]
        >>> ops.quantile([[1.0, 2.0], [3.0, 4.0]], 0.5, axis=0, method="lower").numpy().tolist()
        [1.0, 2.0]
    """
    return _quantile(x, q, axis, method, keepdims, skip_nan=False)


@symbolic_op
def nanquantile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> tf.Tensor:
    """Returns quantiles over axes of the elements that are not NaN; see `quantile`.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        q: a share in [0, 1], or a tensor of shares.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        method: how to choose between the two neighbouring elements: `"linear"` (interpolate),
            `"lower"`, `"higher"`, `"nearest"` or `"midpoint"`. Default: `"linear"`.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor of the float dtype of `x`, without the axes `axis`, after the axes of `q`. NaN
        where all elements are NaN.

    Raises:
        ValueError: for any other method.

    Example:
        >>> ops.nanquantile([1.0, np.nan, 3.0], 0.5).numpy().tolist()
        2.0
    """
    return _quantile(x, q, axis, method, keepdims, skip_nan=True)


def _share(percent: Any) -> Any:
    return to_dtype(percent, tf.float64) / 100.0


@symbolic_op
def percentile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> tf.Tensor:
    """Returns percentiles over axes: `quantile(x, q / 100)`.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        q: a share in percent, in [0, 100], or a tensor of shares.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        method: how to choose between the two neighbouring elements: `"linear"` (interpolate),
            `"lower"`, `"higher"`, `"nearest"` or `"midpoint"`. Default: `"linear"`.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor of the float dtype of `x`, without the axes `axis`, after the axes of `q`. NaN
        where an element is NaN.

    Raises:
        ValueError: for any other method.

    Example:
        >>> ops.percentile([1.0, 2.0, 3.0, 5.0], [50, 100]).numpy().tolist()
        [2.5, 5.0]
    """
    return _quantile(x, _share(q), axis, method, keepdims, skip_nan=False)


@symbolic_op
def nanpercentile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> tf.Tensor:
    """Returns percentiles over axes of the elements that are not NaN; see `percentile`.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        q: a share in percent, in [0, 100], or a tensor of shares.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        method: how to choose between the two neighbouring elements: `"linear"` (interpolate),
            `"lower"`, `"higher"`, `"nearest"` or `"midpoint"`. Default: `"linear"`.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor of the float dtype of `x`, without the axes `axis`, after the axes of `q`. NaN
        where all elements are NaN.

    Raises:
        ValueError: for any other method.

    Example:
        >>> ops.nanpercentile([1.0, np.nan, 3.0], 50).numpy().tolist()
        2.0
    """
    return _quantile(x, _share(q), axis, method, keepdims, skip_nan=True)


@symbolic_op
def median(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the median over axes: the middle element, or the mean of the two in the middle.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`; NaN where an element is NaN.

    Example:
        >>> ops.median([1, 2, 3, 10]).numpy().tolist()
        2.5
        >>> ops.median([[1, 2, 9], [3, 4, 5]], axis=1).numpy().tolist()
        [2.0, 4.0]
    """
    return _quantile(x, 0.5, axis, "linear", keepdims, skip_nan=False)


@symbolic_op
def nanmedian(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the median over axes of the elements that are not NaN; see `median`.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.
        axis: axis or axes to reduce, a number or a tuple; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`; NaN where all elements are
        NaN.

    Example:
        >>> ops.nanmedian([1.0, np.nan, 4.0]).numpy().tolist()
        2.5
    """
    return _quantile(x, 0.5, axis, "linear", keepdims, skip_nan=True)
