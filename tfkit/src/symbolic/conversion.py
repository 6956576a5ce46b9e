"""Converts the arguments of a layer: arrays to tensors, floats to the compute dtype."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import nests, settings
from tfkit.src.base.errors import other_keras
from tfkit.src.base.protocols import HasPath
from tfkit.src.base.registry import dtypes
from tfkit.src.symbolic import masking, specs
from tfkit.src.symbolic.tensors import KerasTensor

_TENSORS = (tf.Tensor, tf.Variable, tf.SparseTensor, tf.RaggedTensor, KerasTensor)


def as_tensors(value: Any, compute_dtype: str | None) -> Any:
    """Returns `value` with arrays as tensors, and float tensors in `compute_dtype`; masks are kept.

    Symbolic tensors are not changed: a cast would be recorded as a call in a functional model. The layer
    casts in the trace, and whenever the model calls it.
    """
    if isinstance(value, tf.Tensor):
        dtype = value.dtype
        # Names are compared first, since every call of a layer runs this: comparing a dtype with a name takes
        # longer.
        if compute_dtype is None or dtype.name == compute_dtype:
            return value
        if not dtype.is_floating or dtype == compute_dtype:
            return value
        cast = tf.cast(value, compute_dtype)
        # Attributes of a tensor, such as its mask, do not pass through an operation.
        masking.set_mask(cast, masking.get_mask(value))
        # An export declares the caller's dtype, not the dtype of the computation: under `mixed_float16`
        # a client still sends float32.
        cast._tfkit_given = value.dtype
        return cast
    if nests.is_nested(value):
        return nests.mapped(lambda item: as_tensors(item, compute_dtype), value)
    if isinstance(value, KerasTensor):
        return value
    if isinstance(value, (tf.SparseTensor, tf.RaggedTensor, tf.Variable)):
        is_float = tf.as_dtype(value.dtype).is_floating
        if compute_dtype is None or not is_float or value.dtype == compute_dtype:
            return value
        cast = tf.cast(value, compute_dtype)
        if isinstance(value, tf.SparseTensor):
            cast.set_shape(value.shape)  # In a trace, the cast loses the attribute.
        return cast
    # A class has the method too, which then belongs to its instances.
    if hasattr(value, "__array__") and not isinstance(value, type):
        if type(value).__name__ == "KerasTensor":
            raise ValueError(
                f"{value!r} is not a symbolic tensor of tfkit.{other_keras.advice(value)}"
            )
        tensor = as_tensors(tf.convert_to_tensor(value), compute_dtype)
        if specs.given_dtype(tensor) == tf.float64 != tensor.dtype:
            # NumPy's default for Python's floats, and therefore not the user's choice.
            tensor._tfkit_given = tf.as_dtype(settings.floatx())
        return tensor
    return value


def symbolic_in_dtype(value: Any, dtype: str) -> Any:
    """Returns a nest whose symbolic floats have a dtype; masks are kept."""
    if nests.is_nested(value):
        return nests.mapped(lambda item: symbolic_in_dtype(item, dtype), value)
    is_float = isinstance(value, KerasTensor) and dtypes.is_float(value.dtype)
    if not is_float or value.dtype == dtype:
        return value
    # Without a node: the cast belongs to the layer's own call, which is recorded as one.
    cast = KerasTensor(value.shape, dtype, value.sparse, value.ragged)
    masking.set_mask(cast, masking.get_mask(value))
    return cast


def is_tensors(value: Any) -> bool:
    """Whether `value` is a tensor, or a nest that contains only tensors."""
    if isinstance(value, _TENSORS) or not nests.is_nested(value):
        return isinstance(value, _TENSORS)
    items = nests.children(value)
    # An optional input may be missing. An empty nest is an argument like any other.
    return bool(items) and all(item is None or is_tensors(item) for item in items)


def check_tensors(value: Any, layer: HasPath) -> None:
    """Raises an error for positional arguments that are not tensors, as Keras does."""
    # An optional input may be `None`.
    if value is None or isinstance(value, _TENSORS):
        return
    if not nests.is_nested(value):
        raise ValueError(
            f"Only input tensors may be passed as positional arguments. Layer '{layer.path}' received "
            f"{value!r} (of type {type(value).__name__}), which should be passed as a keyword argument "
            "(numbers in a list: pass `np.array(...)`)."
        )
    for item in nests.children(value):
        check_tensors(item, layer)
