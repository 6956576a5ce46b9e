"""What tensors are made of and how programs flow: shapes, dtypes, conversion, branches, loops."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python.xla import dynamic_update_slice

from tfkit.dtypes import standardize_dtype
from tfkit.ops.promotion import as_tensor
from tfkit.ops.shaping import static_or_dynamic_shape
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
    return tf.cast(x, standardize_dtype(dtype))


@symbolic_op
def saturate_cast(x: Any, dtype: Any) -> tf.Tensor:
    """`x` in another dtype; what does not fit becomes its least or greatest number."""
    return tf.saturate_cast(as_tensor(x), standardize_dtype(dtype))


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
    if sparse is False and isinstance(x, tf.SparseTensor):
        x = tf.sparse.to_dense(x)
    if ragged is False and isinstance(x, tf.RaggedTensor):
        x = x.to_tensor()
    if dtype is None:
        return as_tensor(x)
    dtype = tf.as_dtype(standardize_dtype(dtype))
    if not tf.is_tensor(x) and dtype.is_floating:
        return tf.convert_to_tensor(x, dtype)  # Python floats at once, without float32 in between.
    return tf.cast(as_tensor(x), dtype)


@symbolic_op
def array(x: Any, dtype: Any = None) -> tf.Tensor:
    """`x` as a tensor, of `dtype` if given."""
    return convert_to_tensor(x, dtype)


@symbolic_op
def copy(x: Any) -> tf.Tensor:
    """A tensor of the same values."""
    return tf.identity(as_tensor(x))


def convert_to_numpy(x: Any) -> np.ndarray:
    """`x` as a NumPy array of its own; sparse and ragged tensors become dense."""
    if isinstance(x, tf.SparseTensor):
        x = tf.sparse.to_dense(x)
    elif isinstance(x, tf.RaggedTensor):
        x = x.to_tensor()
    elif isinstance(x, tf.IndexedSlices):
        x = tf.convert_to_tensor(x)
    return np.array(x)


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
    return tf.scatter_nd(indices, values, shape)


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
    inputs = as_tensor(inputs)
    updates = tf.cast(updates, inputs.dtype)
    if reduction == "mul":
        # One row after the other: TensorFlow has no scatter that multiplies.
        indices = as_tensor(indices)

        def multiply_row(i: Any, result: Any) -> Any:
            row = tf.gather_nd(result, indices[i : i + 1]) * updates[i : i + 1]
            return i + 1, tf.tensor_scatter_nd_update(result, indices[i : i + 1], row)

        count = tf.shape(indices)[0]
        return tf.while_loop(lambda i, _: i < count, multiply_row, (0, inputs))[1]
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
    """The part of `inputs` of size `shape` that begins at `start_indices`."""
    return tf.slice(inputs, start_indices, shape)


@symbolic_op
def slice_update(inputs: Any, start_indices: Any, updates: Any) -> tf.Tensor:
    """`inputs` with `updates` in the part that begins at `start_indices`."""
    inputs, updates = as_tensor(inputs), as_tensor(updates)
    return dynamic_update_slice(inputs, updates, tf.cast(start_indices, tf.int32))


# --- Branches -------------------------------------------------------------------------------------


@symbolic_op
def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """`true_fn()` where the scalar `pred` is true, else `false_fn()`."""
    return tf.cond(tf.cast(pred, tf.bool), true_fn, false_fn)


@symbolic_op
def switch(index: Any, branches: Any, *operands: Any) -> Any:
    """What the branch of that number gives for the operands; an index outside is moved inside."""
    index = tf.clip_by_value(tf.cast(index, tf.int32), 0, len(branches) - 1)
    return tf.switch_case(index, [_bind(branch, operands) for branch in branches])


def _bind(function: Callable[..., Any], operands: Any) -> Callable[[], Any]:
    return lambda: function(*operands)


# --- Loops ----------------------------------------------------------------------------------------


@symbolic_op
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: int | None = None,
) -> Any:
    """`body` applied to the loop variables as long as `cond` of them is true.

    Args:
        cond: gives a bool scalar for the loop variables.
        body: gives the next loop variables.
        loop_vars: a tensor, or a list or tuple of tensors.
        maximum_iterations: where to stop at the latest.

    Example:
        >>> int(while_loop(lambda i: i < 10, lambda i: i + 3, 0))
        12
    """
    nested = isinstance(loop_vars, (tuple, list))
    variables = tuple(loop_vars) if nested else (loop_vars,)

    def step(*values: Any) -> tuple[Any, ...]:
        result = body(*values)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    result = tf.while_loop(cond, step, variables, maximum_iterations=maximum_iterations)
    return result if nested else result[0]


@symbolic_op
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """`body_fun(i, value)` applied again and again, for `i` from `lower` up to, without, `upper`."""
    return tf.while_loop(
        lambda i, _: i < upper, lambda i, value: (i + 1, body_fun(i, value)), (lower, init_val)
    )[1]


def _specification(x: Any) -> tf.TensorSpec:
    return tf.TensorSpec(x.shape, x.dtype)


@symbolic_op
def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """`f` of each slice of `xs` along the first axis, one after the other, as one tensor."""
    xs = tf.nest.map_structure(tf.convert_to_tensor, xs)
    first = f(tf.nest.map_structure(lambda x: x[0], xs))
    signature = tf.nest.map_structure(_specification, tf.nest.map_structure(as_tensor, first))
    return tf.map_fn(f, xs, fn_output_signature=signature)


@symbolic_op
def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """`function` of each slice of `elements` along the first axis, all at once."""
    return tf.vectorized_map(function, elements)


@symbolic_op
def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """A value carried through the slices of `xs`, with an output at each: `carry, y = f(carry, x)`.

    Args:
        f: one step.
        init: the first carry.
        xs: what to walk along, by the first axis; `None` to count only.
        length: how many steps; the length of `xs` unless given.
        reverse: whether to walk from the end.
        unroll: how many steps may be in flight at once; `True` for all.

    Returns:
        The last carry, and the outputs stacked along a new first axis.

    Raises:
        TypeError: when `f` is not callable.
        ValueError: when neither `xs` nor `length` is given, or `unroll` is below 1.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be a positive integer or bool. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    init = tf.nest.map_structure(as_tensor, init)
    xs = None if xs is None else tf.nest.map_structure(as_tensor, xs)
    leaves = [] if xs is None else tf.nest.flatten(xs)
    count = length if length is not None else static_or_dynamic_shape(leaves[0])[0]
    parallel = unroll if not isinstance(unroll, bool) else 10 if unroll else 1

    def slices(i: Any) -> Any:
        return None if xs is None else tf.nest.map_structure(lambda x: x[i], xs)

    # The step traced once without running it: only it knows what its outputs are.
    with tf.__internal__.FuncGraph("scan_outputs").as_default():
        template = f(init, slices(0))[1]
    outputs = [] if template is None else tf.nest.flatten(template)
    arrays = [tf.TensorArray(y.dtype, count, element_shape=y.shape) for y in outputs]

    def step(n: Any, carry: Any, arrays: Any) -> Any:
        i = count - 1 - n if reverse else n
        carry, y = f(carry, slices(i))
        flat = [] if y is None else tf.nest.flatten(y)
        return n + 1, carry, [a.write(i, v) for a, v in zip(arrays, flat, strict=True)]

    _, carry, arrays = tf.while_loop(
        lambda n, *_: n < count, step, (0, init, arrays), parallel_iterations=parallel
    )
    stacked = [a.stack() for a in arrays]
    return carry, None if template is None else tf.nest.pack_sequence_as(template, stacked)


