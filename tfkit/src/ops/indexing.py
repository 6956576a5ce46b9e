"""Operations that select, order and count elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.ops.checks import as_indices, positive_axes
from tfkit.src.ops.ordering import ordered_keys
from tfkit.src.ops.promotion import as_tensor, promote, promote_tensors, to_float
from tfkit.src.ops.shaping import static_or_dynamic_shape, swapaxes
from tfkit.src.ops.sparse import is_sparse, to_dense, zeros_stay
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """Returns `x1` where a condition holds and `x2` elsewhere.

    Args:
        condition: a bool tensor; numbers are true where they are not 0.
        x1: values where it is true, a tensor that broadcasts with the others.
        x2: values elsewhere, a tensor that broadcasts with the others.

    Returns:
        A tensor of the broadcast shape and of the common dtype of `x1` and `x2`. With neither of
        them, the indices of the true elements, as `nonzero(condition)` returns them.

    Raises:
        ValueError: when only one of `x1` and `x2` is given.

    Example:
        >>> ops.where([True, False, True], [1, 2, 3], 0).numpy().tolist()
        [1, 0, 3]
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError(
            "`x1` and `x2` must both be given or both be `None`. Received: one of them"
        )
    return tf.where(tf.cast(condition, tf.bool), *promote(x1, x2))


@symbolic_op
def nonzero(x: Any) -> tuple[tf.Tensor, ...]:
    """Returns the indices of the elements that are not 0.

    Args:
        x: a tensor of any shape and dtype; NaN and true count as not 0.

    Returns:
        A tuple with one int32 vector for each axis, all as long as there are such elements.

    Example:
        >>> rows, columns = ops.nonzero([[0, 5], [7, 0]])
        >>> rows.numpy().tolist(), columns.numpy().tolist()
        ([0, 1], [1, 0])
    """
    x = as_tensor(x)
    places = tf.cast(tf.where(tf.cast(x, tf.bool)), tf.int32)
    return tuple(tf.unstack(places, x.shape.rank, axis=1))


@symbolic_op
def select(condlist: Any, choicelist: Any, default: Any = 0) -> tf.Tensor:
    """Returns for each element the choice that belongs to the first condition that is true.

    Args:
        condlist: a list of bool tensors.
        choicelist: a list of as many tensors, which broadcast with the conditions.
        default: value where no condition is true. Default: `0`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of the choices and `default`.

    Example:
        >>> x = tf.constant([1, 2, 3, 4])
        >>> ops.select([x < 2, x > 3], [x * 10, x * 100], default=-1).numpy().tolist()
        [10, -1, -1, 400]
    """
    *choices, result = promote(*choicelist, default)
    # In reverse: the first condition that holds is applied last, and wins.
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = tf.where(tf.cast(condition, tf.bool), choice, result)
    return result


@symbolic_op
def get_item(x: Any, key: Any) -> tf.Tensor:
    """Returns `x[key]`, the part of a tensor that an index expression picks.

    Args:
        x: a tensor of any shape.
        key: an integer, a slice, `None` (a new axis), `...` (all axes in between), or a tuple or
            list of them.

    Returns:
        A tensor of the dtype of `x`.

    Example:
        >>> x = tf.constant([[1, 2], [3, 4]])
        >>> ops.get_item(x, (0, np.s_[::-1])).numpy().tolist()
        [2, 1]
    """
    return x[tuple(key) if isinstance(key, list) else key]


def _from_start(indices: Any, size: Any) -> tf.Tensor:
    """Returns negative indices, which count from the end, as indices that count from the start."""
    return tf.where(indices < 0, indices + tf.cast(size, indices.dtype), indices)


@symbolic_op
def take(x: Any, indices: Any, axis: int | None = None) -> tf.Tensor:
    """Returns the slices of a tensor at given indices along an axis.

    Args:
        x: a tensor of any shape.
        indices: integers of any shape; negative ones count from the end, floats lose what is
            after the point. A ragged tensor gives a ragged one; what a sparse tensor leaves out
            is index 0.
        axis: axis of the slices; `None` for elements of the flattened tensor.

    Returns:
        A tensor of the dtype of `x`, with the shape of `indices` in place of the axis `axis`.

    Example:
        >>> ops.take([10, 20, 30], [[0, -1]]).numpy().tolist()
        [[10, 30]]
        >>> ops.take([[1, 2], [3, 4]], 1, axis=1).numpy().tolist()
        [2, 4]
    """
    x, indices = as_tensor(x), to_dense(as_indices(indices))
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    (axis,) = positive_axes([axis], x.shape.rank)
    size = static_or_dynamic_shape(x)[axis]
    if isinstance(indices, tf.RaggedTensor):
        return tf.gather(
            x, indices.with_flat_values(_from_start(indices.flat_values, size)), axis=axis
        )
    return tf.gather(x, _from_start(indices, size), axis=axis)


