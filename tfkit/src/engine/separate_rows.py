"""Finds traces in which each row of the results is computed from the same row of the arguments alone.

Batches of such a trace can be joined into one. The kinds of `row_kinds.py` are followed, but only through
operations and forms that leave no doubt: a row that met another one would change the results silently.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine.function_defs import results_of
from tfkit.src.engine.row_arithmetic import ELEMENTWISE, KEEPING
from tfkit.src.engine.row_kinds import EQUAL, ROWS, Kind, RowKinds, axis_of_none, static_value
from tfkit.src.engine.row_products import CONTRACTING
from tfkit.src.engine.row_rules import kind_after
from tfkit.src.engine.row_sizes import computed_from_sizes

# Each row of the result is computed from a row of the first input, and from inputs without rows.
_BY_ROW = frozenset(
    ("Conv2D", "Conv3D", "DepthwiseConv2dNative")
    + ("AvgPool", "AvgPool3D", "MaxPool", "MaxPoolV2", "MaxPool3D")
    + ("ResizeBilinear", "ResizeNearestNeighbor", "SpaceToDepth", "DepthToSpace")
    + ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
)
_PADDING = frozenset(("Pad", "PadV2", "MirrorPad"))
_MOVING = frozenset(
    ("BroadcastTo", "ConcatV2", "ExpandDims", "GatherV2", "OneHot", "Pack", "ResourceGather")
    + ("Reshape", "Split", "SplitV", "Squeeze", "StridedSlice", "Tile", "Transpose", "Unpack")
)
_REDUCING = frozenset(("All", "Any", "ArgMax", "ArgMin", "Max", "Mean", "Min", "Prod", "Sum"))
_ALONG = frozenset(("Cumsum", "LogSoftmax", "ReverseV2", "Softmax"))
_SIZES = frozenset(("Shape", "Cast", "ConcatV2", "Fill", "Identity", "Pack", "StridedSlice"))
_FOLLOWED = ELEMENTWISE | KEEPING | CONTRACTING | _MOVING | _REDUCING | _ALONG
# They use the number of rows as the size of their result.
_SIZED = frozenset(("BroadcastTo", "Reshape"))
# The inputs that have values; the others are axes and sizes. By default it is the first one.
_VALUES = {"GatherV2": (0, 1), "ResourceGather": (0, 1), "Split": (1,)}
_ALL_VALUES = ELEMENTWISE | CONTRACTING | {"ConcatV2", "Pack"}
# The rules assume that these inputs are known: where an axis or a size is not, it may be that of the rows.
_KNOWING = _ALONG | {"Split", "SplitV"}
# They may make checks, and have no result that is followed.
_CALLS = frozenset(("Case", "If", "StatefulPartitionedCall", "While"))


def has_separate_rows(function: Any) -> bool:
    """Whether batches of a function may be joined, because no result of a row depends on other rows.

    Args:
        function: a `ConcreteFunction` whose arguments and results have rows on their first axis.
    """
    kinds = RowKinds(_kind_after, set())
    for tensor in function.inputs[: len(function.inputs) - len(function.captured_inputs)]:
        if axis_of_none(tensor.shape) != 0:
            return False
        kinds.note(tensor, ROWS)
    if not all(_is_same_check(op, kinds) for op in function.graph.get_operations()):
        return False
    return all(_form(kinds.of(it)) == _form(ROWS) for it in results_of(function))


def _is_same_check(op: Any, kinds: RowKinds) -> bool:
    """Whether an operation is not a check, or is one that joined batches pass only if each batch does."""
    # TensorFlow makes a check within a condition of it. What else a call checks is not followed.
    if op.type in _CALLS and "AssertGuard" not in op.name:
        return False
    if op.type not in ("Assert", "If"):
        return True
    condition = op.inputs[0]
    if condition.op.type == "All":  # A condition on each row.
        condition = condition.op.inputs[0]
    kind = kinds.of(condition)
    return kind == EQUAL or _form(kind) == _form(ROWS)


def _form(kind: Kind) -> tuple[Any, ...]:
    return kind.form, kind.degree, kind.axis, kind.copies


def _kind_after(tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of a tensor; `"unknown"` wherever it is not certain."""
    op, unknown = tensor.op, Kind("unknown", op=tensor.op)
    if all(it == EQUAL for it in kinds) or tensor.dtype == tf.resource:
        return EQUAL
    if any(it.form not in ("count", "shape", "rows") for it in kinds):
        return unknown
    rows = [index for index, it in enumerate(kinds) if it.form == "rows"]
    if not rows or op.type == "Shape":
        return _of_sizes(tensor, kinds) if op.type in _SIZES else unknown
    first, others = kinds[0], [it for it in kinds if it.form != "rows" and it != EQUAL]
    if others and op.type not in _SIZED:
        return unknown
    if op.type in _PADDING and rows == [0]:
        paddings = static_value(op.inputs[1])
        is_kept = paddings is not None and first.axis is not None and not paddings[first.axis].any()
        return first if is_kept else unknown
    if op.type in _BY_ROW:
        is_training = op.type.startswith("FusedBatchNorm") and op.get_attr("is_training")
        is_certain = rows == [0] and first.axis == 0 and not is_training and not tensor.value_index
        return first if is_certain else unknown
    if op.type not in _FOLLOWED or not _is_clear(op, kinds):
        return unknown
    found = kind_after(tensor, kinds)
    return found if found.form == "rows" and _keeps_rows(tensor, found, kinds) else unknown


