"""Checks of indices: gathers, scatters, segments, labels, counts, permutations and lists.

For an index out of range, XLA's gather returns the nearest element, and its scatter drops the value.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine.guards.check import (
    Attributes,
    Check,
    Constants,
    Operation,
    known_size,
    known_variable_size,
    size_of,
    within,
)

Bound = tuple[tf.Tensor, int | None]

_OUTSIDE = "an index outside of [0, size)"


def _gather(op: Operation) -> tf.Tensor:
    return within(op.inputs[1], size_of(op.inputs[0], _axis(op)))


def _gather_bound(op: Operation) -> Bound:
    return op.inputs[1], known_size(op.inputs[0], _axis(op))


def _axis(op: Operation) -> Any:
    return op.inputs[2] if len(op.inputs) > 2 else 0


def _resource_gather(op: Operation) -> tf.Tensor:
    handle, indices = op.inputs
    # With batch dimensions the kernel only checks the position in memory: it accepts more than this.
    return within(indices, tf.raw_ops.VariableShape(input=handle)[op.attr["batch_dims"].i])


def _resource_gather_bound(op: Operation) -> Bound:
    return op.inputs[1], known_variable_size(op.inputs[0], op.attr["batch_dims"].i)


def _within_shape(indices: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Whether each row of indices is the position of an element, or of a slice, of a tensor of a shape."""
    # Indices may have fewer entries than there are axes: each row is then the position of a slice.
    return within(indices, shape[: tf.shape(indices)[-1]])


def _rows_bound(op: Operation) -> Bound:
    """Returns the bound if the indices are indices of rows."""
    params, indices = op.inputs[:2]
    return indices, known_size(params, 0) if known_size(indices, -1) == 1 else None


def _gather_nd(op: Operation) -> tf.Tensor:
    params, indices = op.inputs
    # Slices may have no elements; the kernel then refuses any index.
    return _within_shape(indices, tf.shape(params)) & (tf.size(params) > 0)


def _ignores(attr: Attributes, constants: Constants) -> bool:
    return attr["bad_indices_policy"].s == b"IGNORE"


def _resource_scatter(op: Operation) -> tf.Tensor:
    handle, indices = op.inputs[:2]
    return within(indices, tf.raw_ops.VariableShape(input=handle)[0])


def _resource_scatter_div(op: Operation) -> tf.Tensor:
    accepted, updates = _resource_scatter(op), op.inputs[2]
    # Floats may be divided by zero: the result is infinite in both.
    return accepted & tf.reduce_all(updates != 0) if updates.dtype.is_integer else accepted


def _segments(op: Operation) -> tf.Tensor:
    _, ids, num_segments = op.inputs
    # A row with a negative id belongs to no segment, both for the kernel and for XLA.
    return tf.reduce_all(ids < tf.cast(num_segments, ids.dtype))


def _sparse_to_dense(op: Operation) -> tf.Tensor:
    indices, shape = op.inputs[:2]
    # A vector contains positions in a vector, a scalar one of them.
    indices = tf.reshape(indices, [-1, tf.size(shape)])  # (rows, axes)
    accepted = within(indices, shape)
    if not op.attr["validate_indices"].b:
        return accepted
    # Positions in memory, which must grow: this excludes repeated indices as well.
    position = tf.reduce_sum(indices * tf.math.cumprod(shape, exclusive=True, reverse=True), 1)
    return accepted & tf.reduce_all(position[1:] > position[:-1])


def _permutation(op: Operation) -> tf.Tensor:
    (x,), (inverse,) = op.inputs, op.outputs
    # If x is not a permutation, some index does not occur in it, and no entry of `inverse` leads to it.
    return tf.reduce_all(tf.gather(x, inverse) == tf.range(tf.size(x, x.dtype)))


def _sequences(op: Operation) -> tf.Tensor:
    x, lengths = op.inputs
    # A length may be the whole size, unlike an index.
    return within(lengths, size_of(x, op.attr["seq_dim"].i) + 1)


def _item(op: Operation) -> tf.Tensor:
    return within(op.inputs[1], tf.raw_ops.TensorListLength(input_handle=op.inputs[0]))