@symbolic_op
def take_along_axis(x: Any, indices: Any, axis: int | None = None) -> tf.Tensor:
    """Returns for each position of `indices` the element of `x` at that index along an axis.

    It undoes `argsort`: `take_along_axis(x, argsort(x), -1)` is `sort(x)`.

    Args:
        x: a tensor with at least one axis.
        indices: integers with as many axes as `x`; sizes of other axes than `axis` broadcast.
            Negative ones count from the end.
        axis: axis of the indices; `None` for the flattened `x` and a vector of indices.

    Returns:
        A tensor of the broadcast shape and of the dtype of `x`.

    Raises:
        ValueError: when `axis` is `None` and `indices` is not a vector, or the ranks differ.

    Example:
        >>> ops.take_along_axis([[1, 5, 3], [6, 2, 4]], [[1], [0]], axis=1).numpy().tolist()
        [[5], [6]]
    """
    x, indices = as_tensor(x), tf.cast(indices, tf.int64)
    if axis is None:
        if indices.shape.rank != 1:
            raise ValueError(
                f"`indices` must be 1D if axis=None. Received: indices.shape={indices.shape}"
            )
        return take_along_axis(tf.reshape(x, [-1]), indices, 0)
    rank = x.shape.rank
    (axis,) = positive_axes([axis], rank)
    if indices.shape.rank != rank:
        raise ValueError(
            f"`indices` must have the rank of `x`. Received: x.shape={x.shape}, indices.shape={indices.shape}"
        )
    x, indices = swapaxes(x, axis, -1), swapaxes(indices, axis, -1)
    indices = _from_start(indices, static_or_dynamic_shape(x)[-1])
    leading = tf.broadcast_dynamic_shape(tf.shape(x)[:-1], tf.shape(indices)[:-1])
    static_leading = tf.broadcast_static_shape(x.shape[:-1], indices.shape[:-1])
    x, indices = (
        tf.ensure_shape(
            tf.broadcast_to(t, tf.concat([leading, tf.shape(t)[-1:]], 0)),
            static_leading.concatenate(t.shape[-1:]),
        )
        for t in (x, indices)
    )
    return swapaxes(tf.gather(x, indices, batch_dims=rank - 1), axis, -1)


# --- Ordering -------------------------------------------------------------------------------------


