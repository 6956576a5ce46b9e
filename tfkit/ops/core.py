"""What tensors are made of: shapes, dtypes, conversion, writing parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python.xla import dynamic_update_slice

from tfkit.dtypes import standardize_dtype
from tfkit.ops import promotion
from tfkit.ops.arguments import as_indices
from tfkit.ops.promotion import as_tensor, to_dtype
from tfkit.ops.shaping import static_or_dynamic_shape
from tfkit.ops.sparse import to_dense, zeros_stay
from tfkit.symbolic import is_keras_tensor, symbolic_op

# --- Shapes and dtypes ----------------------------------------------------------------------------


def shape(x: Any) -> tuple[Any, ...]:
    """Sizes of the axes: Python numbers where they are known, scalar tensors where not.

    A symbolic tensor has `None` where the size is not known.

    Raises:
        ValueError: when not even the number of axes is known.
    """
    if is_keras_tensor(x):
        return x.shape
    x = as_tensor(x)
    if isinstance(x, tf.RaggedTensor):
        return tuple(x.shape)
    if x.shape.rank is None:
        raise ValueError(f"The number of axes must be known. Received: {x!r}")
    return static_or_dynamic_shape(x)


def ndim(x: Any) -> int:
    """The number of axes."""
    return len(x.shape) if is_keras_tensor(x) else as_tensor(x).shape.rank


@symbolic_op
def size(x: Any) -> tf.Tensor:
    """The number of elements, as an int32 scalar."""
    return tf.size(as_tensor(x))


def dtype(x: Any) -> str:
    """Name of the dtype."""
    return standardize_dtype(x.dtype if hasattr(x, "dtype") else as_tensor(x).dtype)


@symbolic_op
def cast(x: Any, dtype: Any) -> Any:
    """`x` in another dtype."""
    return promotion.cast(x, standardize_dtype(dtype))


@symbolic_op
def saturate_cast(x: Any, dtype: Any) -> tf.Tensor:
    """`x` in another dtype; what does not fit becomes its least or greatest number."""
    x, dtype = as_tensor(x), standardize_dtype(dtype)
    if dtype == "bool":  # The range is that of 0 and 1.
        return tf.cast(x if x.dtype.is_unsigned or x.dtype == tf.bool else tf.maximum(x, 0), dtype)
    return tf.cast(x, dtype) if x.dtype == tf.bool else tf.saturate_cast(x, dtype)


# --- Conversion -----------------------------------------------------------------------------------


def is_tensor(x: Any) -> bool:
    """Whether `x` is a TensorFlow tensor (a variable too); symbolic tensors are none."""
    return tf.is_tensor(x)


@symbolic_op
def convert_to_tensor(
    x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None
) -> Any:
    """`x` as a tensor.

    Args:
        x: an array, a nest of numbers, a variable or a tensor.
        dtype: that of `x` unless given.
        sparse: `False` makes a sparse tensor dense.
        ragged: `False` makes a ragged tensor dense.
    """
    if sparse is False:
        x = to_dense(x)
    if ragged is False and isinstance(x, tf.RaggedTensor):
        x = x.to_tensor()
    if dtype is None:
        return as_tensor(x)
    dtype = tf.as_dtype(standardize_dtype(dtype))
    return to_dtype(x, dtype)


@symbolic_op
def array(x: Any, dtype: Any = None) -> tf.Tensor:
    """`x` as a tensor, of `dtype` if given."""
    return convert_to_tensor(x, dtype)


@symbolic_op
@zeros_stay
def copy(x: Any) -> tf.Tensor:
    """A tensor of the same values."""
    return tf.identity(as_tensor(x))


def convert_to_numpy(x: Any) -> np.ndarray:
    """`x` as a NumPy array of its own; sparse and ragged tensors become dense."""
    return np.array(x.to_tensor() if isinstance(x, tf.RaggedTensor) else to_dense(x))


# --- Gradients ------------------------------------------------------------------------------------


@symbolic_op
def stop_gradient(variable: Any) -> Any:
    """`variable`, as a constant for gradients."""
    return tf.stop_gradient(variable)


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function that gives its result and the function of its gradient."""
    return tf.custom_gradient(f)


# --- Writing and reading parts --------------------------------------------------------------------


@symbolic_op
def scatter(indices: Any, values: Any, shape: Any) -> tf.Tensor:
    """A tensor of zeros with `values` added at `indices`."""
    return tf.scatter_nd(as_indices(indices), values, shape)


@symbolic_op
def scatter_update(
    inputs: Any, indices: Any, updates: Any, reduction: str | None = None
) -> tf.Tensor:
    """`inputs` with `updates` at `indices`.

    Args:
        inputs: a tensor.
        indices: one place a row.
        updates: what goes there.
        reduction: `None` to replace, or `"add"`, `"max"`, `"min"`, `"mul"` to combine with.

    Raises:
        ValueError: for another reduction.
    """
    inputs, indices = as_tensor(inputs), as_indices(indices)
    updates = tf.cast(updates, inputs.dtype)
    if reduction == "mul":
        # TensorFlow has no scatter that multiplies: what falls on one place is multiplied first.
        places = tf.shape(inputs)[: static_or_dynamic_shape(indices)[-1]]
        count = tf.reduce_prod(places)
        numbers = tf.gather_nd(tf.reshape(tf.range(count), places), indices)
        factors = tf.math.unsorted_segment_prod(updates, numbers, count)
        return inputs * tf.reshape(factors, tf.shape(inputs))
    functions = {
        None: tf.tensor_scatter_nd_update,
        "add": tf.tensor_scatter_nd_add,
        "max": tf.tensor_scatter_nd_max,
        "min": tf.tensor_scatter_nd_min,
    }
    if reduction not in functions:
        raise ValueError(
            "`reduction` must be None, 'add', 'max', 'min' or 'mul'. "
            f"Received: reduction={reduction!r}"
        )
    return functions[reduction](inputs, indices, updates)


@symbolic_op
def slice(inputs: Any, start_indices: Any, shape: Any) -> tf.Tensor:
    """The part of `inputs` of size `shape` that begins at `start_indices`.

    Raises:
        ValueError: when the three have not the same number of axes.
    """
    inputs = as_tensor(inputs)
    for name, given in (("shape", shape), ("start_indices", start_indices)):
        if isinstance(given, (tuple, list)) and len(given) != inputs.shape.rank:
            one, other = ("inputs", name) if name == "shape" else (name, "inputs")
            raise ValueError(
                f"The number of dimensions in `{one}` must match the number of dimensions in "
                f"`{other}`. Received: inputs.shape={inputs.shape}, {name}={given}"
            )
    return tf.slice(inputs, start_indices, shape)


@symbolic_op
def slice_update(inputs: Any, start_indices: Any, updates: Any) -> tf.Tensor:
    """`inputs` with `updates` in the part that begins at `start_indices`."""
    inputs, updates = as_tensor(inputs), as_tensor(updates)
    return dynamic_update_slice(inputs, updates, tf.cast(start_indices, tf.int32))
