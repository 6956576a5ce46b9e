"""Basic operations on tensors: shapes, dtypes, conversion, updates of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.borrowed.private import dynamic_update_slice
from tfkit.src.ops import promotion
from tfkit.src.ops.checks import as_indices
from tfkit.src.ops.promotion import as_tensor, to_dtype
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.ops.sparse import to_dense, zeros_stay
from tfkit.src.symbolic.tensors import is_keras_tensor, symbolic_op

# --- Shapes and dtypes ----------------------------------------------------------------------------


def shape(x: Any) -> tuple[Any, ...]:
    """Returns the sizes of the axes of a tensor.

    Args:
        x: a tensor, an array or a nest of numbers.

    Returns:
        A tuple of Python integers. In a traced function, an unknown size is a scalar tensor; an
        unknown size of a symbolic tensor is `None`.

    Raises:
        ValueError: when not even the number of axes is known.

    Example:
        >>> ops.shape([[1, 2, 3], [4, 5, 6]])
        (2, 3)
        >>> ops.shape(tfkit.Input((3,)))
        (None, 3)
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
    """Returns the number of axes of a tensor.

    Args:
        x: a tensor, symbolic or not, an array or a nest of numbers.

    Returns:
        A Python integer: 0 for a number, 1 for a vector, 2 for a matrix; `None` if it is not
        known.

    Example:
        >>> ops.ndim([[1, 2], [3, 4]]), ops.ndim(5.0)
        (2, 0)
    """
    return len(x.shape) if is_keras_tensor(x) else as_tensor(x).shape.rank


@symbolic_op
def size(x: Any) -> tf.Tensor:
    """Returns the number of elements of a tensor: the product of its sizes.

    Args:
        x: a tensor of any shape.

    Returns:
        An int32 scalar tensor.

    Example:
        >>> int(ops.size([[1, 2, 3], [4, 5, 6]]))
        6
    """
    return tf.size(as_tensor(x))


def dtype(x: Any) -> str:
    """Returns the name of the dtype of a tensor.

    Args:
        x: a tensor, symbolic or not, a variable, an array or a nest of numbers.

    Returns:
        A string such as `"float32"`.

    Example:
        >>> ops.dtype([1, 2]), ops.dtype(tf.constant(1.0, "float16"))
        ('int32', 'float16')
    """
    return standardize_dtype(x.dtype if hasattr(x, "dtype") else as_tensor(x).dtype)


@symbolic_op
def cast(x: Any, dtype: Any) -> Any:
    """Returns a tensor in a different dtype.

    Floats are truncated when they become integers; any number but 0 becomes true.

    Args:
        x: a tensor of any shape, sparse ones included.
        dtype: name of the dtype, or a TensorFlow or NumPy dtype.

    Returns:
        A tensor of the shape of `x`. Values that the new dtype cannot hold are not defined; see
        `saturate_cast`.

    Example:
        >>> ops.cast([1.7, -1.7, 0.0], "int32").numpy().tolist()
        [1, -1, 0]
        >>> ops.cast([0, 2], "bool").numpy().tolist()
        [False, True]
    """
    return promotion.cast(x, standardize_dtype(dtype))


@symbolic_op
def saturate_cast(x: Any, dtype: Any) -> tf.Tensor:
    """Returns a tensor in a different dtype, limited to the range of that dtype.

    Args:
        x: a tensor of any shape.
        dtype: name of the dtype, or a TensorFlow or NumPy dtype.

    Returns:
        A tensor of the shape of `x`; values outside of the range become its smallest or largest
        number.

    Example:
        >>> ops.saturate_cast([-5, 100, 1000], "uint8").numpy().tolist()
        [0, 100, 255]
    """
    x, dtype = as_tensor(x), standardize_dtype(dtype)
    if dtype == "bool":  # The range of 0 and 1.
        return tf.cast(x if x.dtype.is_unsigned or x.dtype == tf.bool else tf.maximum(x, 0), dtype)
    if x.dtype.is_integer:  # `tf.saturate_cast` lacks kernels, and is wrong for 64 bits.
        other = tf.as_dtype(dtype)
        low, high = (v if other.is_integer else int(float(v)) for v in (other.min, other.max))
        x = x if x.dtype.max <= high else tf.minimum(x, high)
        x = x if x.dtype.min >= low else tf.maximum(x, low)
    return tf.cast(x, dtype) if not x.dtype.is_floating else tf.saturate_cast(x, dtype)


