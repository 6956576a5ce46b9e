"""Sparse operands: `tf.SparseTensor`, and `tf.IndexedSlices`, the form of sparse gradients.

A result stays sparse where its missing elements are zeros again. Everything else is computed on dense
tensors. Rows whose index occurs twice in `tf.IndexedSlices` are summed.

The decorators `zeros_stay`, `made_dense`, `zeros_meet`, `zeros_win` and `zeros_divided` make ops: like
`symbolic_op`, they let a function accept symbolic tensors as well.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from tfkit.src.ops.checks import as_axes
from tfkit.src.ops.promotion import as_tensor, promote
from tfkit.src.symbolic.tensors import symbolic_op

Function = TypeVar("Function", bound=Callable[..., Any])
SPARSE = (tf.SparseTensor, tf.IndexedSlices)


def is_sparse(x: Any) -> bool:
    """Whether `x` is a `tf.SparseTensor` or `tf.IndexedSlices`."""
    return isinstance(x, SPARSE)


def to_dense(x: Any) -> Any:
    """Returns `x` with its zeros written out; other tensors are returned unchanged."""
    if isinstance(x, tf.SparseTensor):
        # `to_dense` requires indices in order.
        dense = tf.sparse.to_dense(tf.sparse.reorder(x))
        dense.set_shape(x.shape)
        return dense
    return tf.convert_to_tensor(x) if isinstance(x, tf.IndexedSlices) else x


def with_shape(x: Any, shape: Any) -> Any:
    """Returns a sparse tensor with the static shape `shape`."""
    x.set_shape(shape)
    return x


def with_values(x: tf.SparseTensor, values: Any) -> tf.SparseTensor:
    """Returns a sparse tensor with other elements at the same positions, and the same static shape."""
    return with_shape(x.with_values(values), x.shape)


def shape_of(x: Any) -> tf.TensorShape:
    """Returns the static shape; the shape of `tf.IndexedSlices` may be a tuple, or `None`."""
    if not isinstance(x, tf.IndexedSlices) or isinstance(x.dense_shape, tf.Tensor):
        return x.shape
    rows = None if x.dense_shape is None else x.dense_shape[0]
    return tf.TensorShape([rows]).concatenate(x.values.shape[1:])


# --- One operand ----------------------------------------------------------------------------------


def zeros_stay(function: Function) -> Function:
    """Returns an elementwise function with `f(0) = 0` that maps sparse tensors to sparse ones."""

    @functools.wraps(function)
    def op(x: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, tf.SparseTensor):
            return with_values(x, function(x.values, *args, **kwargs))
        if isinstance(x, tf.IndexedSlices):
            # A function that is not linear must see the sum of rows with the same index.
            x = _rows_once(x)
            return tf.IndexedSlices(function(x.values, *args, **kwargs), x.indices, x.dense_shape)
        return function(x, *args, **kwargs)

    return symbolic_op(op)  # type: ignore[return-value]


def made_dense(function: Function) -> Function:
    """Returns a function that makes its operand dense, because its result has few zeros."""

    @functools.wraps(function)
    def op(x: Any, *args: Any, **kwargs: Any) -> Any:
        return function(to_dense(x) if is_sparse(x) else x, *args, **kwargs)

    return symbolic_op(op)  # type: ignore[return-value]


def _rows_once(x: tf.IndexedSlices) -> tf.IndexedSlices:
    """Returns the same tensor with each row index only once."""
    indices, places = tf.unique(x.indices)
    values = tf.math.unsorted_segment_sum(x.values, places, tf.size(indices))
    return tf.IndexedSlices(values, indices, x.dense_shape)


# --- Two operands ---------------------------------------------------------------------------------


def zeros_meet(function: Function) -> Function:
    """Returns `f(x1, x2)` with `f(0, 0) = 0`, such as a sum: sparse if both operands are."""

    def combined(x1: Any, x2: Any) -> Any:
        return _on_common_places(function, x1, x2) if _are_alike(x1, x2) else None

    return _with_sparse_operands(function, combined)


def zeros_win(function: Function) -> Function:
    """Returns `f(x1, x2)` with `f(0, x) = f(x, 0) = 0`, a product: sparse if one operand is."""

    def combined(x1: Any, x2: Any) -> Any:
        if _are_alike(x1, x2):
            return _on_common_places(function, x1, x2)
        if is_sparse(x1) and _broadcasts_to(x2, x1):
            return _at_places_of(x1, x2, function)
        if is_sparse(x2) and _broadcasts_to(x1, x2):
            return _at_places_of(x2, x1, lambda values, others: function(others, values))
        return None

    return _with_sparse_operands(function, combined)


def zeros_divided(function: Function) -> Function:
    """Returns a quotient that is sparse if only the dividend is.

    Where a dense divisor is 0 or NaN the result is NaN, and is written out.
    """

    def combined(x1: Any, x2: Any) -> Any:
        if not (is_sparse(x1) and _broadcasts_to(x2, x1)):
            return None
        if x2.shape.rank:
            # 0 / 0 and 0 / NaN are NaN, and need an element.
            x1 = _with_places(x1, tf.math.logical_not(tf.math.abs(x2) > 0))
        return _at_places_of(x1, x2, function)

    return _with_sparse_operands(function, combined)


def _with_sparse_operands(function: Function, combined: Callable[[Any, Any], Any]) -> Function:
    """Returns `function`, but the result of `combined` if an operand is sparse and there is one."""

    @functools.wraps(function)
    def op(x1: Any, x2: Any) -> Any:
        if not (is_sparse(x1) or is_sparse(x2)):
            return function(x1, x2)
        x1, x2 = promote(x1, x2)
        result = combined(x1, x2)
        return function(to_dense(x1), to_dense(x2)) if result is None else result

    return symbolic_op(op)  # type: ignore[return-value]


def _are_alike(x1: Any, x2: Any) -> bool:
    """Whether both operands are sparse, in the same form and with the same rank."""
    return type(x1) is type(x2) and shape_of(x1).rank == shape_of(x2).rank


def _broadcasts_to(dense: Any, sparse: Any) -> bool:
    """Whether a dense operand can be broadcast to the shape of a sparse one."""
    if is_sparse(dense):
        return False
    shape = shape_of(sparse)
    if dense.shape.rank is None or shape.rank is None or dense.shape.rank > shape.rank:
        return False
    # A sparse size of 1 would have to be repeated, and an unknown one might be 1.
    return all(
        size == 1 or (own != 1 and (own == size or None in (own, size)))
        for size, own in zip(dense.shape, shape[shape.rank - dense.shape.rank :], strict=True)
    )


def _at_places_of(sparse: Any, dense: Any, function: Callable[..., Any]) -> Any:
    """Returns `function` of the elements of a sparse tensor and of a dense one's at the same positions."""
    if isinstance(sparse, tf.SparseTensor):
        shape = tf.broadcast_static_shape(sparse.shape, dense.shape)
        if dense.shape.rank:
            dense = tf.gather_nd(tf.broadcast_to(dense, sparse.dense_shape), sparse.indices)
        return with_shape(sparse.with_values(function(sparse.values, dense)), shape)
    if dense.shape.rank == shape_of(sparse).rank and dense.shape[0] != 1:
        dense = tf.gather(dense, sparse.indices)
    return tf.IndexedSlices(function(sparse.values, dense), sparse.indices, sparse.dense_shape)


