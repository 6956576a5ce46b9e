"""Sets several variables at once: assigns all or none, or replaces their values temporarily."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from tfkit.src.base.protocols import HasPath
from tfkit.src.borrowed.private import (
    copies_of,
    handle_from,
    is_copied,
    is_watched,
    set_handle,
    set_trainable,
)
from tfkit.src.weights.variables.given_values import given_values
from tfkit.src.weights.variables.name_scope import variable_path
from tfkit.src.weights.variables.operators import Value
from tfkit.src.weights.variables.stateless import StatelessScope, stored_dtype
from tfkit.src.weights.variables.variables import Variable


def restorer(variables: Sequence[tf.Variable]) -> Callable[[], None]:
    """Returns a function that gives variables the values that they have now."""
    values = [(variable, variable.numpy()) for variable in variables]

    def restore() -> None:
        for variable, value in values:
            variable.assign(value)

    return restore


def assign_all(variables: Sequence[Any], values: Sequence[Any], owner: str) -> None:
    """Assigns values to variables: to all or, if there is an error, to none.

    Args:
        variables: weights.
        values: a value for each.
        owner: whose weights they are, for messages: `"layer 'dense'"`.

    Raises:
        ValueError: if the number of values or a shape differs, or if an array does not hold numbers.
    """
    if not hasattr(values, "__len__"):
        raise TypeError(f"Expected a list of weights for {owner}. Received: {values!r}")
    if len(values) != len(variables):
        raise ValueError(
            f"You called `set_weights(weights)` on {owner} with a weight list of length {len(values)}, but "
            f"the layer was expecting {len(variables)} weights."
        )
    arrays = [np.asarray(value) for value in values]
    for variable, array in zip(variables, arrays, strict=True):
        named = f"{owner[:1].upper()}{owner[1:]} weight '{variable_path(variable)}'"
        if tuple(variable.shape) != array.shape:
            raise ValueError(
                f"{named} has shape {tuple(variable.shape)}, which is not compatible with the provided "
                f"weight shape {array.shape}."
            )
        if array.dtype.kind in "OSUM":
            raise ValueError(
                f"{named} holds numbers of dtype {stored_dtype(variable).name}. Received an array of dtype "
                f"{array.dtype}."
            )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(tf.cast(array, stored_dtype(variable)))


class HasVariables(HasPath, Protocol):
    """The part of a layer's interface that concerns variables."""

    @property
    def trainable_variables(self) -> Sequence[Any]:
        """The variables that gradients are taken for."""

    @property
    def non_trainable_variables(self) -> Sequence[Any]:
        """The variables that a call may change."""


def computed_with(
    layer: HasVariables,
    compute: Callable[[], dict[str, Any]],
    trainable_values: Sequence[Any],
    non_trainable_values: Sequence[Any],
) -> dict[str, Any]:
    """Returns the result of `compute` with temporary values of a layer's variables.

    Gradients flow to `trainable_values`.

    Args:
        layer: the layer.
        compute: returns a dict of nests of tensors.
        trainable_values: a value for each of the layer's `trainable_variables`.
        non_trainable_values: a value for each of its `non_trainable_variables`.

    Returns:
        The dict, with `"state"`: the new values of `non_trainable_variables`.

    Raises:
        ValueError: for a different number of values.
    """
    trainable, non_trainable = layer.trainable_variables, layer.non_trainable_variables
    for name, given, variables in (
        ("trainable_variables", trainable_values, trainable),
        ("non_trainable_variables", non_trainable_values, non_trainable),
    ):
        if len(given) != len(variables):
            raise ValueError(
                f"Argument `{name}` must hold one value for each of `layer.{name}` of layer "
                f"'{layer.path}'. Expected {len(variables)} values. Received: {len(given)}"
            )
    with (
        temporary_values(trainable, trainable_values, "trainable_variables", differentiable=True),
        temporary_values(non_trainable, non_trainable_values, "non_trainable_variables"),
        # Compiled calls would use the variables' own handles.
        StatelessScope(),
    ):
        results = compute()
        results["state"] = [tf.identity(variable) for variable in non_trainable]
        return dict(tf.nest.map_structure(_value, results))


def _value(result: Any) -> Any:
    """Returns what a variable holds at present; anything else unchanged, with its mask."""
    return tf.identity(result) if isinstance(result, tf.Variable) else result


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
    # Without a trace, or with a copy for each device, values are assigned.
    given = [_can_be_given(variable) for variable in variables]
    assigned = [index for index, is_given in enumerate(given) if not is_given]
    with (
        given_values(
            [it for it, is_given in zip(variables, given, strict=True) if is_given],
            [it for it, is_given in zip(fitting, given, strict=True) if is_given],
            differentiable,
        ),
        _assigned(
            [variables[index] for index in assigned],
            [plain[index] for index in assigned],
            [fitting[index] for index in assigned],
            differentiable,
        ),
    ):
        yield


def _can_be_given(variable: Any) -> bool:
    """Whether a variable can be read as a different value without an assignment."""
    return isinstance(variable, Variable) and not tf.executing_eagerly() and not is_copied(variable)


@contextlib.contextmanager
def _assigned(
    variables: Sequence[Any], plain: Sequence[Any], values: Sequence[Any], differentiable: bool
) -> Iterator[None]:
    """Context manager in which variables hold `values`, and which then restores them."""
    readable = [_readable(variable) for variable in (*variables, *plain) if differentiable]
    with _unseen(variables if differentiable else (), readable):
        with tf.control_dependencies(values):
            before = [tf.identity(variable) for variable in plain]
            lent_values = [tf.identity(value) for value in values]
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