def _of_sizes(tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of sizes, or of a tensor that has them."""
    op = tensor.op
    if op.type != "Fill":
        found = kind_after(tensor, kinds)
        # The number of the parts of all rows is not the number of rows.
        is_other = found != EQUAL and any(it.copies != 1 for it in kinds)
        return found._replace(copies=0) if is_other else found
    # Zeros, too: their number is the number of rows.
    found = computed_from_sizes(op, tensor, kinds)
    is_plain = found == Kind("rows", axis=axis_of_none(tensor.shape)) and found.axis is not None
    return found if is_plain else Kind("unknown", op=op)


def _is_clear(op: Any, kinds: list[Kind]) -> bool:
    """Whether the inputs of an operation are as its rule assumes."""
    values = range(len(kinds)) if op.type in _ALL_VALUES else _VALUES.get(op.type, (0,))
    for index, (tensor, kind) in enumerate(zip(op.inputs, kinds, strict=True)):
        is_value = index in values
        if kind.form == "rows":
            is_as_assumed = is_value
        elif op.type in _KNOWING and not is_value:
            is_as_assumed = static_value(tensor) is not None
        else:  # A size that is not known could be the number of rows of a batch.
            is_as_assumed = op.type in ELEMENTWISE or tensor.shape.is_fully_defined()
        if not is_as_assumed:
            return False
    # A vector chooses along the first axis, whatever the axis of the rows is.
    return op.type != "Select" or op.inputs[0].shape.rank == op.outputs[0].shape.rank


def _keeps_rows(tensor: tf.Tensor, found: Kind, kinds: list[Kind]) -> bool:
    """Whether a result has the rows of the inputs in their order."""
    op, rank = tensor.op, tensor.shape.rank
    if found.degree or found.copies < 1 or found.axis is None or rank is None:
        return False
    # A known number of rows is for batches of one size. A second size that is not known may be their number.
    if axis_of_none(tensor.shape) != found.axis:
        return False
    if op.type == "BroadcastTo" and kinds[1] != Kind("shape", axis=found.axis):
        return False
    if op.type == "Tile":
        times = tf.get_static_value(op.inputs[1], partial=True)
        if times is None or times[found.axis] != 1:
            return False
    if op.type == "Reshape":  # Others may repeat rows in any order.
        return found.axis == kinds[0].axis == 0
    if any(it.form == "rows" and it.copies != found.copies for it in kinds):
        return False
    if op.type not in ELEMENTWISE:
        return True
    # A value without rows that has an entry for each of a certain number of rows belongs to one batch.
    from_right = rank - found.axis
    shapes = [it.shape for it, kind in zip(op.inputs, kinds, strict=True) if kind.form != "rows"]
    return all(
        it.rank is not None and (it.rank < from_right or it[-from_right] == 1) for it in shapes
    )