# --- Conversion -----------------------------------------------------------------------------------


def is_tensor(x: Any) -> bool:
    """Returns whether an object is a TensorFlow tensor or variable.

    Args:
        x: any object.

    Returns:
        A Python bool; false for arrays and numbers, and for symbolic tensors, which have no
        values.

    Example:
        >>> ops.is_tensor(tf.constant(1.0)), ops.is_tensor([1.0]), ops.is_tensor(tfkit.Input((3,)))
        (True, False, False)
    """
    return tf.is_tensor(x)


@symbolic_op
def convert_to_tensor(
    x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None
) -> Any:
    """Returns an array, a nest of numbers, a variable or a tensor as a tensor.

    Args:
        x: value to convert.
        dtype: dtype of the result; `None` for the dtype of `x`: int32 for Python integers, float32 for
            Python floats.
        sparse: `False` makes a sparse tensor dense; `None` and `True` do not change it.
        ragged: `False` makes a ragged tensor dense; `None` and `True` do not change it.

    Returns:
        A tensor of the shape of `x`.

    Example:
        >>> ops.convert_to_tensor([[1, 2], [3, 4]], dtype="float32")
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[1., 2.],
               [3., 4.]], dtype=float32)>
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
    """Returns an array, a nest of numbers, a variable or a tensor as a tensor.

    Args:
        x: value to convert.
        dtype: dtype of the result; `None` for the dtype of `x`: int32 for Python integers, float32 for
            Python floats.

    Returns:
        A tensor of the shape of `x`.

    Example:
        >>> ops.array([1, 2, 3], dtype="float16").numpy()
        array([1., 2., 3.], dtype=float16)
    """
    return convert_to_tensor(x, dtype)


@zeros_stay
def copy(x: Any) -> tf.Tensor:
    """Returns a new tensor with the same values.

    Args:
        x: a tensor, an array or a variable, whose later changes do not reach the copy.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Example:
        >>> variable = tf.Variable([1.0, 2.0])
        >>> kept = ops.copy(variable)
        >>> _ = variable.assign([0.0, 0.0])
        >>> kept.numpy().tolist()
        [1.0, 2.0]
    """
    return tf.identity(as_tensor(x))


def convert_to_numpy(x: Any) -> np.ndarray:
    """Returns a tensor as a NumPy array that may be changed.

    Args:
        x: a tensor with values, a variable or an array; sparse and ragged tensors become dense.

    Returns:
        A `np.ndarray` with its own memory, of the shape and dtype of `x`.

    Raises:
        NotImplementedError: for a tensor of a traced function, which has no values yet.

    Example:
        >>> array = ops.convert_to_numpy(tf.constant([1, 2]))
        >>> array *= 2
        >>> array.tolist()
        [2, 4]
    """
    values = x.to_tensor() if isinstance(x, tf.RaggedTensor) else to_dense(x)
    if tf.is_tensor(values) and not tf.is_symbolic_tensor(values):
        # NumPy refuses what TensorFlow passes it for a scalar of bfloat16.
        values = values.numpy()
    return np.array(values)


# --- Gradients ------------------------------------------------------------------------------------


@symbolic_op
def stop_gradient(variable: Any) -> Any:
    """Returns a tensor unchanged, as a constant for gradients.

    Args:
        variable: a tensor or a variable of any shape.

    Returns:
        A tensor of the same values. No gradient flows through it.

    Example:
        >>> x = tf.Variable(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * ops.stop_gradient(x)
        >>> float(tape.gradient(y, x))
        3.0
    """
    return tf.stop_gradient(variable)


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function with the gradient that it computes itself: a decorator.

    Args:
        f: a function of tensors that returns a pair: its result, and a function from the gradient
            with respect to the result (`upstream`) to the gradients with respect to its
            arguments.

    Returns:
        A function of the same arguments that returns only the result.

    Example:
        >>> @ops.custom_gradient
        ... def clipped(x):
        ...     return x, lambda upstream: tf.clip_by_value(upstream, -1.0, 1.0)
        >>> x = tf.Variable(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = 5.0 * clipped(x)
        >>> float(tape.gradient(y, x))
        1.0
    """
    return tf.custom_gradient(f)


# --- Writing and reading parts --------------------------------------------------------------------


@symbolic_op
def scatter(indices: Any, values: Any, shape: Any) -> tf.Tensor:
    """Returns a tensor of zeros to which values are added at given positions.

    Args:
        indices: integers of shape `(n, d)`: one position in each row, as indices of the first `d` axes.
            Floats are truncated towards zero.
        values: numbers or slices, of shape `(n, *shape[d:])`.
        shape: sizes of the result.

    Returns:
        A tensor of shape `shape` and of the dtype of `values`; where a position occurs twice, both
        values are added.

    Example:
        >>> ops.scatter([[0], [2], [2]], [1.0, 2.0, 3.0], (4,)).numpy().tolist()
        [1.0, 0.0, 5.0, 0.0]
    """
    return tf.scatter_nd(as_indices(indices), values, shape)


@symbolic_op
def scatter_update(
    inputs: Any, indices: Any, updates: Any, reduction: str | None = None
) -> tf.Tensor:
    """Returns a tensor with some of its elements or slices replaced or combined with others.

    Args:
        inputs: a tensor of any shape.
        indices: integers of shape `(n, d)`: one position in each row, as indices of the first `d` axes
            of `inputs`. Floats are truncated towards zero.
        updates: numbers or slices, of shape `(n, *inputs.shape[d:])`; cast to the dtype of
            `inputs`.
        reduction: `None` to replace, or `"add"`, `"max"`, `"min"`, `"mul"` to combine with what
            is there.

    Returns:
        A new tensor of the shape and dtype of `inputs`.

    Raises:
        ValueError: for an unknown reduction.

    Example:
        >>> ops.scatter_update([1, 2, 3], [[0], [2]], [10, 30]).numpy().tolist()
        [10, 2, 30]
        >>> ops.scatter_update([1, 2, 3], [[0], [2]], [10, 30], reduction="add").numpy().tolist()
        [11, 2, 33]
    """
    inputs, indices = as_tensor(inputs), as_indices(indices)
    updates = tf.cast(updates, inputs.dtype)
    if reduction == "mul":
        # TensorFlow has no scatter that multiplies: values for the same position are multiplied first.
        places = tf.shape(inputs)[: static_or_dynamic_shape(indices)[-1]]
        count = tf.reduce_prod(places)
        numbers = tf.gather_nd(tf.reshape(tf.range(count), places), indices)
        # A segment without updates has the product 1.
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
            f"`reduction` must be None, 'add', 'max', 'min' or 'mul'. Received: reduction={reduction!r}"
        )
    return functions[reduction](inputs, indices, updates)


