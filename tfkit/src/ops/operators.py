"""Defines Python's operators by ops: on symbolic tensors, and on variables with operands of other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.src.ops import arithmetic, elementwise, indexing, products, shaping
from tfkit.src.symbolic.tensors import define_operators


def _reflected(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns `op` with its operands swapped, for operators with the symbolic tensor on the right."""
    return lambda self, other: op(other, self)


# Operators of two operands, which may have them in either order.
_OF_TWO = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.true_divide,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.mod,
    "pow": arithmetic.power,
    "matmul": products.matmul,
    "and": arithmetic.logical_and,
    "or": arithmetic.logical_or,
    "xor": arithmetic.logical_xor,
}

define_operators(
    {
        **{f"__{name}__": op for name, op in _OF_TWO.items()},
        **{f"__r{name}__": _reflected(op) for name, op in _OF_TWO.items()},
        "__neg__": elementwise.negative,
        "__abs__": elementwise.abs,
        "__round__": lambda self, ndigits=None: elementwise.round(self, ndigits or 0),
        "__lt__": arithmetic.less,
        "__le__": arithmetic.less_equal,
        "__gt__": arithmetic.greater,
        "__ge__": arithmetic.greater_equal,
        "__eq__": arithmetic.equal,
        "__ne__": arithmetic.not_equal,
        "__invert__": arithmetic.logical_not,
        "__getitem__": indexing.get_item,
        "reshape": lambda self, newshape: shaping.reshape(self, newshape),
        "squeeze": lambda self, axis=None: shaping.squeeze(self, axis),
    }
)
