"""Operations that count elements, or find distinct ones."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from tfkit.src.engine.tensorflow_faults import at_least_one_row, with_some_row
from tfkit.src.ops.ordering import ordered_keys
from tfkit.src.ops.promotion import (
    as_tensor,
    common_dtype,
    promote_tensors,
    to_dtype,
    widen_for_sum,
)
from tfkit.src.ops.shaping import static_or_dynamic_shape, swapaxes
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    """Returns the number of times that each whole number from 0 on occurs.

    Args:
        x: integers from 0 on, of shape `(n,)` or `(batch, n)`.
        weights: weights of the occurrences, a tensor of the shape of `x`; `None` for 1.
        minlength: smallest number of counts. Default: `0`.
        sparse: whether to return a `tf.SparseTensor`. Default: `False`.

    Returns:
        A tensor of shape `(m,)` or `(batch, m)`, with `m = max(max(x) + 1, minlength)`; of int32,
        or of the common dtype of `x` and `weights`.

    Example:
        >>> ops.bincount([1, 2, 2, 5]).numpy().tolist()
        [0, 1, 2, 0, 0, 1]
        >>> ops.bincount([0, 1, 1], weights=[0.5, 1.0, 2.0]).numpy().tolist()
        [0.5, 3.0]
    """
    x = x if isinstance(x, tf.SparseTensor) else as_tensor(x)
    dtype = tf.int32
    if weights is not None:
        weights = as_tensor(weights)
        dtype = common_dtype(x.dtype, weights.dtype)
        if weights.dtype not in (tf.int32, tf.int64, tf.float32, tf.float64):
            weights = tf.cast(weights, tf.int32 if weights.dtype.is_integer else tf.float32)
    if x.dtype not in (tf.int32, tf.int64):
        x = tf.cast(x, tf.int32)
    if sparse or isinstance(x, tf.SparseTensor):
        return tf.cast(tf.sparse.bincount(x, weights, minlength=minlength, axis=-1), dtype)
    if x.shape.rank != 2:
        return tf.cast(tf.math.bincount(x, weights, minlength=minlength, axis=-1), dtype)

    def count(rows: tf.Tensor) -> tf.Tensor:
        each = weights if weights is None or x.shape[0] else at_least_one_row(weights)
        return tf.math.bincount(rows, each, minlength=minlength, axis=-1)

    return tf.cast(with_some_row(count, x), dtype)


@symbolic_op
def histogram(x: Any, bins: int = 10, range: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the number of elements in each of a number of equal bins, and the edges of the bins.

    Args:
        x: a real tensor of any shape, or bools.
        bins: number of bins. Default: `10`.
        range: pair of the smallest and the largest value that count; `None` for the extremes of `x`.

    Returns:
        A pair of the counts, of shape `(bins,)`, and the edges, of shape `(bins + 1,)`. Edges have
        the float dtype of `x`; counts have the dtype of `x`, the dtype of sums for small integers, and
        float32 for half precision. A bin contains its left edge; the last one contains both edges. The
        edges are `x - 0.5` and `x + 0.5` if all elements are `x`, 0 and 1 if there are none, and NaN
        if an element is NaN or infinite and there is no `range`; then all counts are 0.

    Raises:
        ValueError: when `bins` is not a whole number above 0, or `range` is not an ascending pair.

    Example:
        >>> counts, edges = ops.histogram([1.0, 2.0, 2.5, 5.0], bins=2)
        >>> counts.numpy().tolist(), edges.numpy().tolist()
        ([3.0, 1.0], [1.0, 3.0, 5.0])
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"`bins` must be an integer above 0. Received: bins={bins}")
    if range is not None and (len(range) != 2 or range[1] < range[0]):
        raise ValueError(
            f"`range` must be a pair of numbers, the smaller one first. Received: range={range}"
        )
    x = as_tensor(x)
    dtype = tf.float64 if x.dtype == tf.int64 else common_dtype(x.dtype, float)
    counts = tf.float32 if dtype in (tf.float16, tf.bfloat16) else widen_for_sum(x).dtype
    x = tf.reshape(
        tf.cast(x, common_dtype(dtype, tf.float32 if x.dtype.is_floating else tf.float64)), [-1]
    )
    low, high = (tf.reduce_min(x), tf.reduce_max(x)) if range is None else range
    low, high = to_dtype(low, x.dtype), to_dtype(high, x.dtype)
    # Without elements, the bounds are an empty interval, which is replaced by [0, 1].
    zero, half, one = (tf.constant(number, x.dtype) for number in (0.0, 0.5, 1.0))
    low, high = tf.where(low > high, zero, low), tf.where(low > high, one, high)
    half = tf.where(tf.equal(low, high), half, zero)
    edges = tf.linspace(low - half, high + half, bins + 1)
    edges = tf.where(tf.math.is_finite(low + high), edges, tf.constant(math.nan, x.dtype))
    # Every element has a bin, and counts if it is inside: all sizes are known to a compiler.
    inside = tf.cast((x >= edges[0]) & (x <= edges[-1]), tf.int32)
    places = tf.searchsorted(edges[1:-1], x, "right")
    found = tf.math.unsorted_segment_sum(inside, places, bins)
    return tf.cast(found, counts), tf.cast(edges, dtype)


@symbolic_op
def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> tf.Tensor:
    """Returns whether each element of `x1` is one of the elements of `x2`.

    Args:
        x1: a tensor of any shape.
        x2: a tensor of any shape; both are compared in their common dtype.
        assume_unique: whether the elements of `x2` are known to differ. It changes the work, not
            the result. Default: `False`.
        invert: whether to return the opposite. Default: `False`.

    Returns:
        A bool tensor of the shape of `x1`.

    Example:
        >>> ops.isin([[1, 2], [3, 4]], [2, 4, 6]).numpy().tolist()
        [[False, True], [False, True]]
    """
    x1, x2 = promote_tensors(x1, x2)
    x2 = tf.reshape(x2, [-1])
    if not assume_unique and not x2.dtype.is_bool:
        x2 = tf.unique(x2)[0]
    # Every pair is compared: TensorFlow has no set of values that XLA would compile.
    found = tf.reduce_any(tf.equal(x1[..., None], x2), -1)
    return tf.logical_not(found) if invert else found


@symbolic_op
def unravel_index(indices: Any, shape: Any) -> tuple[tf.Tensor, ...]:
    """Returns indices into a flattened tensor as indices along each of its axes.

    Args:
        indices: a tensor of integers; negative ones count from the end.
        shape: sizes of the tensor, all of them known.

    Returns:
        A tuple with one tensor for each axis, of the shape and dtype of `indices`.

    Raises:
        ValueError: when a size in `shape` is not known.

    Example:
        >>> rows, columns = ops.unravel_index([1, 5], (2, 3))
        >>> rows.numpy().tolist(), columns.numpy().tolist()
        ([0, 1], [1, 2])
    """
    if None in shape:
        raise ValueError(f"`shape` must not contain `None`. Received: shape={shape}")
    indices = as_tensor(indices)
    coordinates = []
    for size in reversed(shape):
        coordinates.append(indices % size)
        indices = indices // size
    return tuple(reversed(coordinates))


@symbolic_op
def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Returns the different elements of a tensor, or the different slices along an axis.

    Args:
        x: a tensor of any shape.
        sorted: whether they are in ascending order (slices by their first element, then their
            second, ...), and not in order of appearance. Default: `True`.
        return_index: whether to return the index of the first appearance of each, too.
            Default: `False`.
        return_inverse: whether to return the number of each element of `x` among the different
            ones, too. Default: `False`.
        return_counts: whether to return the number of appearances of each, too. Default: `False`.
        axis: axis of the slices; `None` for the elements of the flattened tensor.
        size: number of elements to return; the result is cut or filled up to it. `None` for as
            many as there are.
        fill_value: value to fill up with; `None` for 0.

    Returns:
        The elements, a tensor of the dtype of `x`; with one of the `return_` arguments a tuple of
        it and of int32 tensors, in their order above.

    Example:
        >>> ops.unique([3, 1, 3, 2]).numpy().tolist()
        [1, 2, 3]
        >>> values, counts = ops.unique([3, 1, 3, 2], return_counts=True)
        >>> counts.numpy().tolist()
        [1, 1, 2]
    """
    x = as_tensor(x)
    shape = static_or_dynamic_shape(x)
    slices = tf.reshape(x, [-1]) if axis is None else swapaxes(x, axis, 0)
    # In the order of their first occurrence; NumPy's order is made below.
    values, inverse, counts = tf.raw_ops.UniqueWithCountsV2(x=slices, axis=[0])
    found = tf.shape(values)[0]
    # The first of the positions that share a value.
    index = tf.math.unsorted_segment_min(tf.range(tf.shape(slices)[0]), inverse, found)
    if sorted:
        order = _lexicographic_order(values)
        values, index, counts = (tf.gather(t, order) for t in (values, index, counts))
        inverse = tf.gather(tf.math.invert_permutation(order), inverse)
    if size is not None:
        values = _resize(values, size, 0 if fill_value is None else fill_value)
        index, counts = _resize(index, size, 1), _resize(counts, size, 0)
    known = values.shape[:1].concatenate(slices.shape[1:])
    values = tf.ensure_shape(values, known)
    if axis is None:
        inverse = tf.reshape(inverse, shape)
    else:
        values = swapaxes(values, axis, 0)
    wanted = (True, return_index, return_inverse, return_counts)
    results = [t for t, w in zip((values, index, inverse, counts), wanted, strict=True) if w]
    return tuple(results) if len(results) > 1 else results[0]


def _lexicographic_order(rows: Any) -> tf.Tensor:
    """Returns the order of rows by their first element, then their second, and so on."""
    rows = tf.reshape(rows, [tf.shape(rows)[0], -1])
    last_column = tf.shape(rows)[1] - 1

    def by_column(i: Any, order: Any) -> Any:
        column = tf.gather(rows[:, last_column - i], order)
        # From the last column to the first: a stable sort keeps the order of the columns after it.
        return i + 1, tf.gather(order, tf.argsort(ordered_keys(column), stable=True))

    start = (0, tf.range(tf.shape(rows)[0]))
    return tf.while_loop(lambda i, _: i <= last_column, by_column, start)[1]


def _resize(x: Any, size: int, fill_value: Any) -> tf.Tensor:
    """Returns `x` cut or padded to `size` along its first axis."""
    x = x[:size]
    border = [[0, size - tf.shape(x)[0]]] + [[0, 0]] * (x.shape.rank - 1)
    padded = tf.pad(x, border, constant_values=tf.cast(fill_value, x.dtype))
    return tf.ensure_shape(padded, [size, *x.shape[1:]])
