"""The rules for sizes and numbers of rows, among the rules of `row_rules.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.names import words
from tfkit.src.engine.row_kinds import EQUAL, Kind, axis_of_none, mixed, static_value

# Operations that make values from sizes.
_MAKING = frozenset(
    ("BroadcastTo", "Fill", "Multinomial", "OneHot", "RandomGamma", "RandomStandardNormal", "Range")
    + ("RandomUniform", "RandomUniformInt", "Tile", "TruncatedNormal")
)
_UNCHANGED = words("Abs Cast EnsureShape ExpandDims Identity OnesLike Reshape Squeeze StopGradient")
_DIVIDING = frozenset(("Div", "DivNoNan", "FloorDiv", "RealDiv", "TruncateDiv"))
# What is added to a number of rows protects a division by 0 if it is no larger, as an epsilon does.
_SMALL = 1e-3


def sizes_of(op: Any, kinds: list[Kind]) -> Kind:
    """Returns the kind of the sizes of a tensor, or of zeros of its shape."""
    first = kinds[0]
    if op.type in ("ZerosLike", "BroadcastGradientArgs", "Rank"):
        return EQUAL
    if first.form in ("mixed", "unknown"):
        shape = op.inputs[0].shape
        axis = 0 if shape.rank and shape[0] is None else axis_of_none(shape)
        # The values do not matter here: a tensor of an unknown size has the rows along that axis.
        first = EQUAL if axis is None else Kind("rows", axis=axis)
    if first.form != "rows":
        return EQUAL
    if first.copies == 0 or op.type == "ShapeN":
        return Kind("unknown", op=op)
    return Kind("count", -1, copies=0) if op.type == "Size" else Kind("shape", axis=first.axis)


def computed_from_sizes(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of what is computed from sizes and numbers of rows."""
    kind, degrees = op.type, [it.degree for it in kinds]
    if (
        kind in _MAKING
        or kind.startswith(("StatelessRandom", "StatelessTruncated"))
        or (kind == "OnesLike" and kinds[0].form == "shape")
    ):
        index = {"BroadcastTo": 0, "Fill": 1, "Tile": 0}.get(kind)
        value = EQUAL if index is None else kinds[index]
        shape = tensor.shape
        if shape.rank is not None and None not in shape.as_list():
            return value
        axes = [it.axis for it in kinds if it.form == "shape"]
        axis = axis_of_none(shape)
        copies = 1 if all(it.copies == 1 for it in kinds) else -1
        return Kind("rows", value.degree, axes[0] if axis is None and axes else axis, copies)
    if kind in _UNCHANGED:
        return EQUAL if kind == "OnesLike" else kinds[0]
    shapes = [it for it in kinds if it.form == "shape"]
    if kind in ("Prod", "Max", "Sum") and shapes:
        return Kind("count", -1, copies=0) if kind == "Prod" else Kind("unknown", op=op)
    if kind in ("StridedSlice", "GatherV2") and kinds[0].form == "shape":
        return _chosen_sizes(op, kinds[0])
    if kind in ("Pack", "ConcatV2") or shapes:
        return Kind("shape", axis=_index_of_count(op, kinds), copies=min(it.copies for it in kinds))
    if kind in ("Mul", "MulNoNan"):
        return Kind("count", sum(degrees), copies=0)
    if kind in _DIVIDING:
        return Kind("count", degrees[0] - degrees[1], copies=0)
    if kind in ("Maximum", "Minimum", "AddV2", "Add", "Sub", "SelectV2"):
        # `max(n, 1)` and `n + epsilon` protect from a division by 0, and are the number of rows all the same.
        others = [it for it, one in zip(op.inputs, kinds, strict=True) if one == EQUAL]
        counts = [it for it in kinds if it != EQUAL]
        values = [tf.get_static_value(it) for it in others]
        is_small = all(
            it is not None and np.size(it) and np.max(np.abs(it)) <= _SMALL for it in values
        )
        if len(set(counts)) == 1 and (kind in ("Maximum", "SelectV2") or is_small):
            return counts[0]
        if kind in ("Add", "AddV2") and others and {it.degree for it in counts} == {-1}:
            # `seen + n`: the number of rows is a sum over them, and what replicas have alike is added once.
            return Kind("sum", op=op, plus=lambda: _common_part(op, kinds))
        return counts[0] if kind == "AddV2" and len(set(counts)) == 1 and not others else mixed(op)
    if kind == "Square":
        return Kind("count", 2 * degrees[0])
    if kind in ("Reciprocal", "Inv"):
        return Kind("count", -degrees[0])
    if kind in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "Assert"):
        return EQUAL  # A check, which one device would make in the same way.
    return Kind("unknown", op=op)


def _common_part(op: Any, kinds: list[Kind]) -> tf.Tensor:
    """Returns the sum of the inputs of an addition that are equal on all replicas."""
    pairs = zip(op.inputs, kinds, strict=True)
    first, second = (value if kind == EQUAL else tf.zeros_like(value) for value, kind in pairs)
    return tf.add(first, second)


def _chosen_sizes(op: Any, kind: Kind) -> Kind:
    """Returns the kind of some of the sizes, or of a single one."""
    if kind.axis is None:
        return Kind("unknown", op=op)
    count = op.inputs[0].shape[0]
    if count is None:
        return Kind("unknown", op=op)
    indices = np.arange(count)
    if op.type == "GatherV2":
        chosen = static_value(op.inputs[1])
        if chosen is None:
            return Kind("unknown", op=op)
        indices = indices[chosen]
    else:
        begin, end, strides = (tf.get_static_value(it) for it in op.inputs[1:4])
        if begin is None or end is None or strides is None:
            return Kind("unknown", op=op)
        if op.get_attr("shrink_axis_mask"):
            indices = indices[begin[0]]
        else:
            first = None if op.get_attr("begin_mask") else begin[0]
            last = None if op.get_attr("end_mask") else end[0]
            indices = indices[first : last : strides[0]]
    if kind.axis not in np.ravel(indices):
        return EQUAL
    return (
        Kind("count", -1)
        if indices.ndim == 0
        else Kind("shape", axis=int(list(indices).index(kind.axis)))
    )


def _index_of_count(op: Any, kinds: list[Kind]) -> int | None:
    """Returns the index of the number of rows in sizes that are joined; `None` if it is not known."""
    index = 0
    inputs = op.inputs[:-1] if op.type == "ConcatV2" else op.inputs
    for tensor, kind in zip(inputs, kinds, strict=False):
        if kind.form == "shape":
            return None if kind.axis is None else index + kind.axis
        if kind != EQUAL:
            return index
        size = 1 if op.type == "Pack" else tensor.shape[0] if tensor.shape.rank else None
        if size is None:
            return None
        index += size
    return None
