"""Adagrad: gradients divided by the root of the sum of all their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.gradients import add, dense, square
from tfkit.src.optimizers.options import Options, SlotsMadeOnce, shares_options
from tfkit.src.optimizers.slots import constant


def adagrad(
    w: tf.Tensor, g: Any, v: tf.Tensor, alpha: tf.Tensor, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns new `w`, and new `v`, the sum of squared gradients.

    Reference:
        Duchi et al., 2011: Adaptive subgradient methods.
        https://jmlr.org/papers/v12/duchi11a.html
    """
    v = add(v, square(g))
    # The paper adds delta to the root; epsilon is inside of it, as in Keras.
    return w - alpha * dense(g) / tf.sqrt(v + epsilon), v


@shares_options
class Adagrad(SlotsMadeOnce):
    """Adagrad: `w -= learning_rate * g / sqrt(v + epsilon)`, with `v` the sum of squared gradients.

    Thus, entries that are updated often move less and less.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        initial_accumulator_value: initial value of the sums of squared gradients, not negative.
            Default: `0.1`.
        epsilon: small number that is added to the sums. Default: `1e-07`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Duchi et al., "Adaptive subgradient methods for online learning and stochastic
            optimization", 2011.

    Example:
        >>> w = tf.Variable(1.0)
        >>> Adagrad(learning_rate=0.1, initial_accumulator_value=0.0).apply([2.0 * w], [w])
        >>> round(float(w), 5)
        0.9
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        if initial_accumulator_value < 0:
            raise ValueError(
                "`initial_accumulator_value` must be 0 or above. Received: "
                f"initial_accumulator_value={initial_accumulator_value!r}"
            )
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the sum of squares of each variable."""
        self._accumulators = self.add_optimizer_variables(
            var_list, "accumulator", constant(self.initial_accumulator_value)
        )

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its sum of squares."""
        v = self._accumulators[self._get_variable_index(variable)]
        g = tf.cast(gradient, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        new_w, new_v = adagrad(variable, g, v, alpha, self.epsilon)
        self.assign(v, new_v)
        self.assign(variable, new_w)