@symbolic_op
def slice(inputs: Any, start_indices: Any, shape: Any) -> tf.Tensor:
    """Returns the block of a tensor that starts at given indices and has a given size.

    Args:
        inputs: a tensor of any shape.
        start_indices: for each axis the first index, a tuple or a tensor.
        shape: for each axis the size of the block; -1 for all that follows.

    Returns:
        A tensor of shape `shape` and of the dtype of `inputs`.

    Raises:
        ValueError: when the three do not have the same number of axes.

    Example:
        >>> ops.slice([[1, 2, 3], [4, 5, 6]], (0, 1), (2, 2)).numpy().tolist()
        [[2, 3], [5, 6]]
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
    """Returns a tensor in which one block is replaced.

    Args:
        inputs: a tensor of any shape.
        start_indices: for each axis the first index of the block, a tuple or a tensor. An index
            is reduced if the block would not fit there.
        updates: the new block, of as many axes and of the dtype of `inputs`.

    Returns:
        A new tensor of the shape and dtype of `inputs`.

    Example:
        >>> ops.slice_update([[1, 2, 3], [4, 5, 6]], (0, 1), [[0, 0]]).numpy().tolist()
        [[1, 0, 0], [4, 5, 6]]
    """
    starts = tf.convert_to_tensor(tf.cast(start_indices, tf.int32))
    return _with_block(as_tensor(inputs), as_tensor(updates), starts)


@tf.custom_gradient
def _with_block(inputs: tf.Tensor, updates: tf.Tensor, starts: tf.Tensor) -> Any:
    """Returns `inputs` with a block, and its gradient: TensorFlow has none."""

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, None]:
        size = tf.shape(updates)
        # As the operation does with a block that does not fit.
        first = tf.clip_by_value(starts, 0, tf.shape(inputs) - size)
        rest = _with_block(upstream, tf.zeros_like(updates), starts)
        return rest, tf.slice(upstream, first, size), None

    return dynamic_update_slice(inputs, updates, starts), gradient
