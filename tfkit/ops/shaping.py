"""Operations that move elements about: reshaping, joining, splitting, repeating, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit import budget
from tfkit.dtypes import standardize_dtype
from tfkit.ops import sparse
from tfkit.ops.arguments import positive_axes
from tfkit.ops.promotion import as_tensor, promote_tensors
from tfkit.symbolic import symbolic_op


def static_or_dynamic_shape(x: Any) -> tuple[Any, ...]:
    """Sizes of the axes: Python numbers where they are known, scalar tensors where not."""
    static = x.shape.as_list()
    if None not in static:
        return tuple(static)
    dynamic = tf.shape(x)
    return tuple(dynamic[i] if size is None else size for i, size in enumerate(static))


@symbolic_op
def reshape(x: Any, newshape: Any) -> tf.Tensor:
    """The elements of `x`, in order, in another shape; one size may be -1 and is worked out.

    Raises:
        ValueError: for two sizes that are to be worked out, or another negative one.
    """
    if isinstance(newshape, (tuple, list)):
        newshape = [-1 if size is None else size for size in newshape]
        known = [size for size in newshape if isinstance(size, int)]
        if known.count(-1) > 1 or any(size < -1 for size in known):
            raise ValueError(
                "The sizes in `newshape` must not be negative, save one -1 that is worked out. "
                f"Received: newshape={tuple(newshape)}"
            )
    if isinstance(x, tf.SparseTensor):
        return sparse.reshaped(x, newshape)
    return tf.reshape(x, newshape)


@symbolic_op
def ravel(x: Any) -> tf.Tensor:
    """All elements of `x` along one axis."""
    return tf.reshape(x, [-1])


@symbolic_op
def expand_dims(x: Any, axis: int | Sequence[int]) -> tf.Tensor:
    """`x` with a new axis of size 1 at each of the places `axis`.

    Raises:
        ValueError: for a place that the result does not have.
    """
    x = as_tensor(x)
    insert = sparse.expanded if isinstance(x, tf.SparseTensor) else tf.expand_dims
    if isinstance(axis, int):
        return insert(x, positive_axes([axis], x.shape.rank + 1)[0])
    for place in sorted(positive_axes(axis, x.shape.rank + len(axis))):
        x = insert(x, place)
    return x


@symbolic_op
def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> tf.Tensor:
    """`x` without its axes of size 1, or without those of them in `axis`.

    Raises:
        ValueError: when an axis in `axis` has another size than 1, or does not exist.
    """
    x = as_tensor(x)
    axes = [] if axis is None else [axis] if isinstance(axis, int) else list(axis)
    axes = positive_axes(axes, x.shape.rank)
    for a in axes:
        if x.shape[a] not in (1, None):
            raise ValueError(
                f"Cannot squeeze axis {a}, because the dimension is not 1. "
                f"Received: shape={x.shape}"
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
    """`x` with its axes in another order, reversed unless given.

    Raises:
        ValueError: when `axes` does not name each axis once.
    """
    x = as_tensor(x)
    if axes is not None:
        order = positive_axes(axes, x.shape.rank, "axes")
        if sorted(order) != list(range(x.shape.rank)):
            raise ValueError(
                f"`axes` must name each axis once. Received: axes={tuple(axes)}, x.shape={x.shape}"
            )
        axes = order
    if isinstance(x, tf.SparseTensor):
        return sparse.transposed(x, axes)
    return tf.transpose(x, axes)


@symbolic_op
def swapaxes(x: Any, axis1: int, axis2: int) -> tf.Tensor:
    """`x` with two axes exchanged.

    Raises:
        ValueError: for an axis that `x` has not.
    """
    x = as_tensor(x)
    axis1, axis2 = positive_axes([axis1, axis2], x.shape.rank)
    order = list(range(x.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return tf.transpose(x, order)


@symbolic_op
def moveaxis(x: Any, source: Any, destination: Any) -> tf.Tensor:
    """`x` with the axes `source` moved to the places `destination`, the others in order.

    Raises:
        ValueError: when the two differ in length, and for an axis that `x` has not or that is named
            twice.
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
        order.insert(place, axis)
    return tf.transpose(x, order)


