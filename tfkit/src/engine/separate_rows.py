"""Finds traces in which each row of the results is computed from the same row of the arguments alone.

Batches of such a trace can be joined into one. The kinds of `row_kinds.py` are followed, but only through
operations and forms that leave no doubt: a row that met another one would change the results silently.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine.row_arithmetic import ELEMENTWISE, KEEPING
from tfkit.src.engine.row_kinds import EQUAL, ROWS, Kind, RowKinds, static_value
from tfkit.src.engine.row_products import CONTRACTING
from tfkit.src.engine.row_rules import kind_after

# Each row of the result is computed from a row of the first input, and from inputs without rows.
_BY_ROW = frozenset(
    ("Conv2D", "Conv3D", "DepthwiseConv2dNative", "AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D")
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
_SIZED = frozenset(("BroadcastTo", "Reshape", "StridedSlice"))


def has_separate_rows(function: Any) -> bool:
    """Whether batches of a function may be joined, because no result of a row depends on other rows.

    Args:
        function: a `ConcreteFunction` whose arguments and results have rows on their first axis.
    """
    kinds = RowKinds(_kind_after, set())
    for tensor in function.inputs[: len(function.inputs) - len(function.captured_inputs)]:
        if not tensor.shape.rank or tensor.shape[0] is not None:
            return False
        kinds.note(tensor, ROWS)
    return all(_form(kinds.of(it)) == _form(ROWS) for it in function.outputs)


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
    others = [it for it in kinds if it.form != "rows" and it != EQUAL]
    if not rows or op.type == "Shape":
        return kind_after(tensor, kinds) if op.type in _SIZES else unknown
    if others and op.type not in _SIZED:
        return unknown
    first = kinds[0]
    if op.type in _PADDING and rows == [0]:
        paddings = static_value(op.inputs[1])
        is_kept = paddings is not None and first.axis is not None and not paddings[first.axis].any()
        return first if is_kept else unknown
    if op.type in _BY_ROW:
        is_training = op.type.startswith("FusedBatchNorm") and op.get_attr("is_training")
        return first if rows == [0] and first.axis == 0 and not is_training else unknown
    if op.type not in _FOLLOWED:
        return unknown
    found = kind_after(tensor, kinds)
    return found if found.form == "rows" and _keeps_rows(tensor, found, kinds) else unknown


def _keeps_rows(tensor: tf.Tensor, found: Kind, kinds: list[Kind]) -> bool:
    """Whether a result has the rows of the inputs in their order."""
    op, rank = tensor.op, tensor.shape.rank
    if found.degree or found.copies < 1 or found.axis is None or rank is None:
        return False
    if tensor.shape[found.axis] is not None:  # It is for batches of one size.
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
