"""Arithmetic on variables, and `variable.value`, a property in Keras and a method in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.ops.promotion import promote, to_float

_DIVISIONS = ("__truediv__", "__rtruediv__")
_PROMOTING = (
    *(f"__{side}{name}__" for side in ("", "r") for name in ("add", "sub", "mul", "floordiv")),
    *(f"__{side}{name}__" for side in ("", "r") for name in ("mod", "pow", "matmul")),
    *_DIVISIONS,
    *(f"__{name}__" for name in ("lt", "le", "gt", "ge")),
)
_OTHERS = ("__eq__", "__ne__", "__neg__", "__abs__", "__getitem__", "__invert__")


def _operator(name: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        if _is_mixed(self, other, name):
            left, right = promote(tf.convert_to_tensor(self), other)
            if name in _DIVISIONS:
                left, right = to_float(left), to_float(right)
            return getattr(left, name)(right)
        return getattr(super(Operators, self), name)(other)

    operate.__name__ = operate.__qualname__ = name
    return operate


def _is_mixed(variable: Any, other: Any, name: str) -> bool:
    """Whether TensorFlow's operator would reject the operands, or divide integers in `float64`."""
    dtype = variable.dtype
    number = isinstance(other, (bool, int, float, np.generic, np.ndarray))
    if dtype.is_integer and (number or isinstance(other, (tf.Tensor, tf.Variable))):
        if name in _DIVISIONS:
            return True
        if number:
            return isinstance(other, float) or getattr(other, "dtype", np.dtype(int)).kind == "f"
    if isinstance(other, (tf.Tensor, tf.Variable)):
        both = dtype.is_floating or dtype.is_integer
        return both and getattr(other, "read_dtype", other.dtype) != variable.read_dtype
    return False


class Operators:
    """Operators that accept operands of other dtypes, like `tfkit.ops`, and arrays."""

    read_dtype: tf.DType
    numpy: Callable[[], Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Returns the value as an array. TensorFlow's method lacks `copy`, of which NumPy 2 warns."""
        value = self.numpy()
        return np.array(value, dtype) if copy else np.asarray(value, dtype)


for _name in _PROMOTING:
    setattr(Operators, _name, _operator(_name))


class Value:
    """The value of a variable, read on use: a tensor in operations, with the variable's methods.

    Calling it gives the tensor that the variable holds now: `variable.value()`, as TensorFlow has it.

    Args:
        variable: the variable.
    """

    __slots__ = ("_variable",)

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def __call__(self) -> tf.Tensor:
        """Returns the present value, as a tensor."""
        return self._variable._read()

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> tf.Tensor:
        return tf.convert_to_tensor(self._variable, dtype=dtype, name=name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._variable.numpy(), dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._variable, name)

    def __repr__(self) -> str:
        return repr(self._variable)

    def __float__(self) -> float:
        return float(self._variable.numpy())

    def __int__(self) -> int:
        return int(self._variable.numpy())

    def __bool__(self) -> bool:
        return bool(self._variable)


def _delegate(name: str) -> Callable[..., Any]:
    def operate(self: Value, *others: Any) -> Any:
        others = tuple(it._variable if isinstance(it, Value) else it for it in others)
        return getattr(self._variable, name)(*others)

    operate.__name__ = operate.__qualname__ = name
    return operate


for _name in (*_PROMOTING, *_OTHERS):
    setattr(Value, _name, _delegate(_name))