def _with_places(sparse: Any, where: Any) -> Any:
    """Returns a sparse tensor with zeros written out at the positions that are true in `where`."""
    if isinstance(sparse, tf.SparseTensor):
        places = tf.where(tf.broadcast_to(where, sparse.dense_shape))
        zeros = tf.zeros(tf.shape(places)[:1], sparse.dtype)
        shape = tf.broadcast_static_shape(sparse.shape, where.shape)
        whole = tf.sparse.add(sparse, tf.SparseTensor(places, zeros, sparse.dense_shape))
        return with_shape(whole, shape)
    full = tf.broadcast_to(where, tf.cast(sparse.dense_shape, tf.int32))
    rows = tf.where(tf.reduce_any(full, range(1, full.shape.rank)))[:, 0]
    rows = tf.cast(rows, sparse.indices.dtype)
    zeros = tf.zeros(tf.concat([tf.shape(rows), tf.shape(sparse.values)[1:]], 0), sparse.dtype)
    return _rows_once(
        tf.IndexedSlices(
            tf.concat([sparse.values, zeros], 0),
            tf.concat([sparse.indices, rows], 0),
            sparse.dense_shape,
        )
    )


def _on_common_places(function: Callable[..., Any], x1: Any, x2: Any) -> Any:
    """Returns `function` of two sparse tensors of one kind, at positions where one of them has an element."""
    if isinstance(x1, tf.SparseTensor):
        shape = tf.broadcast_static_shape(x1.shape, x2.shape)
        x1, x2 = tf.sparse.reorder(x1), tf.sparse.reorder(x2)
        # Zeros are added, so that both have elements at the same positions, in the same order.
        whole1 = tf.sparse.add(x1, x2.with_values(tf.zeros_like(x2.values)))
        whole2 = tf.sparse.add(x1.with_values(tf.zeros_like(x1.values)), x2)
        return with_shape(whole1.with_values(function(whole1.values, whole2.values)), shape)
    indices, places = tf.unique(tf.concat([x1.indices, x2.indices], 0))
    split = tf.shape(x1.indices)[0]
    values = [
        tf.math.unsorted_segment_sum(x.values, own, tf.size(indices))
        for x, own in ((x1, places[:split]), (x2, places[split:]))
    ]
    return tf.IndexedSlices(function(*values), indices, x1.dense_shape)


