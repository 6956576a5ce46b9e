"""Operations that pick, order and count elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.ops.arguments import as_indices, positive_axes
from tfkit.ops.promotion import as_tensor, promote, promote_tensors
from tfkit.ops.shaping import static_or_dynamic_shape, swapaxes
from tfkit.ops.sparse import is_sparse, to_dense, zeros_stay
from tfkit.symbolic import symbolic_op


@symbolic_op
def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """`x1` where `condition` is true and `x2` elsewhere; with neither, `nonzero(condition)`.

    Raises:
        ValueError: when only one of `x1` and `x2` is given.
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
    """The places of the elements that are not 0: int32 indices, one tensor an axis."""
    x = as_tensor(x)
    places = tf.cast(tf.where(tf.cast(x, tf.bool)), tf.int32)
    return tuple(tf.unstack(places, x.shape.rank, axis=1))


@symbolic_op
def select(condlist: Any, choicelist: Any, default: Any = 0) -> tf.Tensor:
    """For each element the choice of the first condition that is true, `default` if none is."""
    *choices, result = promote_tensors(*choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = tf.where(tf.cast(condition, tf.bool), choice, result)
    return result


@symbolic_op
def get_item(x: Any, key: Any) -> tf.Tensor:
    """`x[key]`: integers, slices, `None` for a new axis, `...` for all axes in between."""
    return x[tuple(key) if isinstance(key, list) else key]


def _from_start(indices: Any, size: Any) -> tf.Tensor:
    """Negative indices, which count from the end, as indices that count from the start."""
    return tf.where(indices < 0, indices + tf.cast(size, indices.dtype), indices)


@symbolic_op
def take(x: Any, indices: Any, axis: int | None = None) -> tf.Tensor:
    """The slices of `x` at `indices` along `axis`, of the flattened tensor unless given.

    The elements that sparse indices leave out are zeros.
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
    """For each place in `indices` the element of `x` at that index along `axis`.

    Args:
        x: a tensor.
        indices: integers, of the rank of `x`; the other axes broadcast.
        axis: an axis; `x` flattened (and `indices` a vector) unless given.

    Raises:
        ValueError: when `axis` is `None` and `indices` is not a vector, or the ranks differ.
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
            "`indices` must have the rank of `x`. "
            f"Received: x.shape={x.shape}, indices.shape={indices.shape}"
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
    """The elements in ascending order along `axis`; `None` flattens."""
    x = as_tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    (axis,) = positive_axes([axis], x.shape.rank)
    if x.dtype == tf.bool:
        return tf.cast(tf.sort(tf.cast(x, tf.int8), axis), tf.bool)
    return tf.sort(x, axis)


@symbolic_op
def argsort(x: Any, axis: int | None = -1) -> tf.Tensor:
    """The indices that would put `x` in ascending order along `axis`; `None` flattens."""
    x = as_tensor(x)
    if x.shape.rank == 0:
        return tf.zeros([1], tf.int32)
    if x.dtype == tf.bool:
        x = tf.cast(x, tf.uint8)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    return tf.argsort(x, *positive_axes([axis], x.shape.rank))


@symbolic_op
def argpartition(x: Any, kth: int, axis: int | None = -1) -> tf.Tensor:
    """The indices that would put the element of rank `kth` in its sorted place.

    What is smaller comes before it, what is larger after it; they come in order here.

    Raises:
        ValueError: when there is no such element.
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
    return argsort(x, axis)


@symbolic_op
def top_k(x: Any, k: int, sorted: bool = True) -> Any:
    """The `k` largest elements along the last axis, and their int32 indices."""
    return tf.math.top_k(as_tensor(x), k, sorted)


@symbolic_op
def in_top_k(targets: Any, predictions: Any, k: int) -> tf.Tensor:
    """Whether the prediction for each target class is among the `k` largest of its row."""
    return tf.math.in_top_k(as_indices(targets), predictions, k)


@symbolic_op
def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> tf.Tensor:
    """Where `values` would have to go for an ascending vector to stay in order.

    Args:
        sorted_sequence: a vector in ascending order.
        values: a tensor.
        side: `"left"` or `"right"` of equal elements.

    Raises:
        ValueError: when `sorted_sequence` is not a vector.
    """
    sorted_sequence = as_tensor(sorted_sequence)
    if sorted_sequence.shape.rank != 1:
        raise ValueError(
            "`searchsorted` needs a vector; use `ops.vectorized_map` for more. "
            f"Received: sorted_sequence.shape={sorted_sequence.shape}"
        )
    sorted_sequence, values = promote_tensors(sorted_sequence, values)
    out_type = tf.int64 if sorted_sequence.shape[0] is None else tf.int32
    places = tf.searchsorted(sorted_sequence, tf.reshape(values, [-1]), side, out_type)
    return tf.reshape(places, static_or_dynamic_shape(values))


def _bins_of(x: Any, bins: Any) -> tf.Tensor:
    """`digitize` for edges that only a program knows."""
    x, bins = promote_tensors(to_dense(x), bins)
    return tf.cast(
        tf.reshape(tf.searchsorted(bins, tf.reshape(x, [-1]), "right"), tf.shape(x)), tf.int32
    )


@symbolic_op
def digitize(x: Any, bins: Any) -> tf.Tensor:
    """The number of the bin that each element falls in; `bins` are its ascending left edges."""
    x = as_tensor(x)
    shape = bins.shape if tf.is_tensor(bins) else np.shape(bins)
    if tf.TensorShape(shape).rank not in (1, None):
        raise ValueError(f"`bins` must be a 1D array of edges. Received: bins.shape={tuple(shape)}")
    if isinstance(bins, tf.Tensor) and not tf.executing_eagerly():
        return _bins_of(x, bins)
    edges = [float(edge) for edge in np.asarray(bins)]
    if is_sparse(x):
        if edges and edges[0] > 0:  # Zeros lie before the first edge, in bin 0.
            return zeros_stay(digitize)(x, bins)
        x = to_dense(x)
    if x.dtype in (tf.bool, tf.int8, tf.int16, tf.uint8, tf.uint16):
        x = tf.cast(x, tf.int32)
    elif x.dtype == tf.uint32:
        x = tf.cast(x, tf.int64)
    elif x.dtype in (tf.float16, tf.bfloat16):
        x = tf.cast(x, tf.float32)
    return tf.raw_ops.Bucketize(input=x, boundaries=edges)
