"""Operations that count elements, or look for the different ones."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.ops.promotion import as_tensor, common_dtype, promote_tensors, without_bool
from tfkit.ops.shaping import static_or_dynamic_shape, swapaxes
from tfkit.symbolic import symbolic_op
from tfkit.tensorflow_faults import at_least_one_row, with_some_row


@symbolic_op
def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    """How often each whole number from 0 on occurs along the last axis.

    Args:
        x: whole numbers, in one or two axes.
        weights: what each occurrence counts, 1 unless given.
        minlength: least size of the result.
        sparse: whether to give a sparse tensor.
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
    """How many elements fall into each of `bins` equal bins, and the edges of the bins.

    Args:
        x: a tensor.
        bins: how many.
        range: least and greatest value that count; those of `x` unless given.

    Raises:
        ValueError: when `bins` is no whole number above 0, or `range` is no ascending pair.
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"`bins` must be an integer above 0. Received: bins={bins}")
    if range is not None and (len(range) != 2 or range[1] < range[0]):
        raise ValueError(
            f"`range` must be a pair of numbers, the smaller one first. Received: range={range}"
        )
    x = without_bool(x)
    low, high = (tf.reduce_min(x), tf.reduce_max(x)) if range is None else range
    computed = x.dtype if x.dtype.is_floating else tf.float64
    edges = tf.linspace(tf.cast(low, computed), tf.cast(high, computed), bins + 1)
    edges = tf.cast(edges, x.dtype)
    # Every element has a bin, and counts if it lies inside: all sizes are known to a compiler.
    x = tf.reshape(x, [-1])
    inside = tf.cast((x >= tf.cast(low, x.dtype)) & (x <= tf.cast(high, x.dtype)), tf.int32)
    places = tf.searchsorted(edges[1:-1], x, "right")
    return tf.cast(tf.math.unsorted_segment_sum(inside, places, bins), x.dtype), edges


@symbolic_op
def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> tf.Tensor:
    """Whether each element of `x1` is one of `x2`.

    Args:
        x1: a tensor.
        x2: a tensor.
        assume_unique: has no bearing on the result; without repetitions there is less to compare.
        invert: whether to give the opposite.
    """
    x1, x2 = promote_tensors(x1, x2)
    x2 = tf.reshape(x2, [-1])
    if not assume_unique and not x2.dtype.is_bool:
        x2 = tf.unique(x2)[0]
    found = tf.reduce_any(tf.equal(x1[..., None], x2), -1)
    return tf.logical_not(found) if invert else found


@symbolic_op
def unravel_index(indices: Any, shape: Any) -> tuple[tf.Tensor, ...]:
    """Indices into the flattened tensor as indices for each axis of `shape`.

    Raises:
        ValueError: when a size in `shape` is not known.
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
    """The different elements of `x`, or the different slices along `axis`.

    Args:
        x: a tensor.
        sorted: whether to give them in ascending order (else in order of appearance).
        return_index: whether to give the place where each appears first, too.
        return_inverse: whether to give the number of each element of `x` among them, too.
        return_counts: whether to give how often each appears, too.
        axis: the axis of the slices, single elements unless given.
        size: cut, or filled up with `fill_value`, to this number.
        fill_value: 0 unless given.
    """
    x = as_tensor(x)
    shape = static_or_dynamic_shape(x)
    slices = tf.reshape(x, [-1]) if axis is None else swapaxes(x, axis, 0)
    values, inverse, counts = tf.raw_ops.UniqueWithCountsV2(x=slices, axis=[0])
    found = tf.shape(values)[0]
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
    """The order of rows by their first element, then their second, and so on."""
    rows = tf.reshape(rows, [tf.shape(rows)[0], -1])
    last_column = tf.shape(rows)[1] - 1

    def by_column(i: Any, order: Any) -> Any:
        column = tf.gather(rows[:, last_column - i], order)
        return i + 1, tf.gather(order, tf.argsort(column, stable=True))

    start = (0, tf.range(tf.shape(rows)[0]))
    return tf.while_loop(lambda i, _: i <= last_column, by_column, start)[1]


def _resize(x: Any, size: int, fill_value: Any) -> tf.Tensor:
    """`x` cut or filled up to `size` along its first axis."""
    x = x[:size]
    border = [[0, size - tf.shape(x)[0]]] + [[0, 0]] * (x.shape.rank - 1)
    padded = tf.pad(x, border, constant_values=tf.cast(fill_value, x.dtype))
    return tf.ensure_shape(padded, [size, *x.shape[1:]])