# --- Shapes, sums and products --------------------------------------------------------------------


def reshaped(x: tf.SparseTensor, shape: Any, static_shape: Any = None) -> tf.SparseTensor:
    """Returns the elements in order in a different shape, whose known sizes are `static_shape`."""
    if static_shape is None and isinstance(shape, (tuple, list)):
        known = [size if isinstance(size, int) and size >= 0 else None for size in shape]
        others = [size for size in known if size is not None]
        if x.shape.is_fully_defined() and known.count(None) == 1:
            known[known.index(None)] = x.shape.num_elements() // math.prod(others)
        static_shape = known
    result = tf.sparse.reshape(x, shape)
    return result if static_shape is None else with_shape(result, static_shape)


def expanded(x: tf.SparseTensor, axis: int) -> tf.SparseTensor:
    """Returns `x` with a new axis of size 1 at the index `axis`, counted from the start."""
    static = x.shape.as_list()
    return with_shape(tf.sparse.expand_dims(x, axis), [*static[:axis], 1, *static[axis:]])


def transposed(x: tf.SparseTensor, axes: Sequence[int] | None) -> tf.SparseTensor:
    """Returns `x` with its axes in a different order, reversed unless given."""
    order = range(x.shape.rank)[::-1] if axes is None else axes
    return with_shape(tf.sparse.transpose(x, order), [x.shape[a] for a in order])


def folded_axes(axis: Any, ndim: int) -> list[int]:
    """Returns the axes to reduce, counted from the start; all of them for `None`."""
    axes = range(ndim) if axis is None else as_axes(axis)
    return [a % ndim for a in axes]


def reduced_sum(x: tf.SparseTensor, axis: Any, keepdims: bool) -> tf.SparseTensor:
    """Returns the sum over `axis`, all axes for `None`, as a sparse tensor."""
    ndim = x.shape.rank
    folded = folded_axes(axis, ndim)
    if not folded:
        return x
    kept = np.array([a for a in range(ndim) if a not in folded], dtype="int32")
    # A last axis of size 1 has room for values that are reduced to a scalar.
    column = tf.zeros_like(x.indices[:, :1])
    places = tf.concat([tf.gather(x.indices, kept, axis=1), column], 1)
    shape = tf.concat([tf.gather(x.dense_shape, kept), [1]], 0)
    flat = tf.sparse.reshape(tf.SparseTensor(places, x.values, shape), [-1])
    places, order = tf.unique(flat.indices[:, 0])
    values = tf.math.unsorted_segment_sum(flat.values, order, tf.size(places))
    summed = tf.sparse.reorder(tf.SparseTensor(places[:, None], values, flat.dense_shape))
    if keepdims:
        is_folded = [a in folded for a in range(ndim)]
        static = [1 if f else size for f, size in zip(is_folded, x.shape, strict=True)]
        return reshaped(
            summed, tf.where(is_folded, tf.ones_like(x.dense_shape), x.dense_shape), static
        )
    return reshaped(summed, shape[:-1], [x.shape[a] for a in kept])


def reduced_mean(x: tf.SparseTensor, axis: Any, keepdims: bool) -> tf.SparseTensor:
    """Returns the mean of floats over `axis`, all axes for `None`, as a sparse tensor."""
    folded = np.array(folded_axes(axis, x.shape.rank), dtype="int32")
    count = tf.reduce_prod(tf.gather(x.dense_shape, folded))
    return reduced_sum(with_values(x, x.values / tf.cast(count, x.dtype)), axis, keepdims)


