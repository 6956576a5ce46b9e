"""How all variables are made, by one set of rules, and how they are lent other values for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfkit import budget
from tfkit.dtypes import standardize_dtype
from tfkit.names import operation_name

_AGGREGATIONS = {
    None: tf.VariableAggregation.NONE,
    "none": tf.VariableAggregation.NONE,
    "mean": tf.VariableAggregation.MEAN,
    "sum": tf.VariableAggregation.SUM,
    "only_first_replica": tf.VariableAggregation.ONLY_FIRST_REPLICA,
}


def make_variable(
    what: str,
    shape: Any,
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    trainable: bool = False,
    aggregation: str | None = "none",
    counted_as: Literal["stored", "other"] | None = "other",
    variable_class: Any = tf.Variable,
    **options: Any,
) -> Any:
    """Makes a variable outside of any trace that is under way.

    Args:
        what: what it is, for messages: `"weight 'kernel' of layer 'dense'"`.
        shape: its sizes, all known; one integer for a vector, `None` for a scalar.
        value: a function of shape and dtype that returns the initial value, or that value.
        dtype: its dtype, the default float type unless given.
        name: name of the variable.
        trainable: whether gradients train it.
        aggregation: how a distribution strategy combines the values of replicas.
        counted_as: whether a file holds it as it is, and so bounds its size; `None` where a file does not
            say how large it may be.
        variable_class: its class.
        **options: further arguments of the class.

    Raises:
        ValueError: for sizes that are not known or negative, for more memory than there may be, for a first
            value of another shape, and for an unknown aggregation.
    """
    dtype = standardize_dtype(dtype)
    if aggregation not in _AGGREGATIONS:
        raise ValueError(
            f"Unknown `aggregation` of {what}. Expected one of {list(_AGGREGATIONS)}. "
            f"Received: {aggregation!r}"
        )
    shape = _checked_shape(shape, what)
    if counted_as is not None:
        budget.spend(shape, dtype, what[:1].upper() + what[1:], counted_as)
    with tf.init_scope():
        if callable(value) and not tf.is_tensor(value):
            value = value(shape, dtype=dtype)
        value = tf.cast(tf.convert_to_tensor(value), dtype)
        if not value.shape.is_compatible_with(shape):
            raise ValueError(
                f"The initializer of {what} gave shape {value.shape}. Expected: {shape}"
            )
        return variable_class(
            value,
            trainable=trainable,
            dtype=dtype,
            name=operation_name(name or "variable", "variable"),
            aggregation=_AGGREGATIONS[aggregation],
            **options,
        )


def _checked_shape(shape: Any, what: str) -> tuple[int, ...]:
    sizes = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise ValueError(
            f"Cannot make {what} with shape {sizes}. Expected non-negative integers; a `None` means that the "
            "input's size along an axis that the variable depends on is not known: give it in "
            "`Input(shape=...)` or in `build()`."
        )
    return tuple(int(size) for size in sizes)


@contextlib.contextmanager
def lent(variables: Sequence[Any], values: Sequence[Any], what: str) -> Iterator[None]:
    """Within the `with` block the variables hold `values`; after it, or an error, what they held before.

    All values are compared with the variables before the first one is lent. In a traced function, an
    operation that fails when the program runs ends the program before its last steps give anything back.

    Args:
        variables: variables.
        values: a value for each.
        what: what the values are called, for messages.

    Raises:
        ValueError: for another number of values, and for a value of another shape; nothing has changed then.
    """
    if len(values) != len(variables):
        raise ValueError(
            f"`{what}` must hold one value for each variable. Expected {len(variables)} values. "
            f"Received: {len(values)} values"
        )
    plain = [getattr(variable, "uncast", variable) for variable in variables]
    fitting = [
        _fitting(variable, value, f"{what}[{index}]")
        for index, (variable, value) in enumerate(zip(plain, values, strict=True))
    ]
    with tf.control_dependencies(fitting):
        before = [tf.identity(variable) for variable in plain]
        lent_values = [tf.identity(value) for value in fitting]
    try:
        _assign(plain, lent_values)
        yield
    finally:
        _assign(plain, before)


def _fitting(variable: Any, value: Any, what: str) -> tf.Tensor:
    """`value` as a tensor that the variable can hold."""
    tensor = tf.convert_to_tensor(value, variable.dtype)
    if not tensor.shape.is_compatible_with(variable.shape):
        raise ValueError(
            f"`{what}` has shape {tensor.shape}. Expected that of variable "
            f"'{getattr(variable, 'path', variable.name)}': {variable.shape}"
        )
    return tensor if tf.executing_eagerly() else tf.ensure_shape(tensor, variable.shape)


def _assign(variables: Sequence[Any], values: Sequence[Any]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
