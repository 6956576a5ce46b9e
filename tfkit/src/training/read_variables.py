"""Finds trainable variables that a model's call reads, and that its training does not change."""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow as tf

from tfkit.src.core import hidden
from tfkit.src.core.layer import Layer
from tfkit.src.weights.variables.operators import Value


def check_variables(model: Layer, read: Iterable[tf.Variable]) -> None:
    """Raises an error for a trainable variable that a model's call reads, and no `weights` contain.

    Args:
        model: the model that is trained.
        read: the trainable variables that a tape has seen in the call.

    Raises:
        ValueError: with the name of the variable.
    """
    if tf.distribute.has_strategy():
        return  # The tape sees the variables of one replica, which the lists do not contain.
    listed = hidden.listed_in(model)
    for variable in read:
        variable = Value.owner(variable)  # A tape in the call may watch `weight.value`.
        if id(variable) not in listed and variable.dtype.is_floating:
            raise ValueError(
                f"The variable '{variable.name}' of shape {tuple(variable.shape)} is read in the `call()` of "
                f"model '{model.name}' and is trainable, but it is in no `weights`: it would be "
                f"neither trained nor saved. {hidden.HOLD}; or make it with `trainable=False`."
            )