def concatenated(xs: Sequence[Any], axis: int) -> Any:
    """Returns the tensors joined along `axis`: sparse if all are."""
    if all(isinstance(x, tf.SparseTensor) for x in xs):
        shapes = [x.shape for x in xs]
        sizes = [shape[axis] for shape in shapes]
        static = shapes[0].as_list()
        for shape in shapes[1:]:
            static = [a if b is None else b for a, b in zip(static, shape, strict=True)]
        static[axis] = None if None in sizes else sum(sizes)
        return with_shape(tf.sparse.concat(axis, [tf.sparse.reorder(x) for x in xs]), static)
    return tf.concat([to_dense(x) for x in xs], axis)


def matmul(x1: Any, x2: Any) -> Any:
    """Returns the matrix product of two tensors of one dtype, one or both of them sparse.

    The product of two sparse tensors is sparse, any other one is dense.
    """
    x1, x2 = (to_dense(x) if isinstance(x, tf.IndexedSlices) else as_tensor(x) for x in (x1, x2))
    rank = x1.shape.rank
    both = isinstance(x1, tf.SparseTensor) and isinstance(x2, tf.SparseTensor)
    batch = tf.broadcast_static_shape(x1.shape[:-2], x2.shape[:-2])
    equal = batch.is_fully_defined() and x1.shape[:-2] == x2.shape[:-2] == batch
    if rank != x2.shape.rank or rank < 2 or not equal:
        product = tf.matmul(to_dense(x1), to_dense(x2))
        return tf.sparse.from_dense(product) if both else product
    if isinstance(x1, tf.SparseTensor):
        if both:
            return _sparse_product(x1, x2)
        return _dense_product(x1, x2)
    axes = [*range(rank - 2), rank - 1, rank - 2]
    # The kernel has the sparse matrix on the left: (A B)^T = B^T A^T.
    turned = _dense_product(transposed(x2, axes), tf.transpose(x1, axes))
    return tf.transpose(turned, axes)


def _blocks(x: tf.SparseTensor) -> tf.SparseTensor:
    """Returns a batch of sparse matrices as one matrix, with them as blocks on its diagonal."""
    if x.shape.rank == 2:
        return x
    height, width = x.dense_shape[-2], x.dense_shape[-1]
    x = tf.sparse.reshape(x, tf.stack([-1, height, width]))
    block, row, column = tf.unstack(x.indices, 3, axis=1)
    return tf.SparseTensor(
        tf.stack([block * height + row, block * width + column], 1),
        x.values,
        tf.stack([x.dense_shape[0] * height, x.dense_shape[0] * width]),
    )


def _dense_product(x1: tf.SparseTensor, x2: Any) -> tf.Tensor:
    """Returns sparse matrices times dense ones."""
    columns = tf.cast(tf.shape(x2)[-1:], tf.int64)
    flat = tf.reshape(x2, tf.concat([[-1], columns], 0))
    product = tf.sparse.sparse_dense_matmul(_blocks(x1), flat)
    product = tf.reshape(product, tf.concat([x1.dense_shape[:-1], columns], 0))
    return tf.ensure_shape(product, [*x1.shape[:-1], x2.shape[-1]])


def _sparse_product(x1: tf.SparseTensor, x2: tf.SparseTensor) -> tf.SparseTensor:
    """Returns sparse matrices times sparse ones: each element times the row with its column's index."""
    height, width = x1.dense_shape[-2], x2.dense_shape[-1]
    blocks1, blocks2 = _blocks(x1), tf.sparse.reorder(_blocks(x2))
    rows, columns = blocks2.indices[:, 0], blocks1.indices[:, 1]
    first = tf.searchsorted(rows, columns, "left", tf.int64)
    count = tf.searchsorted(rows, columns, "right", tf.int64) - first
    # For each pair: the index of the element on the left, and of the element on the right.
    left = tf.repeat(tf.range(tf.size(count, tf.int64)), count)
    begin = tf.cumsum(count, exclusive=True)
    # The n-th pair of an element on the left is with the n-th element of that row on the right.
    right = tf.range(tf.size(left, tf.int64)) - tf.gather(begin - first, left)
    products = tf.gather(blocks1.values, left) * tf.gather(blocks2.values, right)
    row = tf.gather(blocks1.indices[:, 0], left)
    place = row * width + tf.gather(blocks2.indices[:, 1], right) % width
    places, order = tf.unique(place)
    # Products for the same position of the result are added.
    values = tf.math.unsorted_segment_sum(products, order, tf.size(places))
    flat = tf.SparseTensor(places[:, None], values, [tf.reduce_prod(x1.dense_shape[:-1]) * width])
    shape = tf.concat([x1.dense_shape[:-2], [height, width]], 0)
    return reshaped(tf.sparse.reorder(flat), shape, [*x1.shape[:-1], x2.shape[-1]])
