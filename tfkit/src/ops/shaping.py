"""Operations that move elements: reshaping, joining, splitting, repeating, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import budget
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.engine.sizes import as_sizes
from tfkit.src.ops import sparse
from tfkit.src.ops.checks import as_axes, one_axis, positive_axes, require_integers
from tfkit.src.ops.promotion import as_tensor, promote_tensors
from tfkit.src.symbolic.tensors import KerasTensor, checked_symbolic_op, symbolic_op


def static_or_dynamic_shape(x: Any) -> tuple[Any, ...]:
    """Returns sizes of the axes: Python numbers if they are known, otherwise scalar tensors."""
    static = x.shape.as_list()
    if None not in static:
        return tuple(static)
    dynamic = tf.shape(x)
    return tuple(dynamic[i] if size is None else size for i, size in enumerate(static))


@symbolic_op
def reshape(x: Any, newshape: Any) -> tf.Tensor:
    """Returns the elements of a tensor, in order, in a different shape.

    Args:
        x: a tensor of any shape, sparse ones included.
        newshape: sizes of the result, with the same product as the sizes of `x`, or the size of a
            vector. One of them may be -1 (or `None`), and is inferred.

    Returns:
        A tensor of shape `newshape` and of the dtype of `x`.

    Raises:
        ValueError: for two sizes to be inferred, or any other negative size.

    Example:
        >>> ops.reshape([1, 2, 3, 4, 5, 6], (2, -1)).numpy().tolist()
        [[1, 2, 3], [4, 5, 6]]
    """
    newshape = [newshape] if isinstance(newshape, int) else newshape
    if isinstance(newshape, (tuple, list)):
        newshape = [-1 if size is None else size for size in newshape]
        known = [size for size in newshape if isinstance(size, int)]
        if known.count(-1) > 1:
            raise ValueError(
                f"`newshape` can have at most one unknown dimension, -1. Received: newshape={tuple(newshape)}"
            )
        if any(size < -1 for size in known):
            raise ValueError(
                "Each size in `newshape` must be a non-negative integer, or -1 for one that is "
                f"worked out. Received: newshape={tuple(newshape)}"
            )
    if isinstance(x, tf.SparseTensor):
        return sparse.reshaped(x, newshape)
    return tf.reshape(x, newshape)


@symbolic_op
def ravel(x: Any) -> tf.Tensor:
    """Returns all elements of a tensor, in order, along one axis.

    Args:
        x: a tensor of any shape.

    Returns:
        A vector of the dtype of `x`.

    Example:
        >>> ops.ravel([[1, 2], [3, 4]]).numpy().tolist()
        [1, 2, 3, 4]
    """
    return tf.reshape(x, [-1])


@symbolic_op
def expand_dims(x: Any, axis: int | Sequence[int]) -> tf.Tensor:
    """Returns a tensor with new axes of size 1.

    Args:
        x: a tensor of any shape, sparse ones included.
        axis: position or positions of the new axes in the result; negative ones count from its end.

    Returns:
        A tensor of the elements and dtype of `x`.

    Raises:
        ValueError: for a position that the result does not have.

    Example:
        >>> ops.expand_dims([1, 2, 3], axis=-1).shape
        TensorShape([3, 1])
        >>> ops.expand_dims([1, 2, 3], axis=(0, 1)).shape
        TensorShape([1, 1, 3])
    """
    x = as_tensor(x)
    insert = sparse.expanded if isinstance(x, tf.SparseTensor) else tf.expand_dims
    axes = as_axes(axis)
    # Positions refer to the result, so axes are inserted from the left.
    for place in sorted(positive_axes(axes, x.shape.rank + len(axes))):
        x = insert(x, place)
    return x


def _check_squeezed(x: Any, axis: int | Sequence[int] | None = None) -> None:
    """Raises an error for an axis of a symbolic tensor that may have a size other than 1."""
    if axis is None or not isinstance(x, KerasTensor):
        return
    for a in positive_axes(as_axes(axis), x.ndim):
        if x.shape[a] is None:
            raise ValueError(
                f"Cannot squeeze axis {a}, whose size is not known to be 1. Received: shape={x.shape}"
            )


@checked_symbolic_op(_check_squeezed)
def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> tf.Tensor:
    """Returns a tensor without axes of size 1.

    Args:
        x: a tensor of any shape, sparse ones included.
        axis: axis or axes to remove; `None` for all that are known to have size 1.

    Returns:
        A tensor of the elements and dtype of `x`.

    Raises:
        ValueError: when an axis in `axis` has a size other than 1, or does not exist.

    Example:
        >>> ops.squeeze(tf.ones((1, 3, 1))).shape
        TensorShape([3])
        >>> ops.squeeze(tf.ones((1, 3, 1)), axis=0).shape
        TensorShape([3, 1])
    """
    x = as_tensor(x)
    axes = positive_axes([] if axis is None else as_axes(axis), x.shape.rank)
    for a in axes:
        if x.shape[a] not in (1, None):
            raise ValueError(
                f"Cannot squeeze axis {a}, because the dimension is not 1. Received: shape={x.shape}"
            )
    if isinstance(x, tf.SparseTensor):
        gone = axes or [a for a, size in enumerate(x.shape) if size == 1]
        kept = [a for a in range(x.shape.rank) if a not in gone]
        return sparse.reshaped(x, tf.gather(x.dense_shape, kept), [x.shape[a] for a in kept])
    if axis is None and None in x.shape:  # Only axes that are known to have size 1.
        axes = [a for a, size in enumerate(x.shape) if size == 1]
        return tf.squeeze(x, axes) if axes else x
    return tf.squeeze(x, axes or None)


@symbolic_op
def transpose(x: Any, axes: Sequence[int] | None = None) -> tf.Tensor:
    """Returns a tensor with its axes in a different order.

    Args:
        x: a tensor of any shape, sparse ones included.
        axes: for each axis of the result the axis of `x`; `None` for the reverse order.

    Returns:
        A tensor of the elements and dtype of `x`.

    Raises:
        ValueError: when `axes` does not name each axis once.

    Example:
        >>> ops.transpose([[1, 2, 3], [4, 5, 6]]).numpy().tolist()
        [[1, 4], [2, 5], [3, 6]]
        >>> ops.transpose(tf.ones((2, 3, 4)), (0, 2, 1)).shape
        TensorShape([2, 4, 3])
    """
    x = as_tensor(x)
    if axes is not None:
        order = positive_axes(axes, x.shape.rank, "axes")
        if sorted(order) != list(range(x.shape.rank)):
            raise ValueError(
                "`axes` must be a valid permutation of the axes: each of them once. "
                f"Received: axes={axes}, x.shape={x.shape}"
            )
        axes = order
    if isinstance(x, tf.SparseTensor):
        return sparse.transposed(x, axes)
    return tf.transpose(x, axes)


@symbolic_op
def swapaxes(x: Any, axis1: int, axis2: int) -> tf.Tensor:
    """Returns a tensor with two axes swapped.

    Args:
        x: a tensor of any shape.
        axis1: one axis; negative ones count from the end.
        axis2: the other axis.

    Returns:
        A tensor of the elements and dtype of `x`.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> ops.swapaxes(tf.ones((2, 3, 4)), 0, -1).shape
        TensorShape([4, 3, 2])
    """
    x = as_tensor(x)
    axis1, axis2 = positive_axes([axis1, axis2], x.shape.rank)
    order = list(range(x.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return tf.transpose(x, order)


@symbolic_op
def moveaxis(x: Any, source: Any, destination: Any) -> tf.Tensor:
    """Returns a tensor with some axes moved to other positions, the rest in their order.

    Args:
        x: a tensor of any shape.
        source: axis or axes to move.
        destination: position or positions in the result, as many as in `source`.

    Returns:
        A tensor of the elements and dtype of `x`.

    Raises:
        ValueError: when the two differ in length, and for an axis that `x` does not have or that is
            named twice.

    Example:
        >>> ops.moveaxis(tf.ones((2, 3, 4)), 0, -1).shape
        TensorShape([3, 4, 2])
        >>> ops.moveaxis(tf.ones((2, 3, 4)), (0, 1), (1, 2)).shape
        TensorShape([4, 2, 3])
    """
    x = as_tensor(x)
    sources = positive_axes(np.atleast_1d(source).tolist(), x.shape.rank, "source")
    destinations = positive_axes(np.atleast_1d(destination).tolist(), x.shape.rank, "destination")
    if len(sources) != len(destinations):
        raise ValueError(
            "`source` and `destination` must have the same length. "
            f"Received: source={source}, destination={destination}"
        )
    if len(set(sources)) < len(sources) or len(set(destinations)) < len(destinations):
        raise ValueError(
            "`source` and `destination` must name each axis once. "
            f"Received: source={source}, destination={destination}"
        )
    order = [a for a in range(x.shape.rank) if a not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        # In ascending order of the destinations, so that a later insertion moves none of them.
        order.insert(place, axis)
    return tf.transpose(x, order)


@symbolic_op
def broadcast_to(x: Any, shape: Any) -> tf.Tensor:
    """Returns a tensor repeated along its axes of size 1, and along new leading axes, to a shape.

    Args:
        x: a tensor of any shape.
        shape: sizes of the result. Counted from the end, each size of `x` must be equal to it or
            1.

    Returns:
        A tensor of shape `shape` and of the dtype of `x`.

    Raises:
        InvalidArgumentError: when `x` does not broadcast to `shape`.

    Example:
        >>> ops.broadcast_to([1, 2, 3], (2, 3)).numpy().tolist()
        [[1, 2, 3], [1, 2, 3]]
    """
    return tf.broadcast_to(x, shape)


# --- Joining and splitting ------------------------------------------------------------------------


@symbolic_op
def concatenate(xs: Sequence[Any], axis: int = 0) -> tf.Tensor:
    """Returns tensors joined along an axis that they have.

    Args:
        xs: a list or tuple of tensors; they are cast to their common dtype. The sizes of all
            other axes must be equal.
        axis: axis to join along. Default: `0`.

    Returns:
        A tensor of the common dtype; sparse where one of the tensors is.

    Raises:
        ValueError: for an axis that they do not have.

    Example:
        >>> ops.concatenate([[[1, 2]], [[3, 4]]], axis=0).numpy().tolist()
        [[1, 2], [3, 4]]
        >>> ops.concatenate([[[1, 2]], [[3, 4]]], axis=-1).numpy().tolist()
        [[1, 2, 3, 4]]
    """
    xs = promote_tensors(*xs)
    axis = one_axis(axis, xs[0].shape.rank)
    if any(map(sparse.is_sparse, xs)):
        return sparse.concatenated(xs, axis)
    return tf.concat(xs, axis)


@symbolic_op
def stack(x: Sequence[Any], axis: int = 0) -> tf.Tensor:
    """Returns tensors of equal shapes joined along a new axis.

    Args:
        x: a list or tuple of tensors; they are cast to their common dtype.
        axis: position of the new axis in the result. Default: `0`.

    Returns:
        A tensor of the common dtype with one axis more.

    Raises:
        ValueError: for a position that the result does not have.

    Example:
        >>> ops.stack([[1, 2], [3, 4]]).numpy().tolist()
        [[1, 2], [3, 4]]
        >>> ops.stack([[1, 2], [3, 4]], axis=1).numpy().tolist()
        [[1, 3], [2, 4]]
    """
    if isinstance(x, tf.Tensor):
        x = tf.unstack(x)
    x = promote_tensors(*x)
    return tf.stack(x, *positive_axes([axis], x[0].shape.rank + 1))


@symbolic_op
def append(x1: Any, x2: Any, axis: int | None = None) -> tf.Tensor:
    """Returns `x2` after `x1` along an axis.

    Args:
        x1: a tensor of any shape.
        x2: a tensor with the sizes of `x1`, except along `axis`.
        axis: axis to join along; `None` to flatten both first.

    Returns:
        A tensor of the common dtype of both.

    Example:
        >>> ops.append([[1, 2]], [[3, 4]], axis=0).numpy().tolist()
        [[1, 2], [3, 4]]
        >>> ops.append([[1, 2]], 3).numpy().tolist()
        [1, 2, 3]
    """
    x1, x2 = promote_tensors(x1, x2)
    if axis is None:
        return tf.concat([tf.reshape(x1, [-1]), tf.reshape(x2, [-1])], 0)
    return tf.concat([x1, x2], *positive_axes([axis], x1.shape.rank))


@symbolic_op
def hstack(xs: Sequence[Any]) -> tf.Tensor:
    """Returns tensors joined side by side: along the second axis, vectors along their only one.

    Args:
        xs: a list or tuple of tensors; they are cast to their common dtype.

    Returns:
        A tensor of the common dtype.

    Example:
        >>> ops.hstack([[1, 2], [3]]).numpy().tolist()
        [1, 2, 3]
        >>> ops.hstack([[[1], [2]], [[3], [4]]]).numpy().tolist()
        [[1, 3], [2, 4]]
    """
    xs = promote_tensors(*xs)
    return tf.concat(xs, 0 if xs[0].shape.rank == 1 else 1)


@symbolic_op
def vstack(xs: Sequence[Any]) -> tf.Tensor:
    """Returns tensors joined one below the other: along the first axis, vectors as rows.

    Args:
        xs: a list or tuple of tensors; they are cast to their common dtype.

    Returns:
        A tensor of the common dtype with at least two axes.

    Example:
        >>> ops.vstack([[1, 2], [3, 4]]).numpy().tolist()
        [[1, 2], [3, 4]]
    """
    return tf.concat([x[None] if x.shape.rank == 1 else x for x in promote_tensors(*xs)], 0)


def _with_three_axes(x: Any) -> tf.Tensor:
    if x.shape.rank == 0:
        return tf.reshape(x, [1, 1, 1])
    return x[None, :, None] if x.shape.rank == 1 else x[..., None] if x.shape.rank == 2 else x


@symbolic_op
def dstack(xs: Sequence[Any]) -> tf.Tensor:
    """Returns tensors joined in depth: along the third axis.

    A vector of `n` elements is given the shape `(1, n, 1)`, a matrix a third axis of size 1.

    Args:
        xs: a list or tuple of tensors; they are cast to their common dtype.

    Returns:
        A tensor of the common dtype with at least three axes.

    Example:
        >>> ops.dstack([[1, 2], [3, 4]]).numpy().tolist()
        [[[1, 3], [2, 4]]]
    """
    return tf.concat([_with_three_axes(x) for x in promote_tensors(*xs)], 2)


@symbolic_op
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[tf.Tensor]:
    """Returns the parts of a tensor that is cut along an axis.

    Args:
        x: a tensor with at least one axis.
        indices_or_sections: number of equal parts, or the ascending positions to cut at.
        axis: axis to cut. Default: `0`.

    Returns:
        A list of tensors of the dtype of `x`. `k` positions give `k + 1` parts.

    Raises:
        ValueError: when the axis does not divide into equal parts, or does not exist.

    Example:
        >>> [part.numpy().tolist() for part in ops.split([1, 2, 3, 4], 2)]
        [[1, 2], [3, 4]]
        >>> [part.numpy().tolist() for part in ops.split([1, 2, 3, 4], [1, 3])]
        [[1], [2, 3], [4]]
    """
    x = as_tensor(x)
    (axis,) = positive_axes([axis], x.shape.rank)
    if isinstance(indices_or_sections, int):
        size = x.shape[axis]
        if size is not None and size % indices_or_sections:
            raise ValueError(
                f"Axis {axis} does not divide into {indices_or_sections} equal parts. "
                f"Received: x.shape={x.shape}"
            )
        return tf.split(x, indices_or_sections, axis)
    if isinstance(indices_or_sections, tf.Tensor):
        count = indices_or_sections.shape[0]
        indices = tf.unstack(indices_or_sections, count)
    else:
        indices = [int(i) for i in indices_or_sections]
    budget.check_outputs(len(indices) + 1)
    leading = (slice(None),) * axis
    starts, stops = [None, *indices], [*indices, None]
    parts = [x[(*leading, slice(*cut))] for cut in zip(starts, stops, strict=True)]
    if x.shape[axis] is None and indices == sorted(indices) and isinstance(indices[0], int):
        # All parts but the last are between two indices, however long the axis is.
        for i, (start, stop) in enumerate(zip([0, *indices[:-1]], indices, strict=True)):
            known = [*x.shape[:axis], stop - start, *x.shape[axis + 1 :]]
            parts[i] = tf.ensure_shape(parts[i], known if start >= 0 else x.shape)
    return parts


@symbolic_op
def array_split(x: Any, indices_or_sections: int, axis: int = 0) -> list[tf.Tensor]:
    """Returns the parts of a tensor cut along an axis into parts of nearly equal size.

    Sizes differ by at most one, and the larger parts come first.

    Args:
        x: a tensor with at least one axis.
        indices_or_sections: number of parts.
        axis: axis to cut. Default: `0`.

    Returns:
        A list of tensors of the dtype of `x`.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> [part.numpy().tolist() for part in ops.array_split([1, 2, 3, 4, 5], 3)]
        [[1, 2], [3, 4], [5]]
    """
    x = as_tensor(x)
    (axis,) = positive_axes([axis], x.shape.rank)
    total = static_or_dynamic_shape(x)[axis]
    budget.check_outputs(indices_or_sections)
    size, larger = total // indices_or_sections, total % indices_or_sections
    if isinstance(total, int):
        sizes: Any = [size + 1] * larger + [size] * (indices_or_sections - larger)
    else:
        sizes = size + tf.cast(tf.range(indices_or_sections) < larger, total.dtype)
    return tf.split(x, sizes, axis, num=indices_or_sections)


@symbolic_op
def hsplit(x: Any, indices_or_sections: Any) -> list[tf.Tensor]:
    """Returns the parts of a tensor cut along its second axis, of a vector along its only one.

    Args:
        x: a tensor with at least one axis.
        indices_or_sections: number of equal parts, or the ascending positions to cut at.

    Returns:
        A list of tensors of the dtype of `x`.

    Raises:
        ValueError: when the axis does not divide into equal parts.

    Example:
        >>> [part.numpy().tolist() for part in ops.hsplit([[1, 2, 3, 4]], 2)]
        [[[1, 2]], [[3, 4]]]
    """
    x = as_tensor(x)
    return split(x, indices_or_sections, 0 if x.shape.rank == 1 else 1)


@symbolic_op
def vsplit(x: Any, indices_or_sections: Any) -> list[tf.Tensor]:
    """Returns the parts of a tensor cut along its first axis.

    Args:
        x: a tensor with at least one axis.
        indices_or_sections: number of equal parts, or the ascending positions to cut at.

    Returns:
        A list of tensors of the dtype of `x`.

    Raises:
        ValueError: when the axis does not divide into equal parts.

    Example:
        >>> [part.numpy().tolist() for part in ops.vsplit([[1, 2], [3, 4]], 2)]
        [[[1, 2]], [[3, 4]]]
    """
    return split(x, indices_or_sections, 0)


@symbolic_op
def dsplit(x: Any, indices_or_sections: Any) -> list[tf.Tensor]:
    """Returns the parts of a tensor cut along its third axis.

    Args:
        x: a tensor with at least three axes.
        indices_or_sections: number of equal parts, or the ascending positions to cut at.

    Returns:
        A list of tensors of the dtype of `x`.

    Raises:
        ValueError: when the axis does not divide into equal parts, or does not exist.

    Example:
        >>> [part.shape for part in ops.dsplit(tf.ones((2, 3, 4)), [1])]
        [TensorShape([2, 3, 1]), TensorShape([2, 3, 3])]
    """
    return split(x, indices_or_sections, 2)


@symbolic_op
def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[tf.Tensor]:
    """Returns the slices of a tensor along an axis, as a list.

    Args:
        x: a tensor with at least one axis.
        num: size of the axis, needed where it is not known.
        axis: axis to iterate over. Default: `0`.

    Returns:
        A list of tensors of the dtype of `x`, without the axis `axis`.

    Raises:
        ValueError: for an axis that `x` does not have, or whose size is not known.

    Example:
        >>> [part.numpy().tolist() for part in ops.unstack([[1, 2], [3, 4]], axis=1)]
        [[1, 3], [2, 4]]
    """
    x = as_tensor(x)
    return tf.unstack(x, num, *positive_axes([axis], x.shape.rank))


# --- Repeating, padding, turning ------------------------------------------------------------------


@symbolic_op
def tile(x: Any, repeats: Any) -> tf.Tensor:
    """Returns a tensor repeated as a whole along its axes.

    Args:
        x: a tensor of any shape.
        repeats: number of copies along each axis: integers or a tensor. If they are fewer or more
            than the axes of `x`, ones are prepended to the shorter of the two.

    Returns:
        A tensor of the dtype of `x`; its sizes are the sizes of `x` times `repeats`.

    Example:
        >>> ops.tile([1, 2], 2).numpy().tolist()
        [1, 2, 1, 2]
        >>> ops.tile([1, 2], (2, 1)).numpy().tolist()
        [[1, 2], [1, 2]]
    """
    x = as_tensor(x)
    repeats = as_sizes(repeats if _ndim(repeats) else [repeats])
    if tf.is_tensor(repeats):
        repeats = tf.unstack(repeats)
    missing = x.shape.rank - len(repeats)
    # As in NumPy, missing axes are added in front.
    x = tf.reshape(x, [1] * -missing + list(static_or_dynamic_shape(x))) if missing < 0 else x
    return tf.tile(x, [1] * missing + repeats)


@symbolic_op
def repeat(x: Any, repeats: Any, axis: int | None = None) -> tf.Tensor:
    """Returns a tensor with each slice along an axis repeated.

    Args:
        x: a tensor of any shape.
        repeats: number of copies, or a vector with a number for each slice.
        axis: axis of the slices; `None` for the single elements of the flattened tensor.

    Returns:
        A tensor of the dtype of `x`.

    Example:
        >>> ops.repeat([[1, 2], [3, 4]], 2).numpy().tolist()
        [1, 1, 2, 2, 3, 3, 4, 4]
        >>> ops.repeat([[1, 2], [3, 4]], [1, 2], axis=0).numpy().tolist()
        [[1, 2], [3, 4], [3, 4]]
    """
    x = as_tensor(x)
    if x.dtype == tf.uint16:  # TensorFlow has no kernel for it.
        return tf.cast(repeat(tf.cast(x, tf.uint32), repeats, axis), tf.uint16)
    if axis is not None and 0 in x.shape:  # TensorFlow would return no slices.
        return tf.gather(x, tf.repeat(tf.range(x.shape[axis]), repeats), axis=axis)
    result = tf.repeat(x, repeats, axis)
    counts = None if tf.is_tensor(repeats) else np.atleast_1d(repeats)
    if counts is not None and counts.size > 1:  # TensorFlow does not know the sum of the counts.
        shape = [None] if axis is None else x.shape.as_list()
        shape[axis or 0] = int(counts.sum())
        result = tf.ensure_shape(result, shape)
    return result


@symbolic_op
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> tf.Tensor:
    """Returns a tensor with a border.

    Args:
        x: a tensor of any shape.
        pad_width: for each axis, a pair of the numbers of elements before and after. One pair, or
            one number, applies to all axes. The numbers may be tensors.
        mode: `"constant"`, `"reflect"` (mirrored about the outermost element) or `"symmetric"`
            (mirrored with it). Default: `"constant"`.
        constant_values: value of a constant border; `None` for 0.

    Returns:
        A tensor of the dtype of `x`; each size grows by the sum of the pair of its axis.

    Raises:
        ValueError: for `constant_values` with a different mode.

    Example:
        >>> ops.pad([1, 2, 3], (1, 2)).numpy().tolist()
        [0, 1, 2, 3, 0, 0]
        >>> ops.pad([1, 2, 3], ((2, 0),), mode="reflect").numpy().tolist()
        [3, 2, 1, 2, 3]
    """
    x = as_tensor(x)
    require_integers(pad_width=pad_width)
    if mode != "constant" and constant_values is not None:
        raise ValueError(
            "Argument `constant_values` can only be provided when `mode == 'constant'`. "
            f"Received: mode={mode!r}"
        )
    if not _ndim(pad_width):
        pad_width = (pad_width, pad_width)
    if _ndim(pad_width) == 1:
        pad_width = (pad_width,)
    if not tf.is_tensor(pad_width):
        pad_width = [as_sizes(pair) for pair in pad_width]
        pad_width = pad_width * x.shape.rank if len(pad_width) == 1 else pad_width
    return tf.pad(
        x, tf.cast(pad_width, tf.int32), mode, 0 if constant_values is None else constant_values
    )


def _ndim(numbers: Any) -> int:
    """Returns the rank of a tensor, an array, or a nest of lists with numbers and scalar tensors in it."""
    if isinstance(numbers, (tuple, list)):
        return 1 + _ndim(numbers[0]) if numbers else 1
    return int(numbers.shape.rank) if tf.is_tensor(numbers) else np.ndim(numbers)


@symbolic_op
def roll(x: Any, shift: Any, axis: Any = None) -> tf.Tensor:
    """Returns a tensor shifted along axes; elements that leave at one end enter at the other.

    Args:
        x: a tensor of any shape.
        shift: number of positions, towards the end where positive; a tuple for several axes.
        axis: axis or axes to shift along; `None` to shift the flattened tensor.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> ops.roll([1, 2, 3, 4], 1).numpy().tolist()
        [4, 1, 2, 3]
        >>> ops.roll([[1, 2, 3], [4, 5, 6]], -1, axis=1).numpy().tolist()
        [[2, 3, 1], [5, 6, 4]]
    """
    x = as_tensor(x)
    if axis is not None:
        axes = positive_axes(np.atleast_1d(axis).tolist(), x.shape.rank)
        if not tf.is_tensor(shift) and (np.ndim(shift) or len(axes) > 1):
            shift, axes = (pair.tolist() for pair in np.broadcast_arrays(shift, axes))
            return tf.roll(x, shift, axes)
        return tf.roll(x, shift, axes if tf.is_tensor(shift) and shift.shape.rank else axes[0])
    # Without an axis, elements move from the end of a row to the next one.
    return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), static_or_dynamic_shape(x))


@symbolic_op
def flip(x: Any, axis: int | Sequence[int] | None = None) -> tf.Tensor:
    """Returns a tensor with the order of its elements reversed along axes.

    Args:
        x: a tensor of any shape.
        axis: axis or axes to reverse; `None` for all.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> ops.flip([[1, 2], [3, 4]]).numpy().tolist()
        [[4, 3], [2, 1]]
        >>> ops.flip([[1, 2], [3, 4]], axis=1).numpy().tolist()
        [[2, 1], [4, 3]]
    """
    x = as_tensor(x)
    if axis is None:
        axis = range(x.shape.rank)
    return tf.reverse(x, positive_axes(as_axes(axis), x.shape.rank))


@symbolic_op
def fliplr(x: Any) -> tf.Tensor:
    """Returns a tensor reversed along its second axis, from left to right.

    Args:
        x: a tensor with at least two axes.

    Returns:
        A tensor of the shape and dtype of `x`.

    Example:
        >>> ops.fliplr([[1, 2], [3, 4]]).numpy().tolist()
        [[2, 1], [4, 3]]
    """
    return tf.reverse(x, [1])


@symbolic_op
def flipud(x: Any) -> tf.Tensor:
    """Returns a tensor reversed along its first axis, upside down.

    Args:
        x: a tensor with at least one axis.

    Returns:
        A tensor of the shape and dtype of `x`.

    Example:
        >>> ops.flipud([[1, 2], [3, 4]]).numpy().tolist()
        [[3, 4], [1, 2]]
    """
    return tf.reverse(x, [0])


@symbolic_op
def rot90(array: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> tf.Tensor:
    """Returns a tensor rotated by multiples of 90 degrees in the plane of two axes.

    Args:
        array: a tensor with at least two axes.
        k: number of quarter turns from the first of the two axes towards the second; for a matrix
            that is counterclockwise. Default: `1`.
        axes: the two axes. Default: `(0, 1)`.

    Returns:
        A tensor of the dtype of `array`; an odd `k` exchanges the sizes of the two axes.

    Raises:
        ValueError: for fewer than two axes, or twice the same.

    Example:
        >>> ops.rot90([[1, 2], [3, 4]]).numpy().tolist()
        [[2, 4], [1, 3]]
    """
    array = as_tensor(array)
    if array.shape.rank < 2:
        raise ValueError(f"`array` must have at least 2 axes. Received: shape={array.shape}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different axes. Received: axes={axes}")
    first, second = positive_axes(axes, array.shape.rank, "axes")
    require_integers(k=k)
    # Python's remainder is not negative: -1 is three quarters.
    k %= 4
    if k == 2:
        return tf.reverse(array, [first, second])
    if k == 1:
        array = tf.reverse(array, [second])
    elif k == 3:
        array = tf.reverse(array, [first])
    return array if k == 0 else swapaxes(array, first, second)


# --- Bytes ----------------------------------------------------------------------------------------


@symbolic_op
def view(x: Any, dtype: Any = None) -> tf.Tensor:
    """Returns the bytes of a tensor read as a different dtype, without a conversion of values.

    Args:
        x: a tensor of any shape.
        dtype: dtype of the result; `None` for the dtype of `x`.

    Returns:
        A tensor of `dtype`. Its last axis grows or shrinks by the ratio of the sizes of the two
        dtypes.

    Raises:
        ValueError: when the last axis does not hold a whole number of the new elements.

    Example:
        >>> ops.view(tf.constant([1.0], "float32"), "int32").numpy().tolist()
        [1065353216]
        >>> ops.view(tf.constant([1, 256], "uint16"), "uint8").numpy().tolist()
        [1, 0, 0, 1]
    """
    x = as_tensor(x)
    target = x.dtype if dtype is None else tf.as_dtype(standardize_dtype(dtype))
    if target.size == x.dtype.size:
        return tf.bitcast(x, target)
    shape = static_or_dynamic_shape(x)
    if not shape or (isinstance(shape[-1], int) and shape[-1] * x.dtype.size % target.size):
        raise ValueError(
            f"The last axis does not hold a whole number of {target.name}. "
            f"Received: shape={x.shape}, dtype={x.dtype.name}"
        )
    if x.dtype.size > target.size:
        return tf.reshape(
            tf.bitcast(x, target), (*shape[:-1], shape[-1] * x.dtype.size // target.size)
        )
    ratio = target.size // x.dtype.size
    return tf.bitcast(tf.reshape(x, (*shape[:-1], shape[-1] // ratio, ratio)), target)
