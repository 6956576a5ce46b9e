"""Defines Python's operators on symbolic tensors by ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit import ops
from tfkit.src.symbolic.tensors import define_operators


def _reflected(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns `op` with its operands exchanged, for operators with the symbolic tensor on the right."""
    return lambda self, other: op(other, self)


define_operators(
    {
        "__add__": ops.add,
        "__radd__": _reflected(ops.add),
        "__sub__": ops.subtract,
        "__rsub__": _reflected(ops.subtract),
        "__mul__": ops.multiply,
        "__rmul__": _reflected(ops.multiply),
        "__truediv__": ops.true_divide,
        "__rtruediv__": _reflected(ops.true_divide),
        "__floordiv__": ops.floor_divide,
        "__rfloordiv__": _reflected(ops.floor_divide),
        "__mod__": ops.mod,
        "__rmod__": _reflected(ops.mod),
        "__pow__": ops.power,
        "__rpow__": _reflected(ops.power),
        "__matmul__": ops.matmul,
        "__rmatmul__": _reflected(ops.matmul),
        "__neg__": ops.negative,
        "__abs__": ops.abs,
        "__round__": lambda self, ndigits=None: ops.round(self, ndigits or 0),
        "__lt__": ops.less,
        "__le__": ops.less_equal,
        "__gt__": ops.greater,
        "__ge__": ops.greater_equal,
        # `==` compares identity, as in Keras: symbolic tensors are keys and members of lists.
        "__ne__": ops.not_equal,
        "__and__": ops.logical_and,
        "__rand__": _reflected(ops.logical_and),
        "__or__": ops.logical_or,
        "__ror__": _reflected(ops.logical_or),
        "__xor__": ops.logical_xor,
        "__rxor__": _reflected(ops.logical_xor),
        "__invert__": ops.logical_not,
        "__getitem__": ops.get_item,
        "reshape": lambda self, newshape: ops.reshape(self, newshape),
        "squeeze": lambda self, axis=None: ops.squeeze(self, axis),
    }
)
