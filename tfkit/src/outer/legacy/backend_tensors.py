"""Functions of `tf.keras.backend` that make tensors and variables, read them, and change their shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> tf.Tensor:
    """Returns `start, start + step, ...` below `stop`; with one number, from 0 up to it."""
    numbers = tf.range(0, start, step) if stop is None else tf.range(start, stop, step)
    return tf.cast(numbers, dtype)


def batch_flatten(x: Any) -> tf.Tensor:
    """Returns `x` of shape `(batch, ...)` as a matrix `(batch, features)`."""
    x = tf.convert_to_tensor(x)
    return tf.reshape(
        x, [-1, int(np.prod(x.shape[1:]))] if x.shape[1:].is_fully_defined() else _rows(x)
    )


def _rows(x: tf.Tensor) -> tf.Tensor:
    return tf.stack([-1, tf.reduce_prod(tf.shape(x)[1:])])


def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """Returns the values of variables or tensors as arrays."""
    return [get_value(each) for each in tensors]


def batch_set_value(tuples: Sequence[tuple[tf.Variable, Any]]) -> None:
    """Assigns to each variable its value, by pairs `(variable, value)`."""
    for variable, value in tuples:
        set_value(variable, value)


def cast(x: Any, dtype: Any) -> tf.Tensor:
    """Returns `x` in a different dtype."""
    return tf.cast(x, dtype)


def cast_to_floatx(x: Any) -> Any:
    """Returns `x` in the default float dtype: a tensor for a tensor, an array for anything else."""
    if isinstance(x, (tf.Tensor, tf.Variable, tf.SparseTensor)):
        return tf.cast(x, settings.floatx())
    return np.asarray(x, dtype=settings.floatx())


def concatenate(tensors: Sequence[Any], axis: int = -1) -> tf.Tensor:
    """Returns tensors joined along an axis."""
    return tf.concat([to_dense(each) for each in tensors], axis)


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = None
) -> tf.Tensor:
    """Returns a tensor with the value; dtype `None` for the default float dtype."""
    return tf.constant(value, dtype or settings.floatx(), shape, name or "Const")


def count_params(x: Any) -> int:
    """Returns the number of entries of a variable or tensor."""
    return int(np.prod(x.shape.as_list()))


def dtype(x: Any) -> str:
    """Returns the name of the dtype of a variable or tensor."""
    return tf.as_dtype(x.dtype).name


def eval(x: Any) -> Any:
    """Returns the value of a variable or tensor as an array."""
    return get_value(to_dense(x))


def expand_dims(x: Any, axis: int = -1) -> tf.Tensor:
    """Returns `x` with an additional axis of size 1."""
    return tf.expand_dims(x, axis)


def eye(size: Any, dtype: Any = None, name: str | None = None) -> tf.Variable:
    """Returns a variable with the identity matrix of `size` rows, or of `(rows, columns)`."""
    rows, columns = size if isinstance(size, (tuple, list)) else (size, size)
    return variable(tf.eye(rows, columns, dtype=dtype or settings.floatx()), dtype, name)


def flatten(x: Any) -> tf.Tensor:
    """Returns the entries of `x` as a vector; its first axis, the batch, is flattened too."""
    return tf.reshape(x, [-1])


def foldl(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Returns `fn(... fn(fn(initializer, elems[0]), elems[1]) ...)`."""
    return tf.foldl(fn, elems, initializer, name=name)