@symbolic_op
def associative_scan(
    f: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Running results of an associative function along `axis`, in logarithmically many steps.

    Args:
        f: an associative function of two nests of tensors.
        elems: a tensor or a nest of them, all of one, known, size along `axis`.
        reverse: whether to run from the end.
        axis: the axis to run along.

    Raises:
        TypeError: when `f` is not callable.
        ValueError: when the sizes differ or are not known.

    Reference:
        Hillis & Steele, "Data parallel algorithms", 1986.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    elems = tf.nest.map_structure(as_tensor, elems)
    sizes = {leaf.shape[axis] for leaf in tf.nest.flatten(elems)}
    if len(sizes) != 1 or None in sizes:
        raise ValueError(
            f"All elements must have the same known size along axis {axis}. Received: {sizes}"
        )
    (count,) = sizes

    def part(start: int | None, stop: int | None) -> Callable[[Any], Any]:
        def take(x: Any) -> Any:
            return x[
                (builtins.slice(None),) * (axis % x.shape.rank) + (builtins.slice(start, stop),)
            ]

        return take

    distance = 1
    while distance < count:
        near, far = (part(None, -distance), part(distance, None))
        kept = part(None, distance)
        if reverse:
            near, far, kept = far, near, part(-distance, None)
        combined = f(tf.nest.map_structure(near, elems), tf.nest.map_structure(far, elems))
        rest = tf.nest.map_structure(kept, elems)
        pairs = (combined, rest) if reverse else (rest, combined)
        elems = tf.nest.map_structure(lambda *parts: tf.concat(parts, axis), *pairs)
        distance *= 2
    return elems


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = None, signature: str | None = None
) -> Callable[..., Any]:
    """A function of single elements as one of whole tensors, which broadcast.

    Args:
        pyfunc: takes and gives scalars.
        excluded: positions or names of arguments to pass on as they are.
        signature: not supported: a core signature such as `"(n)->()"`.

    Raises:
        ValueError: when a `signature` is given.
    """
    if signature is not None:
        raise ValueError(
            "`signature` is not supported; use `ops.vectorized_map` over the leading axes. "
            f"Received: signature={signature!r}"
        )
    excluded = set(excluded or ())

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        places = [i for i in range(len(args)) if i not in excluded]
        tensors = [as_tensor(args[i]) for i in places]
        shape: Any = tf.constant([], tf.int32)
        for tensor in tensors:
            shape = tf.broadcast_dynamic_shape(shape, tf.shape(tensor))
        flat = [tf.reshape(tf.broadcast_to(tensor, shape), [-1]) for tensor in tensors]

        def element(values: Any) -> Any:
            filled = list(args)
            for i, value in zip(places, values, strict=True):
                filled[i] = value
            return pyfunc(*filled, **kwargs)

        return tf.nest.map_structure(
            lambda y: tf.reshape(y, tf.concat([shape, tf.shape(y)[1:]], 0)),
            tf.vectorized_map(element, tuple(flat)),
        )

    return vectorized
