"""The rules for operations on single values, among the rules of `row_rules.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.names import words
from tfkit.src.engine.row_kinds import EQUAL, Kind, is_zero, joint_copies, mixed

# The result is the first input in a different form.
KEEPING = words("""
    Identity StopGradient PreventGradient Cast Neg EnsureShape Snapshot CheckNumerics
    CheckNumericsV2 Real Imag Conj
""")
ADDING = frozenset(("Add", "AddN", "AddV2", "BiasAdd", "Sub"))
MULTIPLYING = frozenset(("Mul", "MulNoNan"))
DIVIDING = frozenset(("Div", "DivNoNan", "RealDiv"))
_OTHERS = words("""
    Abs Atan2 BitwiseAnd BitwiseOr Ceil Cos Elu Equal Erf Exp Expm1 Floor FloorDiv FloorMod
    Greater GreaterEqual Inv IsFinite IsInf IsNan LeakyRelu Less LessEqual Log Log1p LogicalAnd
    LogicalNot LogicalOr Maximum Minimum Mod NotEqual Pow Reciprocal Relu Relu6 Round Rsqrt
    Select SelectV2 Selu Sigmoid Sign Sin Softplus Softsign Sqrt Square SquaredDifference Tan
    Tanh TruncateDiv Xdivy Xlogy ClipByValue Lgamma Digamma Atan Acos Asin Sinh Cosh Asinh Acosh
    Atanh Erfc Rint Complex ComplexAbs Angle
