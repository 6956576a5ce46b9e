"""Arithmetic on variables, and `variable.value`, a property in Keras and a method in TensorFlow."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.members import View
from tfkit.src.symbolic.tensors import OPERATORS

_LOGIC = tuple(f"__{side}{name}__" for side in ("", "r") for name in ("and", "or", "xor"))
_DIVISIONS = ("__truediv__", "__rtruediv__")
_POWERS = ("__pow__", "__rpow__")  # TensorFlow has no kernel for powers of unsigned integers.
_PROMOTING = (
    *(f"__{side}{name}__" for side in ("", "r") for name in ("add", "sub", "mul", "floordiv")),
    *(f"__{side}{name}__" for side in ("", "r") for name in ("mod", "pow", "matmul")),
    *_DIVISIONS,
    *(f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne")),
)
_OTHERS = ("__neg__", "__pos__", "__abs__", "__round__", "__getitem__", "__invert__")


def _operator(name: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        unsigned = name in _POWERS and self.dtype.is_unsigned
        of_op = name in _LOGIC or unsigned or _is_vector(self, other, name)
        if of_op or _is_of_another_kind(self, other) or _is_mixed(self, other, name):
            return OPERATORS[name](tf.convert_to_tensor(self), other)
        return getattr(super(Operators, self), name)(other)

    operate.__name__ = operate.__qualname__ = name
    return operate


def _is_of_another_kind(variable: Any, other: Any) -> bool:
    """Whether one operand is of bools or complex numbers, and TensorFlow has no operator for the two."""
    if isinstance(other, (int, float)) and not isinstance(other, bool):
        return bool(variable.dtype.is_bool)
    if not isinstance(other, (tf.Tensor, tf.Variable, np.generic, np.ndarray)):
        return False
    mine, its = variable.dtype, tf.as_dtype(other.dtype)
    if mine.is_bool or its.is_bool:
        return mine is not tf.string and its is not tf.string
    return mine is not its and (mine.is_complex or its.is_complex)


def _is_vector(variable: Any, other: Any, name: str) -> bool:
    """Whether a vector is multiplied like a matrix, which TensorFlow refuses."""
    return name in ("__matmul__", "__rmatmul__") and 1 in (variable.shape.rank, _rank(other))


def _rank(x: Any) -> int | None:
    return x.shape.rank if isinstance(x, (tf.Tensor, tf.Variable)) else np.ndim(x)


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
        return both and other.dtype != dtype
    return False


class Operators:
    """Operators that accept operands of other dtypes, like `tfkit.ops`, and arrays."""

    shape: tf.TensorShape
    numpy: Callable[[], Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Returns the value as an array. TensorFlow's method lacks `copy`, of which NumPy 2 warns."""
        value = self.numpy()
        return np.array(value, dtype) if copy else np.asarray(value, dtype)

    def __int__(self) -> int:
        """Returns a single number, without its fraction."""
        return int(self._number("__int__"))

    def __float__(self) -> float:
        """Returns a single number."""
        return float(self._number("__float__"))

    def __index__(self) -> int:
        """Returns a single integer."""
        return operator.index(self._number("__index__"))

    def _number(self, method: str) -> Any:
        """Returns what TensorFlow's method gives, which variables of a strategy do not have."""
        inherited = getattr(super(), method, None)
        return self.numpy() if inherited is None else inherited()

    def __bool__(self) -> bool:
        """Whether a single number is not 0."""
        if self.shape.num_elements() not in (1, None):
            raise TypeError(
                f"A variable of several values cannot be used as a boolean. Received: shape={self.shape}. "
                "Ask for `tf.reduce_any(...)` or `tf.reduce_all(...)`."
            )
        return super().__bool__()  # type: ignore[misc]

    def __pos__(self) -> tf.Tensor:
        """Returns the value."""
        return tf.convert_to_tensor(self)

    def __round__(self, ndigits: int | None = None) -> tf.Tensor:
        """Returns the value, rounded to a number of decimals."""
        return OPERATORS["__round__"](tf.convert_to_tensor(self), ndigits)


for _name in (*_PROMOTING, *_LOGIC):
    setattr(Operators, _name, _operator(_name))


class Value(View):
    """The value of a variable, read on use: a tensor in operations, with the variable's methods.

    Calling it gives the tensor that the variable holds now: `variable.value()`, as TensorFlow has it.

    Args:
        variable: the variable.
    """

    __slots__ = ("_variable",)

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The type of the variable: tapes, checkpoints and `isinstance` treat it as a `tf.Variable`."""
        return type(self._variable)

    @staticmethod
    def owner(item: Any) -> Any:
        """Returns the variable whose value `item` is; anything else unchanged."""
        return item._variable if type(item) is Value else item

    def __call__(self) -> tf.Tensor:
        """Returns the present value, as a tensor."""
        return self._variable._read()

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> tf.Tensor:
        return tf.convert_to_tensor(self._variable, dtype=dtype, name=name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._variable.numpy(), dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._variable, name)

    def __copy__(self) -> Value:
        return Value(self._variable)

    def __iter__(self) -> Any:
        return iter(self._variable)

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


for _name in (*_PROMOTING, *_LOGIC, *_OTHERS):
    setattr(Value, _name, _delegate(_name))
