"""The rules for how an operation's result depends on the rows of a batch, see `row_kinds.py`.

The rules of a forward pass find rows that meet. The rules of a gradient only follow how often it is divided
by the number of rows, as gradients of weights are sums over rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.names import words
from tfkit.src.engine.row_arithmetic import (
    ADDING,
    DIVIDING,
    ELEMENTWISE,
    KEEPING,
    MULTIPLYING,
    elementwise,
    kept,
    of_sums,
)
from tfkit.src.engine.row_kinds import (
    EQUAL,
    Kind,
    axis_of_none,
    is_zero,
    joint_copies,
    mixed,
    static_value,
)
from tfkit.src.engine.row_positions import moved
from tfkit.src.engine.row_products import CONTRACTING, contracted, contracts_rows
from tfkit.src.engine.row_sizes import computed_from_sizes, sizes_of

_EXCHANGES = frozenset(
    ("CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2")
    + ("CollectiveReduceV3", "CollectiveBcastSendV2", "CollectiveBcastRecvV2", "NcclAllReduce")
)
_REDUCING = {"Sum": "sum", "Mean": "sum", "Max": "max", "Any": "max", "Min": "min", "All": "min"}
_OTHER_REDUCTIONS = frozenset(("Prod", "EuclideanNorm", "ArgMax", "ArgMin"))
# Along an axis, each result depends on the other values, or is one of them.
_ALONG_LAST = words("LogSoftmax Softmax TopK TopKV2 FFT IFFT RFFT IRFFT NthElement InTopK InTopKV2")
_ALONG = {"Cumsum": 1, "Cumprod": 1, "CumulativeLogsumexp": 1, "ReverseV2": 1, "Roll": 2}
_OF_ALL = frozenset(
    ("RandomShuffle", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff")
    + ("NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5")
)
_OF_MATRICES = frozenset(
    ("Cholesky", "LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve", "Qr")
    + ("MatrixTriangularSolve", "SelfAdjointEigV2", "Svd", "Eig", "MatrixExponential")
)
# Sums whose indices are given by the rows.
_COUNTING = frozenset(
    ("Bincount", "DenseBincount", "HistogramFixedWidth", "ScatterNd", "SegmentSum", "SegmentSumV2")
    + ("UnsortedSegmentSum", "L2Loss")
)
_SEGMENTS = frozenset(
    ("SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "UnsortedSegmentMax")
    + ("UnsortedSegmentMin", "UnsortedSegmentProd")
)
# They move values, and change none.
_ARRANGING = words("""
    BroadcastTo ConcatV2 Diag DiagPart ExpandDims GatherV2 MatrixDiagPartV3 MatrixDiagV3 Pack
    Pad PadV2 Reshape ReverseV2 Slice Split SplitV Squeeze StridedSlice Tile Transpose Unpack
""")
# They call functions, in which kinds are not followed.
_CONDITIONAL = frozenset(
    ("Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf")
    + ("StatelessWhile", "While")
)
_WITHOUT_VALUES = words("BroadcastGradientArgs Rank Shape ShapeN Size ZerosLike")


def kind_after(tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of a tensor.

    Args:
        tensor: the result of an operation.
        kinds: the kinds of the operation's inputs.
    """
    op = tensor.op
    forms = {it.form for it in kinds}
    if op.type in _EXCHANGES:
        return EQUAL
    if "other" in forms:  # Replicas have exchanged values: the result is the same on all of them.
        return Kind("other") if forms <= {"other", "count"} else EQUAL
    is_zero_only = op.type == "Fill" and is_zero(tensor)
    if all(it == EQUAL for it in kinds) or is_zero_only or tensor.dtype == tf.resource:
        return EQUAL
    if op.type in _WITHOUT_VALUES:
        return sizes_of(op, kinds)
    # TensorFlow adds gradients, and runs some of their functions, outside of the scope of gradients.
    is_gradient = "gradient_tape/" in op.name or any(it.gradient for it in kinds)
    if is_gradient:
        kinds = [_as_rows(it, kind) for it, kind in zip(op.inputs, kinds, strict=True)]
    # The first input that is mixed decides: its origin is what the message has to show.
    for form in ("mixed", "unknown"):
        for kind in kinds:
            if kind.form == form:
                return kind._replace(gradient=is_gradient)
    if forms <= {"count", "shape"}:
        return computed_from_sizes(op, tensor, kinds)
    return (_of_gradient if is_gradient else _forward)(op, tensor, kinds)


