"""Shapes and dtypes without tensors: specs of arguments, symbolic tensors, and both as data."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.symbolic import masking
from tfkit.src.symbolic.tensors import KerasTensor

# --- Shapes -------------------------------------------------------------------------------------------


def is_shape(value: Any) -> bool:
    """Whether `value` is one shape, and not a nest of shapes."""
    return isinstance(value, (list, tuple, tf.TensorShape)) and all(
        size is None or isinstance(size, (int, np.integer)) for size in value
    )


def shapes_of(value: Any) -> Any:
    """Returns the shape of a tensor as a tuple, or the shapes of a nest as a nest of tuples, for files."""
    if isinstance(value, Mapping):
        return {key: shapes_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return nests.mapped(shapes_of, value)
    if nests.is_nested(value):
        return tuple(shapes_of(item) for item in nests.children(value))
    return None if value is None else tuple(value.shape)


def shapes_from_data(value: Any) -> Any:
    """Returns shapes as tuples, in the nest that a file stores as lists."""
    if is_shape(value):
        return tuple(value)
    if isinstance(value, dict):
        return {key: shapes_from_data(item) for key, item in value.items()}
    return value if value is None else type(value)(shapes_from_data(item) for item in value)


def free_batch(outputs: Any) -> Any:
    """Returns the shapes of a call's outputs, with any batch size."""
    return tf.nest.map_structure(
        lambda output: (
            # A scalar has no batch axis that could be free.
            (None, *output.shape[1:]) if tf.is_tensor(output) and output.shape.rank else None
        ),
        outputs,
    )


# --- Specs of arguments of calls ----------------------------------------------------------------------


def given_dtype(tensor: Any) -> tf.DType:
    """Returns the dtype that the caller of a layer passed, before the layer cast the tensor."""
    return getattr(tensor, "_tfkit_given", tensor.dtype)


def mark_as_given(tensors: Any, dtype: str, given: str) -> None:
    """Marks the tensors of one dtype in a nest as if a layer had cast them from `given`."""
    for tensor in tf.nest.flatten(tensors):
        if isinstance(tensor, tf.Tensor) and tensor.dtype == dtype:
            tensor._tfkit_given = tf.as_dtype(given)


def spec_of(tensor: Any, as_given: bool = False) -> Any:
    """Returns the spec of a tensor with any batch size; `as_given`, with its dtype before a cast."""
    if tensor is None:
        return None
    if not isinstance(tensor, (tf.Tensor, tf.Variable, KerasTensor)):
        # Ragged and sparse tensors: their specs have more than a shape.
        return tf.type_spec_from_value(tensor)
    shape = list(tensor.shape) if tensor.shape is not None else None
    dtype = given_dtype(tensor) if as_given else tensor.dtype
    # A scalar keeps its shape, and an unknown rank stays unknown: neither has a first axis.
    return tf.TensorSpec([None, *shape[1:]] if shape else shape, dtype)


def merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Returns specs that fit old and new tensors; the new specs if structure, dtype or rank differ."""
    if old is None or not _alike(old, new):
        return new
    return {name: tf.nest.map_structure(_for_both, old[name], spec) for name, spec in new.items()}


def _alike(old: dict[str, Any], new: dict[str, Any]) -> bool:
    try:
        tf.nest.assert_same_structure(old, new)
    except (ValueError, TypeError):
        return False
    pairs = zip(tf.nest.flatten(old), tf.nest.flatten(new), strict=True)
    return all(_comparable(a, b) for a, b in pairs)


def _comparable(a: Any, b: Any) -> bool:
    if isinstance(a, tf.TensorSpec) and isinstance(b, tf.TensorSpec):
        return a.dtype == b.dtype and a.shape.rank == b.shape.rank
    # `None` for an optional argument, or the spec of a composite tensor.
    return type(a) is type(b)


def _for_both(a: Any, b: Any) -> Any:
    if not isinstance(a, tf.TensorSpec):
        return b
    # A size in which two calls differ becomes `None`, so that an export accepts both.
    return tf.TensorSpec(a.shape.most_specific_compatible_shape(b.shape), a.dtype)


def to_data(specs: dict[str, Any]) -> dict[str, Any]:
    """Returns specs as data: `{"inputs": {"shape": (None, 3), "dtype": "float32"}}`."""
    return {name: tf.nest.map_structure(_spec_data, spec) for name, spec in specs.items()}


def _spec_data(spec: Any) -> Any:
    if not isinstance(spec, tf.TensorSpec):
        return None
    shape = None if spec.shape.rank is None else tuple(spec.shape)
    return {"shape": shape, "dtype": spec.dtype.name}


# --- Symbolic tensors ---------------------------------------------------------------------------------


def symbolic_from_data(data: Any) -> Any:
    """Returns the symbolic tensors for specs in the form of `to_data`."""
    if isinstance(data, dict):
        # A leaf is recognized by its keys: a user's dict of inputs with exactly these two names is
        # not supported.
        if set(data) == {"shape", "dtype"}:
            return KerasTensor(data["shape"], data["dtype"])
        return {key: symbolic_from_data(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(symbolic_from_data(item) for item in data)
    return data


def symbolic_call(
    data: dict[str, Any], signature: inspect.Signature
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the symbolic arguments of a call, by position and by name, for specs by parameter name.

    Raises:
        TypeError: for a name that is not a parameter.
    """
    unknown = set(data) - set(signature.parameters)
    if unknown:
        raise TypeError(f"got unexpected arguments {sorted(unknown)}. Expected: {signature}")
    given = OrderedDict(symbolic_from_data(data))
    bound = inspect.BoundArguments(signature, given)
    return bound.args, bound.kwargs


def symbolic_from_shapes(shapes: Any, dtype: str) -> Any:
    """Returns symbolic tensors for a nest of shapes, in the same nest."""
    if shapes is None:  # An optional argument that is not passed.
        return None
    if is_shape(shapes):
        return KerasTensor(shapes, dtype)
    if nests.is_nested(shapes):
        return nests.mapped(lambda shape: symbolic_from_shapes(shape, dtype), shapes)
    raise ValueError(
        f"Expected a shape, a tuple of integers and `None`, or a nest of shapes. Received: {shapes!r}"
    )


def completed(outputs: Any, declared: Any) -> Any:
    """Returns symbolic tensors with missing sizes from declared ones, if these have the same nest."""
    try:
        tf.nest.assert_same_structure(outputs, declared)
    except (TypeError, ValueError):
        return outputs
    return tf.nest.map_structure(_completed, outputs, declared)


def _completed(output: Any, other: Any) -> Any:
    if not isinstance(output, KerasTensor) or other is None:
        return output
    if output.shape is None:
        shape = other.shape
    elif other.shape is None or len(other.shape) != len(output.shape):
        return output
    else:
        pairs = zip(output.shape, other.shape, strict=True)
        shape = tuple(known if size is None else size for size, known in pairs)
    if shape == output.shape:
        return output
    result = KerasTensor(shape, output.dtype, sparse=output.sparse, ragged=output.ragged)
    masking.set_mask(result, masking.get_mask(output))
    return result
