"""Checks of slices and shapes that depend on values.

A slice that starts at a constant is checked by XLA as by TensorFlow. If the start is computed, XLA moves it
to where the slice fits. For XLA, `x[:n]` also has n rows where `x` has fewer, and the rest is zeros: a step
with such a slice is not left to XLA either, though TensorFlow's kernel does not refuse it but shortens it.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine.guards.check import Attributes, Check, Constants, Operation, size_of
from tfkit.src.engine.guards.sizes import Sizes

# Masks are 32-bit integers in effect: a slice has at most as many entries.
_MAX_NDIM = 32


def _slice(op: Operation) -> tf.Tensor:
    x, begin, size = op.inputs
    dims = tf.shape(x, begin.dtype)
    # A size of -1 means the rest. The difference cannot overflow, unlike the sum.
    return tf.reduce_all((begin >= 0) & (begin <= dims - tf.maximum(size, 0)) & (size >= -1))


def _flags(masks: list[int], count: tf.Tensor) -> list[tf.Tensor]:
    """Returns the bits of masks as vectors of zeros and ones, one for each entry of a slice."""
    bits = [[mask >> entry & 1 for entry in range(_MAX_NDIM)] for mask in masks]
    return tf.unstack(tf.constant(bits)[:, :count])


def _sliced_dims(shape: tf.Tensor, count: tf.Tensor, ellipsis: int, new_axis: int) -> tf.Tensor:
    """Returns the size of the dimension of each entry of a slice; any value for entries without one."""
    if not ellipsis and not new_axis:
        return shape[:count]
    # The number of entries may be known only at run time, so all of this is arithmetic on vectors: how many
    # dimensions each entry stands for, and their running sum, the index of its dimension.
    whole, takes = _flags([ellipsis, ~(ellipsis | new_axis)], count)
    # The ellipsis stands for the dimensions that are left.
    takes += whole * (tf.size(shape) - tf.reduce_sum(takes))
    # Sums of products: XLA must know the result when it compiles, and does not evaluate `cumsum` then. An
    # entry for a new axis may follow the last dimension; its size is 0.
    entries, places = tf.range(count), tf.range(tf.size(shape))
    before = tf.cast(entries[None] < entries[:, None], shape.dtype)
    dimension = tf.reduce_sum(before * takes, axis=1)
    return tf.reduce_sum(tf.cast(places == dimension[:, None], shape.dtype) * shape, axis=1)


def _strided(shape: tf.Tensor, begin: tf.Tensor, end: tf.Tensor, attr: Attributes) -> tf.Tensor:
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    begins, ends, ellipsis, new_axis, shrink = (attr[f"{name}_mask"].i for name in names)
    if begins & shrink:
        # The kernel uses the element at `begin`, XLA the first one. Indexing in Python never makes such a
        # slice.
        return tf.constant(False)
    none, count = ellipsis | new_axis, tf.size(begin)
    dims = tf.cast(_sliced_dims(tf.cast(shape, tf.int32), count, ellipsis, new_axis), begin.dtype)
    # Entries whose begin or end does not count: masked ones, new axes, the ellipsis; the end of an index does
    # not count either.
    one, any_begin, any_end = _flags([shrink, begins | none, ends | shrink | none], count)
    # An element must exist; a range may begin and end after the last element.
    fits_begin = (begin >= -dims) & (begin <= dims - tf.cast(one, dims.dtype))
    fits_end = (end >= -dims) & (end <= dims)
    return tf.reduce_all((fits_begin | (any_begin > 0)) & (fits_end | (any_end > 0)))


def _begin_and_end_are_constants(attr: Attributes, constants: Constants) -> bool:
    return 1 in constants and 2 in constants


def _band(op: Operation) -> tf.Tensor:
    x, num_lower, num_upper = op.inputs
    dims = tf.shape(x, num_lower.dtype)
    return (num_lower <= dims[-2]) & (num_upper <= dims[-1])


def _band_has_no_size(attr: Attributes, constants: Constants) -> bool:
    return all(place in constants and constants[place] <= 0 for place in (1, 2))


def _broadcast(op: Operation) -> tf.Tensor:
    x, shape = op.inputs
    # XLA would repeat `[3, 4]` to `[6, 4]`, but does not compile this for incompatible shapes.
    together = tf.raw_ops.BroadcastArgs(s0=tf.shape(x, shape.dtype), s1=shape)
    return tf.reduce_all(together == shape)


def _largest(op: Operation) -> tf.Tensor:
    x, k = op.inputs
    return (k >= 0) & (k <= tf.shape(x, k.dtype)[-1])


def _same_sizes(op: Operation) -> tf.Tensor:
    """Whether each name in an equation has one size. XLA would repeat axes of size 1."""
    equation = op.attr["equation"].s.decode().replace("...", ".")
    first: dict[str, Any] = {}
    equal = []
    for x, dims in zip(op.inputs, equation.partition("->")[0].split(","), strict=True):
        # `replace` has made one character of the ellipsis, so that indices in `dims` are indices of axes.
        behind = dims.find(".") if "." in dims else len(dims)
        for at, name in enumerate(dims):
            if name != ".":
                # Names after the ellipsis belong to the last axes, counted from the end.
                size = size_of(x, at if at < behind else at - len(dims))
                # The first axis with a name decides, and is equal to itself.
                equal.append(tf.equal(size, first.setdefault(name, size)))
    return tf.reduce_all(equal)


def _has_same_sizes(operation: Any, sizes: Sizes) -> bool:
    """Whether the trace knows that each name in an equation has one size."""
    equation = operation.node_def.attr["equation"].s.decode()
    first: dict[str, Any] = {}
    if "." in equation:
        return False
    for names, tensor in zip(equation.partition("->")[0].split(","), operation.inputs, strict=True):
        shape = sizes.of(tensor)
        if shape is None:
            return False
        if any(first.setdefault(*pair) != pair[1] for pair in zip(names, shape, strict=True)):
            return False
    return True


def _goes_together(operation: Any, sizes: Sizes) -> bool:
    """Whether the trace knows that a tensor can be broadcast to a shape."""
    shape, wanted = sizes.of(operation.inputs[0]), sizes.values_of(operation.inputs[1])
    if shape is None or wanted is None or len(shape) > len(wanted):
        return False
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return all(size in (1, other) for size, other in pairs)


_STRIDED_SLICE = Check(
    "an index outside of the sliced tensor",
    lambda op: _strided(tf.shape(op.inputs[0]), op.inputs[1], op.inputs[2], op.attr),
    settled=_begin_and_end_are_constants,
)
_BOUND = Check(
    "sorted rows that are more or fewer than the values",
    lambda op: tf.equal(size_of(op.inputs[0], 0), size_of(op.inputs[1], 0)),
)
_CLASSES = Check("logits without classes", lambda op: tf.greater(size_of(op.inputs[0], -1), 0))

SLICES = {
    "Slice": Check(
        "a slice that begins or ends outside of its tensor",
        _slice,
        settled=_begin_and_end_are_constants,
    ),
    "StridedSlice": _STRIDED_SLICE,
    "StridedSliceGrad": Check(
        "an index outside of the sliced tensor",
        lambda op: _strided(op.inputs[0], op.inputs[1], op.inputs[2], op.attr),
        settled=_begin_and_end_are_constants,
    ),
    "MatrixBandPart": Check("a band wider than the matrix", _band, settled=_band_has_no_size),
    "BroadcastTo": Check(
        "a shape that cannot be broadcast to", _broadcast, settled_by_sizes=_goes_together
    ),
    "Einsum": Check("different sizes for one name", _same_sizes, settled_by_sizes=_has_same_sizes),
    "TopKV2": Check(
        "a `k` that is negative, or larger than the last axis",
        _largest,
        settled=lambda attr, constants: 1 in constants,
    ),
    "LowerBound": _BOUND,
    "UpperBound": _BOUND,
    "Multinomial": _CLASSES,
    "StatelessMultinomial": _CLASSES,
    "Unique": Check("anything but a vector", lambda op: tf.equal(tf.rank(op.inputs[0]), 1)),
    "UniqueV2": Check(
        "anything but a vector where an axis is missing",
        lambda op: tf.equal(tf.rank(op.inputs[0]), 1) | (tf.size(op.inputs[1]) > 0),
    ),
}