def _as_rows(tensor: tf.Tensor, kind: Kind) -> Kind:
    """Returns the kind of an input of a gradient: of unknown values of the forward pass, it assumes rows."""
    if (
        kind.form != "unknown"
        or kind.gradient
        or (tensor.shape.rank == 0 and tensor.dtype.is_floating)
    ):
        return kind
    return EQUAL if tensor.shape.rank == 0 and tensor.dtype.is_integer else Kind("rows")


def _forward(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    kind, first = op.type, kinds[0]
    if kind == "IdentityN":
        return kinds[tensor.value_index]
    if kind in KEEPING:
        return kept(op, first)
    if kind in ELEMENTWISE:
        return elementwise(op, tensor, kinds)
    if kind in _REDUCING or kind in _OTHER_REDUCTIONS:
        return _reduced(op, tensor, first)
    if kind in CONTRACTING:
        return contracted(op, kinds) or _opaque(op, tensor, kinds)
    if kind in _CONDITIONAL or kind.startswith("TensorList"):
        return _opaque(op, tensor, kinds)
    if kind in _COUNTING and any(it.form == "rows" for it in kinds):
        if kind == "DenseBincount" and op.inputs[0].shape.rank == 2:
            return Kind("rows", axis=0)
        if tensor.shape.rank and tensor.shape[0] is None:
            # As many sums as rows: each row has its own if their number depends on the number of rows.
            has_own = any(it.form == "shape" or it[:2] == ("count", -1) for it in kinds)
            return Kind("rows", axis=0, copies=-1) if has_own else mixed(op)
        return Kind("sum", max(it.degree for it in kinds), op=op)
    aggregated = [it for it in kinds if it.form in ("sum", "max", "min")]
    if aggregated:
        return _arranged_sums(op, kinds, aggregated)
    if kind == "OnesLike":
        return first
    if kind in _OF_ALL:
        return mixed(op)
    if kind in _SEGMENTS:
        return mixed(op)
    if first.form == "rows" and first.axis is not None and op.inputs[0].shape.rank is not None:
        along = _axes_along(op)
        if along is not None:
            return mixed(op) if first.axis in along else first
    found = moved(op, tensor, kinds)
    if found is not None:
        return found
    # The indices of the rows that a condition holds for: how many there are depends on values.
    if kind == "Where":
        return Kind("rows", axis=0, copies=0)
    # In training it computes mean and variance over the rows inside.
    if kind.startswith("FusedBatchNorm") and op.get_attr("is_training"):
        return mixed(op)
    return _opaque(op, tensor, kinds)


def _axes_along(op: Any) -> list[int] | None:
    """Returns the axes along which each result depends on the others; `None` for most operations."""
    rank = op.inputs[0].shape.rank
    if op.type in _ALONG:
        return _axes(op.inputs[_ALONG[op.type]], rank)
    if op.type in _ALONG_LAST:
        return [rank - 1]
    return [rank - 2, rank - 1] if op.type in _OF_MATRICES else None


def _opaque(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of an operation without a rule: its result has rows if a size is unknown."""
    rows = [it for it in kinds if it.form == "rows"]
    shape = tensor.shape
    if (
        not rows
        or any(it.degree for it in rows)
        or (shape.rank == 0 and tensor.dtype != tf.variant)
    ):
        return Kind("unknown", op=op)
    if shape.rank and None not in shape.as_list():
        return Kind("unknown", op=op)
    is_first = bool(shape.rank) and shape[0] is None and {it.axis for it in rows} == {0}
    copies = joint_copies(rows)
    return Kind("rows", axis=0 if is_first else axis_of_none(shape), copies=copies)


def _arranged_sums(op: Any, kinds: list[Kind], aggregated: list[Kind]) -> Kind:
    """Returns the kind of an operation on sums or largest values over rows that is not arithmetic."""
    first = aggregated[0]
    # `[:2]` are form and degree.
    same = all(it[:2] == first[:2] or it == EQUAL for it in kinds)
    if op.type not in _ARRANGING or not same or any(it.plus is not None for it in aggregated):
        return mixed(first.op)
    has_other_values = op.type in ("ConcatV2", "Pack") and len(aggregated) < len(kinds) - 1
    return Kind("unknown", op=op) if has_other_values else first


def _of_gradient(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of a part of a gradient.

    If it needs a sum over rows that the forward pass has made, the loss is not a sum over rows.
    """
    for kind in kinds:
        if kind.form in ("sum", "max", "min") and not kind.gradient:
            return mixed(kind.op)
    if op.type == "IdentityN":
        return kinds[tensor.value_index]
    sums = [it for it in kinds if it.form == "sum"]
    if op.type == "AddN" and len(sums) and all(it.form in ("count", "sum") for it in kinds):
        return of_sums(op, kinds, sums)._replace(gradient=True)
    if any(it.plus is not None for it in sums):
        return mixed(op)
    shape = tensor.shape
    has_rows = any(it.form in ("rows", "shape") for it in kinds)
    has_rows = has_rows and (shape.rank is None or None in shape.as_list())
    has_rows = (has_rows and not contracts_rows(op, kinds)) or tensor.dtype == tf.variant
    # The power of the number of rows that divides a value. A mean is a sum of degree 1, and has power 0.
    powers = [it.degree - (it.form == "sum") for it in kinds]
    power: int | None
    if op.type in DIVIDING:
        power = powers[0] - powers[1]
    elif op.type in MULTIPLYING or op.type in CONTRACTING:
        power = sum(powers)
    elif op.type in ADDING or op.type in ("ConcatV2", "Pack", "Select", "SelectV2"):
        counted = [
            power
            for power, kind, value in zip(powers, kinds, op.inputs, strict=True)
            if value.dtype.is_floating and (kind != EQUAL or not is_zero(value))
        ]
        if len(set(counted)) > 1:
            # A value without rows is added to rows: one of them was not recognized.
            is_clear = not (has_rows and any(it.form == "count" for it in kinds))
            return mixed(op) if is_clear else Kind("unknown", op=op, gradient=True)
        power = counted[0] if counted else 0
    else:
        found = set(powers) - {0}
        if op.type in _CONDITIONAL:  # For a loop, only the gradients that it receives count.
            found = {power for power, kind in zip(powers, kinds, strict=True) if kind.gradient}
        is_known = len(found) == 1 or not (found or op.type in _CONDITIONAL)
        power = sum(found) if is_known else None
    if power is None:
        return Kind("unknown", op=op, gradient=True)
    if has_rows:
        return Kind("rows", power, gradient=True)
    if all(it.form != "rows" for it in kinds):
        return Kind("sum", power + 1, op=op, gradient=True)
    return Kind("sum", power + (op.type == "Mean"), op=op, gradient=True)


def _reduced(op: Any, tensor: tf.Tensor, kind: Kind) -> Kind:
    rank = op.inputs[0].shape.rank
    form = _REDUCING.get(op.type)
    if rank == 0:
        return kind
    if kind.form == "sum":
        is_linear = form == "sum" and kind.plus is None
        return kind if is_linear else mixed(kind.op)
    if kind.form in ("max", "min"):
        return kind if form == kind.form else mixed(kind.op)
    axes = _axes(op.inputs[1], rank)
    is_whole = tensor.shape.rank == 0 or (axes is not None and rank == len(axes))
    if not is_whole and (axes is None or kind.axis is None or rank is None):
        sizes = [] if rank is None else op.inputs[0].shape.as_list()
        if axes is None or not sizes or any(sizes[it] is None for it in axes):
            return Kind("unknown", op=op)
        return kind._replace(axis=axis_of_none(tensor.shape))
    if is_whole or kind.axis in axes:  # type: ignore[operator]
        # Where the number of rows depends on values, each replica divides a mean by a different number.
        if form is None or (op.type == "Mean" and kind.copies == 0):
            return mixed(op)
        if form == "sum":
            return Kind("sum", kind.degree + (op.type == "Mean"), op=op)
        return Kind(form, op=op) if kind.degree == 0 else mixed(op)
    is_kept = op.type in _REDUCING or op.type in ("Prod", "EuclideanNorm")
    kept = is_kept and op.get_attr("keep_dims")
    before = 0 if kept else sum(it < kind.axis for it in axes)  # type: ignore[operator, union-attr]
    return kind._replace(axis=kind.axis - before)  # type: ignore[operator]


def _axes(tensor: tf.Tensor, rank: int | None) -> list[int] | None:
    axes = static_value(tensor)
    if axes is None:
        return None
    if rank is None:
        return None if np.any(np.ravel(axes) < 0) else [int(it) for it in np.ravel(axes)]
    return [int(it) % max(rank, 1) for it in np.ravel(axes)]