def _has_shape(shape: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
    """Whether the shape of a list's elements is known from an element, or from an argument."""
    # An empty list has no element that has a shape.
    return (length > 0) | tf.reduce_all(shape >= 0)


def _items(op: Operation) -> tf.Tensor:
    return _item(op) & _has_shape(op.inputs[2], tf.size(op.inputs[1]))


def _stack(op: Operation) -> tf.Tensor:
    length = tf.raw_ops.TensorListLength(input_handle=op.inputs[0])
    expected, accepted = op.attr["num_elements"].i, _has_shape(op.inputs[1], length)
    # -1 stands for any number of elements.
    return accepted if expected < 0 else accepted & tf.equal(length, expected)


def _stacks_any(attr: Attributes, constants: Constants) -> bool:
    return attr["num_elements"].i < 0 and 1 in constants and bool((constants[1] >= 0).all())


def _list_elements(op: Operation) -> tf.Tensor:
    tensor, shape = op.inputs
    shape = tf.reshape(shape, [-1])  # The scalar -1 means an unknown shape.
    # The first axis counts the elements of the list; the declared shape is the shape of one element.
    return tf.reduce_all((shape < 0) | (shape == tf.shape(tensor, shape.dtype)[1:]))


def _of_unknown_shape(attr: Attributes, constants: Constants) -> bool:
    return 1 in constants and bool((constants[1] < 0).all()) and constants[1].ndim == 0


_GATHER = Check(_OUTSIDE, _gather, bound=_gather_bound)
_SCATTER_ND = Check(
    _OUTSIDE, lambda op: _within_shape(op.inputs[0], op.inputs[2]), settled=_ignores
)
_TENSOR_SCATTER = Check(
    _OUTSIDE,
    lambda op: _within_shape(op.inputs[1], tf.shape(op.inputs[0])),
    settled=_ignores,
    bound=_rows_bound,
)
_RESOURCE_SCATTER = Check(
    _OUTSIDE,
    _resource_scatter,
    bound=lambda op: (op.inputs[1], known_variable_size(op.inputs[0], 0)),
)
_RESOURCE_SCATTER_ND = Check(
    _OUTSIDE,
    lambda op: _within_shape(op.inputs[1], tf.raw_ops.VariableShape(input=op.inputs[0])),
    settled=_ignores,
)
_COUNT = Check("a negative value among those counted", lambda op: tf.reduce_all(op.inputs[0] >= 0))
_SEGMENTS = Check("the id of a segment that is too large", _segments)
_ITEM = Check("an index outside of a list", _item)

INDICES = {
    "Gather": _GATHER,
    "GatherV2": _GATHER,
    "GatherNd": Check(_OUTSIDE, _gather_nd, settled=_ignores),
    "ResourceGather": Check(_OUTSIDE, _resource_gather, bound=_resource_gather_bound),
    "ScatterNd": _SCATTER_ND,
    **{f"TensorScatter{name}": _TENSOR_SCATTER for name in ("Add", "Max", "Min", "Sub", "Update")},
    **{
        f"ResourceScatter{name}": _RESOURCE_SCATTER
        for name in ("Add", "Max", "Min", "Mul", "Sub", "Update")
    },
    "ResourceScatterDiv": Check(
        "an index outside of [0, size), or an integer divided by zero", _resource_scatter_div
    ),
    **{f"ResourceScatterNd{name}": _RESOURCE_SCATTER_ND for name in ("Add", "Sub", "Update")},
    **{f"UnsortedSegment{name}": _SEGMENTS for name in ("Max", "Min", "Prod", "Sum")},
    "SparseSoftmaxCrossEntropyWithLogits": Check(
        "a label outside of [0, number of classes)",
        lambda op: within(op.inputs[1], size_of(op.inputs[0], -1)),
        bound=lambda op: (op.inputs[1], known_size(op.inputs[0], -1)),
    ),
    "SparseToDense": Check(
        "indices outside of the shape, repeated or out of order", _sparse_to_dense
    ),
    "Bincount": _COUNT,
    "DenseBincount": _COUNT,
    "DynamicPartition": Check(
        "the index of a partition outside of [0, num_partitions)",
        lambda op: within(op.inputs[1], op.attr["num_partitions"].i),
    ),
    "InvertPermutation": Check(
        "values that are not a permutation",
        _permutation,
        settled=lambda attr, constants: 0 in constants,
    ),
    "ReverseSequence": Check("a length outside of [0, size]", _sequences),
    "TensorListGetItem": _ITEM,
    "TensorListSetItem": _ITEM,
    "TensorListGather": Check("an index outside of a list, or neither indices nor a shape", _items),
    "TensorListStack": Check(
        "a list of a different length, or an empty list without a shape",
        _stack,
        settled=_stacks_any,
    ),
    "TensorListFromTensor": Check(
        "elements of a different shape", _list_elements, settled=_of_unknown_shape
    ),
    "TensorListSplit": Check(
        "lengths that do not add up to the number of rows",
        lambda op: tf.equal(
            tf.reduce_sum(op.inputs[2]), tf.shape(op.inputs[0], op.inputs[2].dtype)[0]
        ),
    ),
}
