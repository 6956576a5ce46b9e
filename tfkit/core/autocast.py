"""Weights under mixed precision: kept in `float32`, read as the 16-bit dtype of the layer that is called."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from tfkit.core.context import current_frame


class AutocastVariable(ResourceVariable):
    """A variable that, inside a layer's call, reads as the layer's compute dtype.

    Only the conversion to a tensor is different: `tf.matmul(x, self.w)`, `x @ self.w` and
    `tf.nn.bias_add(x, self.b)` get 16 bits, gradients and assignments go to the 32-bit variable.
    Made for layers with a mixed policy; every other weight is a plain `tf.Variable`.
    """

    def value(self) -> tf.Tensor:
        """The value, in the dtype of the call in progress."""
        return _autocast(super().value())

    def read_value(self) -> tf.Tensor:
        """The value, in the dtype of the call in progress."""
        return _autocast(super().read_value())

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """The rows at `indices`, in the dtype of the call in progress."""
        return _autocast(super().sparse_read(indices, name=name))

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> tf.Tensor:
        value = _autocast(super()._dense_var_to_tensor(name=name, as_ref=as_ref))
        if dtype is not None and not tf.as_dtype(dtype).is_compatible_with(value.dtype):
            return NotImplemented
        return value


def _autocast(value: tf.Tensor) -> tf.Tensor:
    frame = current_frame()
    if frame is None or frame.autocast_dtype is None:
        return value
    return tf.cast(value, frame.autocast_dtype)
