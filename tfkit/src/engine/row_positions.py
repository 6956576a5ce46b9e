"""The rules for operations that move values, among the rules of `row_rules.py`: where rows end up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.engine.row_kinds import EQUAL, Kind, axis_of_none, joint_copies, mixed, static_value


def moved(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind | None:
    """Returns the kind of the result of an operation that moves rows; `None` for other operations.

    Args:
        op: the operation.
        tensor: its result.
        kinds: the kinds of its inputs, none of them an aggregate.
    """
    if op.type in _JOINING:
        return _joined(op, kinds)
    if op.type in _LOOKING_UP and (kinds[0] == EQUAL or op.type == "OneHot"):
        return _looked_up(op, kinds)
    rule, value = _RULES.get(op.type), _index_of_value(op)
    if rule is None or kinds[value].form != "rows":
        return None
    if kinds[value].axis is None or op.inputs[value].shape.rank is None:
        # Unknown axes have unknown sizes: the only one in the result must be the axis of the rows.
        return Kind("rows", kinds[value].degree, axis_of_none(tensor.shape), kinds[value].copies)
    return rule(op, tensor, kinds)


def _at(kind: Kind, axis: int | None) -> Kind:
    return kind._replace(axis=axis)


def _transposed(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    order = static_value(op.inputs[1])
    axis = None if order is None else [int(it) for it in order].index(kinds[0].axis or 0)
    return _at(kinds[0], axis)


def _reshaped(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind after a reshape, which may give each row several, or divide the rows."""
    kind, shape = kinds[0], tensor.shape
    sizes = op.inputs[0].shape
    if shape.rank is None:
        return _at(kind, None)
    # Axes before the axis of the rows, such as time steps, become a part of it.
    if kind.axis:
        times = sizes[: kind.axis].num_elements()
        if shape.rank and shape[0] is None and times and kind.copies > 0:
            return Kind("rows", kind.degree, 0, kind.copies * times)
        return _at(kind, axis_of_none(shape))
    axis = 0 if shape.rank and shape[0] is None else axis_of_none(shape)
    if axis is None:
        return Kind("unknown", op=op)
    first, before, after = shape[:axis].num_elements(), sizes[1:].num_elements(), shape[axis + 1 :]
    if first != 1:
        # Axes in front of the rows: several copies of each row were joined before, and are separated again.
        # Otherwise neighbouring rows would be put into different groups.
        is_undone = kind.copies == -1 or (kind.copies and kind.copies % (first or 0) == 0)
        copies = -1 if kind.copies == -1 else kind.copies // (first or 1)
        return Kind("rows", kind.degree, axis, copies) if is_undone else mixed(op)
    size = kind.copies * before if before and kind.copies > 0 else kind.size
    if not kind.copies or size is None or not after.num_elements():
        copies = 0 if kind.copies == 0 else -1
        return Kind("rows", kind.degree, axis, copies, size=size)
    # The values of a row are divided among whole rows of the result, or a row of the result has values of
    # several.
    each = size / after.num_elements()
    if each < 1 or each % 1:
        return mixed(op)
    return Kind("rows", kind.degree, axis, int(each))


