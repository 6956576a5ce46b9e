"""Exponential moving averages of variables."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tfkit.src.optimizers import distribution


def move(
    pairs: Sequence[tuple[tf.Variable, tf.Variable]], momentum: float, iterations: tf.Tensor
) -> None:
    """Moves the average of each pair towards its variable; the first update sets it to the variable."""

    def move_one(average: tf.Variable, variable: tf.Tensor) -> None:
        # The first update keeps nothing of the zeros that are the initial averages.
        kept = tf.cast(iterations != 0, average.dtype) * momentum
        average.assign(kept * average + (1 - kept) * variable)

    for variable, average in pairs:
        distribution.update(average, move_one, variable)


def overwrite(pairs: Sequence[tuple[tf.Variable, tf.Variable]]) -> None:
    """Sets the variable of each pair to its average."""
    for variable, average in pairs:
        distribution.update(variable, lambda copy, value: copy.assign(value), average)