def foldr(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Returns what `foldl` returns for the elements in reverse order."""
    return tf.foldr(fn, elems, initializer, name=name)


def gather(reference: Any, indices: Any) -> tf.Tensor:
    """Returns the rows of `reference` at `indices`."""
    return tf.gather(reference, indices)


def get_value(x: Any) -> Any:
    """Returns the value of a variable or tensor as an array; anything else as it is."""
    return x.numpy() if isinstance(x, (tf.Tensor, tf.Variable)) else x


def gradients(loss: Any, variables: Any) -> list[Any]:
    """Returns the derivatives of `loss` with respect to variables, in a graph."""
    if tf.executing_eagerly():
        raise RuntimeError(
            "`backend.gradients` works in graphs only. Record the computation with `tf.GradientTape` and use "
            "`tape.gradient(loss, variables)`."
        )
    return tf.gradients(loss, variables)


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """Returns the shape as a tuple, with `None` for sizes that are not known."""
    try:
        return tuple(tf.TensorShape(x.shape).as_list())
    except ValueError:
        return None


def is_sparse(tensor: Any) -> bool:
    """Returns whether a tensor is a `tf.SparseTensor`."""
    return isinstance(tensor, tf.SparseTensor)


def map_fn(fn: Callable[[Any], Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """Returns `fn` of each row of `elems`, as rows of a tensor."""
    return tf.map_fn(fn, elems, fn_output_signature=dtype, name=name)


def ndim(x: Any) -> int:
    """Returns the number of axes."""
    return len(x.shape)


def one_hot(indices: Any, num_classes: int) -> tf.Tensor:
    """Returns for each index a vector with 1 at this index and 0 elsewhere."""
    return tf.one_hot(indices, num_classes)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns a variable of ones; in a graph with an unknown shape, a tensor."""
    return variable(tf.ones(shape, dtype or settings.floatx()), dtype, name)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Returns ones in the shape of `x`."""
    return tf.ones_like(x, dtype, name)


def permute_dimensions(x: Any, pattern: Sequence[int]) -> tf.Tensor:
    """Returns `x` with its axes in a different order."""
    return tf.transpose(x, pattern)


def random_bernoulli(
    shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None
) -> tf.Tensor:
    """Returns ones with probability `p`, and zeros."""
    drawn = tf.random.uniform(shape, dtype=dtype or settings.floatx(), seed=_seed(seed))
    return tf.where(drawn <= p, tf.ones_like(drawn), tf.zeros_like(drawn))


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> tf.Tensor:
    """Returns random values from a normal distribution."""
    return tf.random.normal(shape, mean, stddev, dtype or settings.floatx(), _seed(seed))


def random_normal_variable(
    shape: Any,
    mean: float,
    scale: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> tf.Variable:
    """Returns a variable with random values from a normal distribution."""
    return variable(random_normal(shape, mean, scale, dtype, seed), dtype, name)


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None
) -> tf.Tensor:
    """Returns random values from a uniform distribution from `minval` up to `maxval`."""
    return tf.random.uniform(shape, minval, maxval, dtype or settings.floatx(), _seed(seed))


def random_uniform_variable(
    shape: Any,
    low: float,
    high: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> tf.Variable:
    """Returns a variable with random values from a uniform distribution."""
    return variable(random_uniform(shape, low, high, dtype, seed), dtype, name)


def _seed(seed: int | None) -> int:
    # From NumPy's generator, as in `tf.keras`: `np.random.seed` makes it repeatable.
    return int(np.random.randint(10_000_000)) if seed is None else seed


def repeat(x: Any, n: int) -> tf.Tensor:
    """Returns a matrix `(batch, features)` as `n` steps of equal content: `(batch, n, features)`."""
    return tf.tile(tf.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: Any, rep: int, axis: int) -> tf.Tensor:
    """Returns `x` with each entry along an axis `rep` times in a row."""
    return tf.repeat(x, rep, axis)


def reshape(x: Any, shape: Any) -> tf.Tensor:
    """Returns the entries of `x` in a different shape."""
    return tf.reshape(x, shape)


def reverse(x: Any, axes: int | Sequence[int]) -> tf.Tensor:
    """Returns `x` in reverse order along `axes`."""
    return tf.reverse(x, [axes] if isinstance(axes, int) else list(axes))


def set_value(x: tf.Variable, value: Any) -> None:
    """Assigns a value to a variable."""
    x.assign(np.asarray(value, dtype=dtype(x)))


def shape(x: Any) -> tf.Tensor:
    """Returns the shape as a tensor."""
    return tf.shape(x)


def squeeze(x: Any, axis: int) -> tf.Tensor:
    """Returns `x` without an axis of size 1."""
    return tf.squeeze(x, [axis])


def stack(x: Sequence[Any], axis: int = 0) -> tf.Tensor:
    """Returns tensors of the same shape stacked along a new axis."""
    return tf.stack(x, axis)


def stop_gradient(variables: Any) -> Any:
    """Returns the same values, through which no gradient passes; of a list, a list."""
    if isinstance(variables, (list, tuple)):
        return [tf.stop_gradient(each) for each in variables]
    return tf.stop_gradient(variables)


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Returns one of two tensors by a condition, or entry by entry where the condition has axes.

    The condition may have fewer axes than the tensors: its entries then choose rows. Both expressions
    may be functions without arguments.
    """
    condition = tf.cast(condition, tf.bool)
    then, other = (
        # The default value binds the expression of this round of the loop.
        each if callable(each) else lambda each=each: each
        for each in (then_expression, else_expression)
    )
    if len(condition.shape) == 0:
        return tf.cond(condition, then, other)
    yes, no = then(), other()
    missing = len(yes.shape) - len(condition.shape)
    if missing < 0:
        raise ValueError(
            "The condition must not have more axes than the expressions. Received: a condition of shape "
            f"{condition.shape}, expressions of shape {yes.shape}"
        )
    # With axes of size 1 at its end the condition chooses whole rows.
    return tf.where(condition[(..., *[tf.newaxis] * missing)], yes, no)


def tile(x: Any, n: int | Sequence[int]) -> tf.Tensor:
    """Returns `x` repeated `n` times along each axis."""
    return tf.tile(x, [n] if isinstance(n, int) else n)


def to_dense(tensor: Any) -> Any:
    """Returns a sparse tensor as a dense one, others unchanged."""
    return tf.sparse.to_dense(tensor) if is_sparse(tensor) else tensor


def transpose(x: Any) -> tf.Tensor:
    """Returns `x` with its axes in reverse order."""
    return tf.transpose(x)


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> tf.Tensor:
    """Returns random values from a normal distribution, none farther than two standard deviations "
    "from the mean."""
    return tf.random.truncated_normal(shape, mean, stddev, dtype or settings.floatx(), _seed(seed))


def update(x: tf.Variable, new_x: Any) -> Any:
    """Assigns a value to a variable, and returns the variable."""
    return x.assign(new_x)


def update_add(x: tf.Variable, increment: Any) -> Any:
    """Adds to a variable, and returns the variable."""
    return x.assign_add(increment)


def update_sub(x: tf.Variable, decrement: Any) -> Any:
    """Subtracts from a variable, and returns the variable."""
    return x.assign_sub(decrement)


def moving_average_update(x: tf.Variable, value: Any, momentum: Any) -> Any:
    """Assigns `momentum x + (1 - momentum) value` to a variable."""
    momentum, value = tf.cast(momentum, x.dtype), tf.cast(value, x.dtype)
    return x.assign_sub((x - value) * (1 - momentum))


def variable(
    value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None
) -> tf.Variable:
    """Returns a `tf.Variable` with the value; dtype `None` for the default float dtype."""
    dtype = dtype or settings.floatx()
    return tf.Variable(value, dtype=tf.as_dtype(dtype), name=name, constraint=constraint)


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns a variable of zeros."""
    return variable(tf.zeros(shape, dtype or settings.floatx()), dtype, name)


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Returns zeros in the shape of `x`."""
    return tf.zeros_like(x, dtype, name)


def name_scope(name: str) -> Any:
    """Returns a scope of names of TensorFlow's operations and variables."""
    return tf.name_scope(name)
