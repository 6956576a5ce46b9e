"""Computes one update as a function of values, with the update that changes variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.weights.variables.together import temporary_values

if TYPE_CHECKING:
    from tfkit.src.optimizers.base import Optimizer


def apply(
    optimizer: Optimizer,
    optimizer_variables: Sequence[Any],
    grads: Sequence[Any],
    trainable_variables: Sequence[Any],
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Sets the variables to the values, updates, reads the results, and restores the old values."""
    if not optimizer.built:
        raise ValueError(
            f"To call `stateless_apply`, {type(optimizer).__name__} must be built: call "
            "`optimizer.build(trainable_variables)`."
        )
    for given, own, what in (
        (optimizer_variables, optimizer.variables, "optimizer_variables"),
        (trainable_variables, optimizer._tfkit_untracked.variables, "trainable_variables"),
    ):
        if len(given) != len(own):
            raise ValueError(
                f"`{what}` must have one value for each variable that the optimizer was built "
                f"with. Expected {len(own)} values. Received: {len(given)}"
            )
    state = [*optimizer._tfkit_untracked.variables, *optimizer.variables]
    with temporary_values(state, [*trainable_variables, *optimizer_variables], "variables"):
        optimizer.apply(grads)
        # Copies: at the end of `lent` the variables get their old values back.
        after = [tf.identity(variable) for variable in state]
    num_trainable = len(trainable_variables)
    return after[:num_trainable], after[num_trainable:]
