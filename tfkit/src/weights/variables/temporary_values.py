"""Replaces the values of variables temporarily."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import (
    copies_of,
    handle_from,
    is_copied,
    is_watched,
    set_handle,
    set_trainable,
)
from tfkit.src.weights.variables.operators import Value


@contextlib.contextmanager
def temporary_values(
    variables: Sequence[Any], values: Sequence[Any], what: str, differentiable: bool = False
) -> Iterator[None]:
    """Context manager in which the variables hold `values`, and which restores them, also after an error.

    All values are compared with the variables before the first one is changed. In a traced function, an
    operation that fails when the program runs ends the program before its last steps give anything back.

    Args:
        variables: variables.
        values: a value for each.
        what: a name of the values, for messages.
        differentiable: whether gradients go to the values instead of the variables. Default: `False`.

    Raises:
        ValueError: for a different number of values, and for a value of a different shape; nothing has
            changed then.
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
    readable = [_readable(variable) for variable in (*variables, *plain) if differentiable]
    with _unseen(variables if differentiable else (), readable):
        with tf.control_dependencies(fitting):
            before = [tf.identity(variable) for variable in plain]
            lent_values = [tf.identity(value) for value in fitting]
        handles: list[tf.Tensor] = []
        try:
            _assign(plain, lent_values)
            if differentiable:
                read = readable[len(plain) :]
                handles += [handle_from(*pair) for pair in zip(read, lent_values, strict=True)]
                for pair in zip(readable, (*handles, *handles), strict=True):
                    set_handle(*pair)
            yield
        finally:
            # TensorFlow orders the uses of one handle in a trace, not the uses of two handles of a variable.
            traced = [] if tf.executing_eagerly() else handles
            with tf.control_dependencies([use for handle in traced for use in handle.consumers()]):
                _assign(plain, before)


@contextlib.contextmanager
def _unseen(variables: Sequence[Any], readable: Sequence[Any]) -> Iterator[None]:
    """Context manager in which tapes do not see variables, and after which these have their own handles."""
    own = [(variable, variable.handle, is_watched(variable)) for variable in readable]
    known = [variable for variable in variables if hasattr(variable, "replaced")]
    for variable in known:
        variable.replaced += 1  # Replicas, each in its own thread, share it.
    for variable in readable:
        set_trainable(variable, False)
    try:
        yield
    finally:
        for variable, handle, watched in reversed(own):
            set_handle(variable, handle)
            set_trainable(variable, watched)
        for variable in known:
            variable.replaced -= 1


def _readable(variable: Any) -> Any:
    """Returns the copy of a variable that is read here, where a strategy has made several."""
    if not is_copied(variable):
        return variable
    copies = copies_of(variable)
    if tf.distribute.in_cross_replica_context():
        return copies[0]
    return next(copy for copy in copies if copy.handle is variable.handle)


def _fitting(variable: Any, value: Any, what: str) -> tf.Tensor:
    """Returns `value` as a tensor that the variable can hold."""
    if isinstance(value, (tf.Tensor, tf.Variable, Value)):
        tensor = tf.convert_to_tensor(tf.cast(value, variable.dtype))
    else:
        tensor = tf.convert_to_tensor(value, variable.dtype)
    if not tensor.shape.is_compatible_with(variable.shape):
        raise ValueError(
            f"`{what}` has shape {tensor.shape}. Expected the shape of variable "
            f"'{getattr(variable, 'path', variable.name)}': {variable.shape}"
        )
    return tensor if tf.executing_eagerly() else tf.ensure_shape(tensor, variable.shape)


def _assign(variables: Sequence[Any], values: Sequence[Any]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
