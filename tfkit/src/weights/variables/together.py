"""Sets several variables at once: assigns all or none, or replaces values for one computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from tfkit.src.base.protocols import HasPath
from tfkit.src.weights.variables.paths import variable_path
from tfkit.src.weights.variables.stateless import StatelessScope, stored_dtype
from tfkit.src.weights.variables.temporary_values import temporary_values


def assign_all(variables: Sequence[Any], values: Sequence[Any], owner: str) -> None:
    """Assigns values to variables: to all or, if there is an error, to none.

    Args:
        variables: weights.
        values: a value for each.
        owner: whose weights they are, for messages: `"layer 'dense'"`.

    Raises:
        ValueError: if the number of values or a shape differs, or if an array does not hold numbers.
    """
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