@symbolic_op
def broadcast_to(x: Any, shape: Any) -> tf.Tensor:
    """`x` repeated along its axes of size 1, and along new leading axes, to `shape`."""
    return tf.broadcast_to(x, shape)


# --- Joining and splitting ------------------------------------------------------------------------


@symbolic_op
def concatenate(xs: Sequence[Any], axis: int = 0) -> tf.Tensor:
    """The tensors joined along an axis that they have.

    Sparse tensors make a sparse one.

    Raises:
        ValueError: for an axis that they have not.
    """
    xs = promote_tensors(*xs)
    (axis,) = positive_axes([axis], xs[0].shape.rank)
    if any(map(sparse.is_sparse, xs)):
        return sparse.concatenated(xs, axis)
    return tf.concat(xs, axis)


@symbolic_op
def stack(x: Sequence[Any], axis: int = 0) -> tf.Tensor:
    """The tensors joined along a new axis.

    Raises:
        ValueError: for a place that the result does not have.
    """
    if isinstance(x, tf.Tensor):
        x = tf.unstack(x)
    x = promote_tensors(*x)
    return tf.stack(x, *positive_axes([axis], x[0].shape.rank + 1))


@symbolic_op
def append(x1: Any, x2: Any, axis: int | None = None) -> tf.Tensor:
    """`x2` after `x1` along `axis`; both flattened unless given."""
    x1, x2 = promote_tensors(x1, x2)
    if axis is None:
        return tf.concat([tf.reshape(x1, [-1]), tf.reshape(x2, [-1])], 0)
    return tf.concat([x1, x2], *positive_axes([axis], x1.shape.rank))


@symbolic_op
def hstack(xs: Sequence[Any]) -> tf.Tensor:
    """The tensors joined along their second axis, vectors along their first."""
    xs = promote_tensors(*xs)
    return tf.concat(xs, 0 if xs[0].shape.rank == 1 else 1)


@symbolic_op
def vstack(xs: Sequence[Any]) -> tf.Tensor:
    """The tensors joined along their first axis; vectors are rows."""
    return tf.concat([x[None] if x.shape.rank == 1 else x for x in promote_tensors(*xs)], 0)


def _with_three_axes(x: Any) -> tf.Tensor:
    if x.shape.rank == 0:
        return tf.reshape(x, [1, 1, 1])
    return x[None, :, None] if x.shape.rank == 1 else x[..., None] if x.shape.rank == 2 else x


@symbolic_op
def dstack(xs: Sequence[Any]) -> tf.Tensor:
    """The tensors joined along their third axis, which they get if they have none."""
    return tf.concat([_with_three_axes(x) for x in promote_tensors(*xs)], 2)


@symbolic_op
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[tf.Tensor]:
    """`x` cut along `axis`.

    Args:
        x: a tensor.
        indices_or_sections: the number of equal parts, or the places to cut at.
        axis: the axis to cut.

    Raises:
        ValueError: when the axis does not divide into equal parts, or does not exist.
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
        # All parts but the last lie between two numbers, however long the axis is.
        for i, (start, stop) in enumerate(zip([0, *indices[:-1]], indices, strict=True)):
            known = [*x.shape[:axis], stop - start, *x.shape[axis + 1 :]]
            parts[i] = tf.ensure_shape(parts[i], known if start >= 0 else x.shape)
    return parts


@symbolic_op
def array_split(x: Any, indices_or_sections: int, axis: int = 0) -> list[tf.Tensor]:
    """`x` cut along `axis` into parts whose sizes differ by at most one, larger ones first.

    Raises:
        ValueError: for an axis that `x` has not.
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
    """`x` cut along its second axis, a vector along its first; see `split`."""
    x = as_tensor(x)
    return split(x, indices_or_sections, 0 if x.shape.rank == 1 else 1)


@symbolic_op
def vsplit(x: Any, indices_or_sections: Any) -> list[tf.Tensor]:
    """`x` cut along its first axis; see `split`."""
    return split(x, indices_or_sections, 0)


@symbolic_op
def dsplit(x: Any, indices_or_sections: Any) -> list[tf.Tensor]:
    """`x` cut along its third axis; see `split`."""
    return split(x, indices_or_sections, 2)


@symbolic_op
def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[tf.Tensor]:
    """The slices of `x` along `axis`, as a list; `num` of them where the size is not known."""
    x = as_tensor(x)
    return tf.unstack(x, num, *positive_axes([axis], x.shape.rank))