""")
ELEMENTWISE = ADDING | MULTIPLYING | DIVIDING | _OTHERS


def kept(op: Any, kind: Kind) -> Kind:
    """Returns the kind of a value in a different form."""
    if op.type == "Cast" and kind.form == "sum":
        # Rounded parts do not add up to the rounded sum.
        before, after = op.get_attr("SrcT"), op.get_attr("DstT")
        if before.is_floating and not after.is_floating:
            return mixed(kind.op)
    if op.type == "Neg" and kind.form in ("max", "min"):
        return kind._replace(form="min" if kind.form == "max" else "max")
    if kind.plus is not None:
        return kind._replace(plus=lambda: _again(op, [kind.plus()]))  # type: ignore[misc]
    return kind


def _again(op: Any, inputs: list[tf.Tensor]) -> tf.Tensor:
    """Returns the result of a linear operation on other inputs."""
    functions: dict[str, Callable[..., tf.Tensor]] = {
        "Add": tf.add,
        "AddN": lambda *values: tf.add_n(values),
        "AddV2": tf.add,
        "Cast": lambda value: tf.cast(value, op.outputs[0].dtype),
        "Div": tf.divide,
        "DivNoNan": tf.math.divide_no_nan,
        "Mul": tf.multiply,
        "MulNoNan": tf.math.multiply_no_nan,
        "Neg": tf.negative,
        "RealDiv": tf.divide,
        "Sub": tf.subtract,
    }
    return functions.get(op.type, tf.identity)(*inputs)


def elementwise(op: Any, tensor: tf.Tensor, kinds: list[Kind]) -> Kind:
    """Returns the kind of the result of an operation on single values."""
    rows = [(it, value) for it, value in zip(kinds, op.inputs, strict=True) if it.form == "rows"]
    sums = [it for it in kinds if it.form == "sum"]
    ends = [it for it in kinds if it.form in ("max", "min")]
    if rows and (sums or ends):
        return mixed((sums or ends)[0].op)
    if ends:
        wanted = {"Maximum": "max", "Minimum": "min"}.get(op.type)
        is_kept = not sums and all(it == EQUAL or it.form == wanted for it in kinds)
        return ends[0] if is_kept else mixed(ends[0].op)
    if sums:
        return of_sums(op, kinds, sums)
    if any(it.form == "shape" for it in kinds):
        return Kind("unknown", op=op)
    degree = _degree(op, kinds)
    if degree is None:
        return Kind("unknown", op=op)
    copies = joint_copies(kinds)
    if op.type == "Select" and op.inputs[0].shape.rank == 1:
        # One condition for each row: it chooses along the first axis, whatever the rank of the values is. So
        # its own axis, counted from the right, says nothing.
        rows = [it for it in rows if it[1] is not op.inputs[0]] or rows
    # Broadcasting lines axes up from the last one. Two inputs whose rows are then on different axes meet in
    # each pair of rows.
    from_right = {
        None if it.axis is None or value.shape.rank is None else value.shape.rank - it.axis
        for it, value in rows
    }
    rank = tensor.shape.rank
    if None in from_right or rank is None:
        return Kind("rows", degree, None, copies)
    if len(from_right) > 1:
        return mixed(op)  # Each row is combined with each other one.
    return Kind("rows", degree, rank - from_right.pop(), copies)


def _degree(op: Any, kinds: list[Kind]) -> int | None:
    """Returns the degree of an operation on values of rows; `None` if it is not known.

    A zero has any degree, so known zeros do not count.
    """
    if op.type in MULTIPLYING:
        return sum(it.degree for it in kinds)
    if op.type in DIVIDING:
        return kinds[0].degree - kinds[1].degree
    if op.type in ("Select", "SelectV2"):
        kinds, inputs = kinds[1:], op.inputs[1:]
    else:
        inputs = op.inputs
    counted = [
        it for it, value in zip(kinds, inputs, strict=True) if it != EQUAL or not is_zero(value)
    ]
    degrees = {it.degree for it in counted}
    # These give the result times c if all inputs are multiplied by a positive c, so that a common factor 1
    # / n stays one. Others, such as `exp`, do so only without it.
    is_linear = op.type in ADDING or op.type in ("Select", "SelectV2", "Abs", "Relu", "Maximum")
    is_linear = is_linear or op.type == "Minimum"
    if len(degrees) == 1 and (is_linear or degrees == {0}):
        return degrees.pop()
    # A comparison has no factor, whatever its inputs were divided by.
    if op.type in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "Sign"):
        return 0
    return 0 if not degrees else None


def of_sums(op: Any, kinds: list[Kind], sums: list[Kind]) -> Kind:
    """Returns the kind of the result of an operation on sums over rows and values that replicas share."""
    kind, first = op.type, sums[0]
    if any(it.form == "shape" for it in kinds):
        return Kind("unknown", op=op)
    if kind in ADDING:
        # A value that all replicas share is added once, not by each of them: it is kept separately in `plus`.
        # `n` times such a value is itself a sum over rows.
        others = [
            value for value, it in zip(op.inputs, kinds, strict=True)
            if it.form == "count" and it.degree + 1 != first.degree and not is_zero(value)
        ]  # fmt: skip
        if len({it.degree for it in sums}) > 1:
            return mixed(op)
        if not others and all(it.plus is None for it in sums):
            return first
        if any(it.form == "count" and it.degree for it in kinds):
            return mixed(op)
        return first._replace(plus=lambda: _again(op, _constant_parts(op, kinds)))
    # A sum times or divided by `n` remains a sum, of a different degree.
    shared_degree = sum(it.degree for it in kinds if it.form == "count")
    if kind in MULTIPLYING and len(sums) == 1:
        found = first._replace(degree=first.degree + shared_degree)
    elif kind in DIVIDING and kinds[0].form == "sum" and len(sums) == 1:
        found = first._replace(degree=first.degree - shared_degree)
    else:
        return mixed(first.op)
    if first.plus is None:
        return found
    if shared_degree:
        return mixed(op)
    return found._replace(plus=lambda: _again(op, _constant_parts(op, kinds)))


def _constant_parts(op: Any, kinds: list[Kind]) -> list[tf.Tensor]:
    """Returns the inputs of a linear operation without the parts that depend on the rows."""
    parts = []
    for value, kind in zip(op.inputs, kinds, strict=True):
        if kind.form == "count":
            parts.append(value)
        else:
            parts.append(tf.zeros_like(value) if kind.plus is None else kind.plus())
    return parts