def _expanded(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    new_axis = static_value(op.inputs[1])
    if new_axis is None or kinds[0].axis is None:
        return _at(kinds[0], axis_of_none(tensor.shape))
    new_axis = int(np.ravel(new_axis)[0]) % (op.inputs[0].shape.rank + 1)
    return _at(kinds[0], kinds[0].axis + (new_axis <= kinds[0].axis))


def _squeezed(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    axis, sizes = kinds[0].axis or 0, op.inputs[0].shape.as_list()
    given = [it % len(sizes) for it in op.get_attr("squeeze_dims")]
    removed = given or [index for index, size in enumerate(sizes) if size == 1]
    return _at(kinds[0], axis - sum(it < axis for it in removed))


def _repeated(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    times = static_value(op.inputs[1])
    if times is None or kinds[0].copies < 1:
        return kinds[0]
    return kinds[0]._replace(copies=kinds[0].copies * int(times[kinds[0].axis]))


def _broadcast(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    if tensor.shape.rank is None or kinds[0].axis is None:
        return _at(kinds[0], axis_of_none(tensor.shape))
    return _at(kinds[0], kinds[0].axis + tensor.shape.rank - op.inputs[0].shape.rank)


def _part(op: Any, kind: Kind) -> Kind:
    """Returns the kind of a part of the rows."""
    # Where two batches were joined, one half has each row of the batch once. In a single batch, a part of a
    # replica's rows is not the part that one device would have cut out of all rows.
    return mixed(op) if kind.copies == 1 else kind._replace(copies=min(kind.copies, 1))


def _sliced(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    kind, axis = kinds[0], kinds[0].axis
    begin, size = (tf.get_static_value(it, partial=True) for it in op.inputs[1:3])
    is_from_first = begin is not None and begin[axis] == 0
    is_whole = _is_number_of_rows(kinds[2]) or (size is not None and size[axis] == -1)
    return kind if is_from_first and is_whole else _part(op, kind)


def _strided(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind after indexing: `x[:, 0]`, `x[..., tf.newaxis]`, `x[::-1]`."""
    kind, rank = kinds[0], op.inputs[0].shape.rank
    begin, end, strides = (tf.get_static_value(it, partial=True) for it in op.inputs[1:4])
    count = op.inputs[1].shape[0]
    if count is None:
        return Kind("unknown", op=op)

    def has(mask: str, entry: int) -> bool:
        return bool(op.get_attr(f"{mask}_mask") >> entry & 1)

    # An entry is an index, a range, a new axis or the ellipsis, which stands for all axes that no other
    # entry names. `source` and `result` count the axes before and after.
    entries = range(count)
    added = sum(has("new_axis", it) for it in entries if not has("ellipsis", it))
    ellipses = sum(has("ellipsis", it) for it in entries)
    skipped = rank - (count - added - ellipses)
    source = result = 0
    for entry in entries:
        if has("ellipsis", entry):
            if source <= kind.axis < source + skipped:  # type: ignore[operator]
                return _at(kind, result + kind.axis - source)  # type: ignore[operator]
            source, result = source + skipped, result + skipped
        elif has("new_axis", entry):
            result += 1
        elif source == kind.axis:
            stride = None if strides is None else strides[entry]
            ends = has("end", entry) or (
                _is_number_of_rows(kinds[2]) and (end is None or end[entry] is None)
            )
            starts = has("begin", entry) or (begin is not None and begin[entry] == 0)
            if has("shrink_axis", entry) or stride != 1 or not (starts and ends):
                return _at(_part(op, kind), result)
            return _at(kind, result)
        else:
            source, result = source + 1, result + (not has("shrink_axis", entry))
    return _at(kind, result + kind.axis - source)  # type: ignore[operator]


def _is_number_of_rows(sizes: Kind) -> bool:
    return sizes.form == "shape" and sizes.copies == 1


def _index_of_value(op: Any) -> int:
    # The axis is the first input of `Split`, and the last one of `SplitV`.
    return 1 if op.type == "Split" else 0


def _split(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    value = _index_of_value(op)
    kind, rank = kinds[value], op.inputs[value].shape.rank
    axis = static_value(op.inputs[0 if op.type == "Split" else 2])
    if axis is None or rank is None or kind.axis is None:
        return Kind("unknown", op=op)
    if int(axis) % rank != kind.axis:
        return kind
    if kind.copies > 0 and not kind.copies % len(op.outputs) and len(op.outputs) > 1:
        return kind._replace(copies=kind.copies // len(op.outputs))
    return kind if len(op.outputs) == 1 else _part(op, kind)


def _unstacked(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    axis = op.get_attr("axis") % op.inputs[0].shape.rank
    if axis == kinds[0].axis:
        return mixed(op)
    return _at(kinds[0], kinds[0].axis - (axis < kinds[0].axis))


def _gathered(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of entries of values with rows, chosen by indices."""
    kind, indices = kinds[0], kinds[1]
    rank = op.inputs[0].shape.rank
    if op.type != "GatherV2":
        return Kind("unknown", op=op)
    axis = static_value(op.inputs[2])
    if axis is None:
        return Kind("unknown", op=op)
    axis = int(axis) % rank
    if op.get_attr("batch_dims") > kind.axis:
        return kind
    if axis == kind.axis:
        # Rows chosen by `where` over the rows themselves remain rows of the replica, though their number
        # depends on values.
        is_selection = indices.form == "rows" and indices.copies == 0
        return kind._replace(copies=0) if is_selection else _part(op, kind)
    added = (op.inputs[1].shape.rank or 0) - 1 - op.get_attr("batch_dims")
    if indices.form == "rows":
        return mixed(op)
    return _at(kind, kind.axis + (added if axis < kind.axis else 0))  # type: ignore[operator]


def _looked_up(op: Any, kinds: list[Kind]) -> Kind:
    """Returns the kind of entries of a table, chosen by rows."""
    if op.type == "OneHot":
        kind, axis = kinds[0], op.get_attr("axis")
        is_before = kind.axis is not None and 0 <= axis <= kind.axis
        return _at(kind, kind.axis + 1) if is_before else kind  # type: ignore[operator]
    kind = kinds[1]
    if kind.form != "rows":
        return Kind("unknown", op=op)
    axis = static_value(op.inputs[2]) if op.type == "GatherV2" else 0
    if axis is None or kind.axis is None:
        return _at(kind, None)
    rank = op.inputs[0].shape.rank
    at = int(axis) if int(axis) >= 0 or rank is None else int(axis) + rank
    # The first axes of table and indices are one, where there are batches of tables.
    shared = 0 if op.type in ("GatherNd", "ResourceGatherNd") else op.get_attr("batch_dims")
    if kind.axis < shared:
        return kind
    return Kind("rows", 0, kind.axis + max(at - shared, 0), kind.copies)


def _joined(op: Any, kinds: list[Kind]) -> Kind | None:
    """Returns the kind of tensors that are concatenated or stacked."""
    inputs = list(op.inputs)
    if op.type == "ConcatV2":
        axis, inputs, kinds = static_value(inputs[-1]), inputs[:-1], kinds[:-1]
    else:
        axis = op.get_attr("axis")
    rows = [it for it in kinds if it.form == "rows"]
    if not rows:
        return None
    rank = next((it.shape.rank for it in inputs if it.shape.rank is not None), None)
    axes, degrees = {it.axis for it in rows}, {it.degree for it in kinds}
    if axis is None or rank is None or None in axes or len(degrees) > 1:
        return Kind("unknown", op=op)
    if len(axes) > 1:
        return mixed(op)
    of_rows: int = axes.pop()  # type: ignore[assignment]
    copies = joint_copies(rows)
    if op.type == "Pack":
        after = int(axis) % (rank + 1)
        return Kind("rows", degrees.pop(), of_rows + (after <= of_rows), copies)
    if int(axis) % rank != of_rows:
        return Kind("rows", degrees.pop(), of_rows, copies)
    if len(rows) < len(kinds):
        return mixed(op)  # Each replica would append these rows, and one device only once.
    several = sum(it.copies for it in rows)
    return Kind("rows", degrees.pop(), of_rows, several if copies > 0 else copies)


_LOOKING_UP = frozenset(("GatherV2", "ResourceGather", "GatherNd", "ResourceGatherNd", "OneHot"))
_JOINING = frozenset(("ConcatV2", "Pack"))
_RULES: dict[str, Callable[[Any, tf.Tensor, list[Kind]], Kind]] = {
    "BroadcastTo": _broadcast,
    "ExpandDims": _expanded,
    "GatherNd": _gathered,
    "GatherV2": _gathered,
    "Reshape": _reshaped,
    "Slice": _sliced,
    "Split": _split,
    "SplitV": _split,
    "Squeeze": _squeezed,
    "StridedSlice": _strided,
    "Tile": _repeated,
    "Transpose": _transposed,
    "Unpack": _unstacked,
}