# --- Repeating, padding, turning ------------------------------------------------------------------


@symbolic_op
def tile(x: Any, repeats: Any) -> tf.Tensor:
    """`x` repeated as a whole, as often along each axis as `repeats` says."""
    x = as_tensor(x)
    repeats = [repeats] if isinstance(repeats, int) else list(repeats)
    missing = x.shape.rank - len(repeats)
    x = tf.reshape(x, [1] * -missing + list(static_or_dynamic_shape(x))) if missing < 0 else x
    return tf.tile(x, [1] * missing + repeats)


@symbolic_op
def repeat(x: Any, repeats: Any, axis: int | None = None) -> tf.Tensor:
    """Each slice of `x` along `axis` repeated; each element, flattened, unless given."""
    x = as_tensor(x)
    if x.dtype == tf.uint16:  # TensorFlow has no kernel for it.
        return tf.cast(tf.repeat(tf.cast(x, tf.uint32), repeats, axis), tf.uint16)
    if axis is not None and 0 in x.shape:  # TensorFlow would give no slices.
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
    """`x` with a border.

    Args:
        x: a tensor.
        pad_width: for each axis how many elements before and after; one pair serves all axes, and
            so does one number.
        mode: `"constant"`, `"reflect"` or `"symmetric"`.
        constant_values: what a constant border is made of, 0 unless given.

    Raises:
        ValueError: for `constant_values` with another mode.
    """
    x = as_tensor(x)
    if mode != "constant" and constant_values is not None:
        raise ValueError(
            f"`constant_values` applies to mode='constant' only. Received: mode={mode!r}"
        )
    if isinstance(pad_width, int):
        pad_width = (pad_width, pad_width)
    if not isinstance(pad_width, tf.Tensor) and np.ndim(pad_width) == 1:
        pad_width = (tuple(pad_width),)
    if not isinstance(pad_width, tf.Tensor) and len(pad_width) == 1:
        pad_width = tuple(pad_width) * x.shape.rank
    return tf.pad(
        x, tf.cast(pad_width, tf.int32), mode, 0 if constant_values is None else constant_values
    )


@symbolic_op
def roll(x: Any, shift: Any, axis: Any = None) -> tf.Tensor:
    """`x` shifted along `axis`, what leaves at one end coming in at the other."""
    x = as_tensor(x)
    if axis is not None:
        axes = positive_axes(np.atleast_1d(axis).tolist(), x.shape.rank)
        if not tf.is_tensor(shift) and (np.ndim(shift) or len(axes) > 1):
            shift, axes = (pair.tolist() for pair in np.broadcast_arrays(shift, axes))
            return tf.roll(x, shift, axes)
        return tf.roll(x, shift, axes if tf.is_tensor(shift) and shift.shape.rank else axes[0])
    return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), static_or_dynamic_shape(x))


@symbolic_op
def flip(x: Any, axis: int | Sequence[int] | None = None) -> tf.Tensor:
    """`x` reversed along `axis` (all axes unless given).

    Raises:
        ValueError: for an axis that `x` has not.
    """
    x = as_tensor(x)
    if axis is None:
        axis = range(x.shape.rank)
    return tf.reverse(x, positive_axes([axis] if isinstance(axis, int) else axis, x.shape.rank))


@symbolic_op
def fliplr(x: Any) -> tf.Tensor:
    """`x` reversed along its second axis."""
    return tf.reverse(x, [1])


@symbolic_op
def flipud(x: Any) -> tf.Tensor:
    """`x` reversed along its first axis."""
    return tf.reverse(x, [0])


@symbolic_op
def rot90(array: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> tf.Tensor:
    """`array` turned by `k` quarters from the first of two axes towards the second.

    Raises:
        ValueError: for fewer than two axes, or twice the same.
    """
    array = as_tensor(array)
    if array.shape.rank < 2:
        raise ValueError(f"`array` must have at least 2 axes. Received: shape={array.shape}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different axes. Received: axes={axes}")
    first, second = positive_axes(axes, array.shape.rank, "axes")
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
    """The bytes of `x` read as another dtype; the last axis grows or shrinks with its size.

    Raises:
        ValueError: when the last axis does not hold a whole number of the new elements.
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
