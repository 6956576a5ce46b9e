"""Exponential moving averages of variables."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tfkit.src.optimizers import distribution
from tfkit.src.optimizers.overwriting import is_overwritten


def move(
    averages: Sequence[tf.Variable],
    variables: Sequence[tf.Variable],
    momentum: float,
    iterations: tf.Tensor,
) -> None:
    """Moves each average towards its variable; the first update sets it to the variable."""

    def move_one(average: tf.Variable, variable: tf.Tensor) -> None:
        # The first update keeps nothing of the zeros that are the initial averages.
        kept = tf.cast(iterations != 0, average.dtype) * momentum
        average.assign(kept * average + (1 - kept) * variable)

    for average, variable in zip(averages, variables, strict=True):
        distribution.update(average, move_one, variable)


def overwrite(averages: Sequence[tf.Variable], variables: Sequence[tf.Variable]) -> None:
    """Sets each variable to its average, except for variables that are overwritten by gradients."""
    for average, variable in zip(averages, variables, strict=True):
        if not is_overwritten(variable):
            distribution.update(variable, lambda copy, value: copy.assign(value), average)
