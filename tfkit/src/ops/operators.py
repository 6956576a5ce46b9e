"""Defines Python's operators by ops: on symbolic tensors, and on variables with operands of other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.src.ops import arithmetic, elementwise, indexing, products, shaping
from tfkit.src.symbolic.tensors import define_operators


def _reflected(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns `op` with its operands swapped, for operators with the symbolic tensor on the right."""
    return lambda self, other: op(other, self)


define_operators(
    {
        "__add__": arithmetic.add,
        "__radd__": _reflected(arithmetic.add),
        "__sub__": arithmetic.subtract,
        "__rsub__": _reflected(arithmetic.subtract),
        "__mul__": arithmetic.multiply,
        "__rmul__": _reflected(arithmetic.multiply),
        "__truediv__": arithmetic.true_divide,
        "__rtruediv__": _reflected(arithmetic.true_divide),
        "__floordiv__": arithmetic.floor_divide,
        "__rfloordiv__": _reflected(arithmetic.floor_divide),
        "__mod__": arithmetic.mod,
        "__rmod__": _reflected(arithmetic.mod),
        "__pow__": arithmetic.power,
        "__rpow__": _reflected(arithmetic.power),
        "__matmul__": products.matmul,
        "__rmatmul__": _reflected(products.matmul),
        "__neg__": elementwise.negative,
        "__abs__": elementwise.abs,
        "__round__": lambda self, ndigits=None: elementwise.round(self, ndigits or 0),
        "__lt__": arithmetic.less,
        "__le__": arithmetic.less_equal,
        "__gt__": arithmetic.greater,
        "__ge__": arithmetic.greater_equal,
        "__eq__": arithmetic.equal,
        "__ne__": arithmetic.not_equal,
        "__and__": arithmetic.logical_and,
        "__rand__": _reflected(arithmetic.logical_and),
        "__or__": arithmetic.logical_or,
        "__ror__": _reflected(arithmetic.logical_or),
        "__xor__": arithmetic.logical_xor,
        "__rxor__": _reflected(arithmetic.logical_xor),
        "__invert__": arithmetic.logical_not,
        "__getitem__": indexing.get_item,
        "reshape": lambda self, newshape: shaping.reshape(self, newshape),
        "squeeze": lambda self, axis=None: shaping.squeeze(self, axis),
    }
)