@symbolic_op
def sort(x: Any, axis: int | None = -1) -> tf.Tensor:
    """Returns the elements of a tensor in ascending order along an axis.

    Args:
        x: a real tensor with at least one axis.
        axis: axis to sort along; `None` for the flattened tensor. Default: `-1`.

    Returns:
        A tensor of the shape (a vector for `axis=None`) and dtype of `x`. NaN is last.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> ops.sort([[3, 1, 2], [6, 5, 4]]).numpy().tolist()
        [[1, 2, 3], [4, 5, 6]]
        >>> ops.sort([[3, 1], [2, 4]], axis=None).numpy().tolist()
        [1, 2, 3, 4]
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    (axis,) = positive_axes([axis], x.shape.rank)
    if x.dtype == tf.bool:
        # TensorFlow sorts no booleans.
        return tf.cast(tf.sort(tf.cast(x, tf.int8), axis), tf.bool)
    if not x.dtype.is_floating:
        return tf.sort(x, axis)
    # Kernels do not move NaN, which is not less than anything.
    missing = tf.math.is_nan(x)
    ordered = tf.sort(tf.where(missing, tf.constant(math.inf, x.dtype), x), axis)
    size = tf.shape(x)[axis]
    count = tf.reduce_sum(tf.cast(missing, tf.int32), axis, keepdims=True)
    place = tf.reshape(tf.range(size), [-1] + [1] * (x.shape.rank - 1 - axis))
    return tf.where(place >= size - count, tf.constant(math.nan, x.dtype), ordered)


@symbolic_op
def argsort(x: Any, axis: int | None = -1) -> tf.Tensor:
    """Returns the indices that put a tensor in ascending order along an axis.

    Args:
        x: a real tensor of any shape.
        axis: axis to sort along; `None` for the flattened tensor. Default: `-1`.

    Returns:
        A tensor of the shape of `x` (a vector for `axis=None`), of int32. -0.0 comes before 0.0,
        and NaN last.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> ops.argsort([30, 10, 20]).numpy().tolist()
        [1, 2, 0]
    """
    x = as_tensor(x)
    if x.shape.rank == 0:
        return tf.zeros([1], tf.int32)
    x = ordered_keys(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    return tf.argsort(x, *positive_axes([axis], x.shape.rank), stable=True)


@symbolic_op
def argpartition(x: Any, kth: int, axis: int | None = -1) -> tf.Tensor:
    """Returns the indices that put the element of rank `kth` at its position in the sorted order.

    Smaller elements come before it and larger ones after it. Here all of them are in ascending
    order, which is allowed but not promised.

    Args:
        x: a real tensor of any shape.
        kth: rank of the element, counted from 0; negative ones count from the end.
        axis: axis to sort along; `None` for the flattened tensor. Default: `-1`.

    Returns:
        A tensor of the shape of `x` (a vector for `axis=None`), of int32.

    Raises:
        ValueError: when there is no element of that rank.

    Example:
        >>> x = tf.constant([7, 1, 9, 3])
        >>> ops.take(x, ops.argpartition(x, 1)[:2]).numpy().tolist()
        [1, 3]
    """
    x = as_tensor(x)
    if not hasattr(kth, "__index__"):
        raise ValueError(f"`kth` must be an integer. Received: kth={kth!r}")
    if axis is None:
        size = x.shape.num_elements()
    else:
        size = x.shape[positive_axes([axis], x.shape.rank)[0]]
    if size is not None and not -size <= kth < size:
        raise ValueError(f"`kth` must be in the range [-{size}, {size}). Received: kth={kth}")
    # A whole order is also a partition; TensorFlow has no cheaper kernel.
    return argsort(x, axis)


@symbolic_op
def top_k(x: Any, k: int, sorted: bool = True) -> Any:
    """Returns the `k` largest elements along the last axis, and their indices.

    Args:
        x: a real tensor of shape `(..., n)`.
        k: number of elements, at most `n`.
        sorted: whether the elements are in descending order. Default: `True`.

    Returns:
        A named tuple of `values`, of shape `(..., k)` and of the dtype of `x`, and `indices`, of
        the same shape and of int32. Of equal elements the first ones are chosen; NaN is larger than
        all numbers.

    Example:
        >>> values, indices = ops.top_k([3, 9, 1, 7], k=2)
        >>> values.numpy().tolist(), indices.numpy().tolist()
        ([9, 7], [1, 3])
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        return tf.math.top_k(x, k, sorted)
    found = tf.math.top_k(ordered_keys(x), k, sorted)
    return type(found)(tf.gather(x, found.indices, batch_dims=x.shape.rank - 1), found.indices)


@symbolic_op
def in_top_k(targets: Any, predictions: Any, k: int) -> tf.Tensor:
    """Returns whether the prediction for the target class is among the `k` largest of its row.

    Args:
        targets: ids of the target classes, integers of shape `(batch, ...)`.
        predictions: scores, numbers of shape `(batch, ..., classes)`.
        k: number of predictions that count. Predictions equal to the smallest of them count too.

    Returns:
        A bool tensor of the shape of `targets`; false where a prediction of the row is not finite or
        the class does not exist.

    Example:
        >>> ops.in_top_k([0, 2], [[0.1, 0.7, 0.2], [0.1, 0.2, 0.7]], k=1).numpy().tolist()
        [False, True]
    """
    targets, predictions = tf.cast(as_indices(targets), tf.int64), to_float(predictions)
    num_classes = tf.shape(predictions, tf.int64)[-1]
    known = (targets >= 0) & (targets < num_classes)
    # Not TensorFlow's kernel, which refuses sequences, and differs from XLA where predictions are equal.
    index = tf.where(known, targets, tf.zeros_like(targets))[..., None]
    chosen = tf.gather(predictions, index, batch_dims=targets.shape.rank)
    larger = tf.reduce_sum(tf.cast(predictions > chosen, tf.int32), -1)
    finite = tf.reduce_all(tf.math.is_finite(predictions), -1)
    return known & finite & (larger < k)


