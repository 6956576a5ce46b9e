"""Weights under mixed precision: stored in `float32`, read in the 16-bit dtype of the calling layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.calls import calls, current_frame
from tfkit.src.borrowed.private import BaseResourceVariable, ConversionHook, arguments_of_alias
from tfkit.src.weights.variables import given_values
from tfkit.src.weights.variables.variables import WRITING_METHODS, Variable, class_over


def _autocast(value: tf.Tensor) -> tf.Tensor:
    frame = current_frame()
    if frame is None or frame.autocast_dtype is None:
        return value
    return tf.cast(value, frame.autocast_dtype)


class _ReadInCallsDtype(Variable, ConversionHook):
    """The reads of a variable that, inside a layer's call, has the layer's compute dtype."""

    _cast_when_read = staticmethod(_autocast)

    def _read(self) -> tf.Tensor:
        """Returns the value, in the dtype of the call in progress."""
        return _autocast(super()._read())

    @property
    def read_dtype(self) -> tf.DType:
        """The dtype of the call in progress."""
        frame = current_frame()
        dtype = None if frame is None else frame.autocast_dtype
        return self.dtype if dtype is None else tf.as_dtype(dtype)  # type: ignore[attr-defined]

    def read_value(self) -> tf.Tensor:
        """Returns the value, in the dtype of the call in progress."""
        return _autocast(super().read_value())  # type: ignore[misc]

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Returns the rows at `indices`, in the dtype of the call in progress."""
        return _autocast(super().sparse_read(indices, name=name))


class AutocastVariable(_ReadInCallsDtype, BaseResourceVariable):
    """A variable that, inside a layer's call, is read in the layer's compute dtype.

    The conversion to a tensor is different: `tf.matmul(x, self.w)`, `x * self.w` and
    `tf.nn.bias_add(x, self.b)` get 16 bits, gradients and assignments go to the 32-bit variable.
    So is `dtype`, so that `tf.cast(x, self.w.dtype)` gives what can be used with `self.w`.
    Made for layers with a mixed policy; every other weight is a plain `tf.Variable`.

    It is not a `ResourceVariable`: eager operations read those in C++, without any conversion.

    Args:
        initial_value: the first value.
        trainable: whether gradients train it.
        dtype: its dtype.
        name: name of the variable.
        constraint: function that projects it after each update.
        aggregation: how the values of replicas are combined.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Leaves everything to the constructor; `Variable.__new__` has other parameters."""
        return object.__new__(cls)

    def __init__(
        self,
        initial_value: tf.Tensor,
        trainable: bool,
        dtype: str,
        name: str,
        constraint: Any,
        aggregation: tf.VariableAggregation,
    ) -> None:
        # The plain variable owns the resource, and deletes it.
        self._owner = tf.Variable(initial_value, dtype=dtype, name=name, trainable=trainable)
        super().__init__(
            trainable=trainable,
            constraint=constraint,
            synchronization=tf.VariableSynchronization.AUTO,
            aggregation=aggregation,
            **arguments_of_alias(self._owner),
        )

    @property
    def uncast(self) -> Any:
        """The variable, or a value given for it, that is always read in its own dtype."""
        given = given_values.of(self)
        return self._owner if given is None else given.read()

    @property
    def dtype(self) -> tf.DType:
        """The dtype of the call in progress, in which the variable is read; otherwise the stored dtype."""
        frame = current_frame()
        if frame is None or frame.autocast_dtype is None or calls.assignments:
            return self._owner.dtype
        return tf.as_dtype(frame.autocast_dtype)


def has_copies() -> bool:
    """Whether the strategy in scope makes a copy of each variable for each of its devices."""
    if not tf.distribute.has_strategy():
        return False
    single = (tf.distribute.OneDeviceStrategy, tf.distribute.ParameterServerStrategy)
    return not isinstance(tf.distribute.get_strategy(), single)


def read_in_calls_dtype(variable: Any) -> None:
    """Lets a variable with several copies, under a strategy, be read like an `AutocastVariable`."""
    variable.__class__ = class_over(type(variable), _ReadInCallsDtype)  # type: ignore[arg-type]


def _writing(name: str) -> Callable[..., Any]:
    """Returns a method that assigns values in the dtype of the stored one."""

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.assignments += 1
        try:
            return getattr(super(AutocastVariable, self), name)(*args, **kwargs)
        finally:
            calls.assignments -= 1

    write.__name__ = name
    return write


for _name in WRITING_METHODS:
    setattr(AutocastVariable, _name, _writing(_name))