@symbolic_op
def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> tf.Tensor:
    """Returns the indices in an ascending vector at which values must be inserted to keep its order.

    Args:
        sorted_sequence: a vector in ascending order.
        values: a tensor of any shape.
        side: `"left"` (before equal elements) or `"right"` (after them). Default: `"left"`.

    Returns:
        A tensor of the shape of `values`, of int32, or of int64 where the length of the vector is
        not known.

    Raises:
        ValueError: when `sorted_sequence` is not a vector.

    Example:
        >>> ops.searchsorted([1, 3, 5], [0, 3, 9]).numpy().tolist()
        [0, 1, 3]
        >>> ops.searchsorted([1, 3, 5], 3, side="right").numpy().tolist()
        2
    """
    sorted_sequence = as_tensor(sorted_sequence)
    if sorted_sequence.shape.rank != 1:
        raise ValueError(
            "`searchsorted` needs a vector; use `ops.vectorized_map` for more. "
            f"Received: sorted_sequence.shape={sorted_sequence.shape}"
        )
    sorted_sequence, values = promote_tensors(sorted_sequence, values)
    # As in Keras: int64 where the size, and therefore the largest index, is not known.
    out_type = tf.int64 if sorted_sequence.shape[0] is None else tf.int32
    places = tf.searchsorted(sorted_sequence, tf.reshape(values, [-1]), side, out_type)
    places = tf.reshape(places, static_or_dynamic_shape(values))
    return _after_all(values, places, tf.shape(sorted_sequence, out_type)[0])


def _after_all(values: Any, places: tf.Tensor, size: Any) -> tf.Tensor:
    """Returns `places`, with NaN after everything, where NumPy sorts it; kernels differ."""
    if not values.dtype.is_floating:
        return places
    return tf.where(tf.math.is_nan(values), tf.cast(size, places.dtype), places)


def _bins_of(x: Any, bins: Any) -> tf.Tensor:
    """Returns `digitize` for edges that are known only at run time."""
    x, bins = promote_tensors(to_dense(x), bins)
    places = tf.reshape(tf.searchsorted(bins, tf.reshape(x, [-1]), "right"), tf.shape(x))
    return _after_all(x, places, tf.shape(bins)[0])


@symbolic_op
def digitize(x: Any, bins: Any) -> tf.Tensor:
    """Returns the number of the bin that each element falls into.

    Bin `i` holds `bins[i - 1] <= x < bins[i]`; bin 0 is below the first edge.

    Args:
        x: a real tensor of any shape.
        bins: edges of the bins, a vector in ascending order.

    Returns:
        A tensor of the shape of `x`, of int32.

    Raises:
        ValueError: when `bins` is not a vector.

    Example:
        >>> ops.digitize([0.5, 1.0, 2.5, 9.0], [1.0, 2.0, 3.0]).numpy().tolist()
        [0, 1, 2, 3]
    """
    x = as_tensor(x)
    shape = bins.shape if tf.is_tensor(bins) else np.shape(bins)
    if tf.TensorShape(shape).rank not in (1, None):
        raise ValueError(f"`bins` must be a 1D array of edges. Received: bins.shape={tuple(shape)}")
    if isinstance(bins, tf.Tensor) and not tf.executing_eagerly():
        return _bins_of(x, bins)
    # The kernel accepts edges only as an attribute.
    edges = [float(edge) for edge in np.asarray(bins)]
    if is_sparse(x):
        if edges and edges[0] > 0:  # Zeros are before the first edge, in bin 0.
            return zeros_stay(digitize)(x, bins)
        x = to_dense(x)
    if x.dtype in (tf.bool, tf.int8, tf.int16, tf.uint8, tf.uint16):
        x = tf.cast(x, tf.int32)
    elif x.dtype == tf.uint32:
        x = tf.cast(x, tf.int64)
    elif x.dtype in (tf.float16, tf.bfloat16):
        x = tf.cast(x, tf.float32)
    return _after_all(x, tf.raw_ops.Bucketize(input=x, boundaries=edges), len(edges))
