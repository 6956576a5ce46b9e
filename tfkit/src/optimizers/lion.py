"""Lion: steps of one size along the signs of a momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.gradients import add, map_values
from tfkit.src.optimizers.options import Options, SlotsMadeOnce, shares_options


def lion(
    w: tf.Tensor, g: Any, m: tf.Tensor, alpha: tf.Tensor, beta_1: float, beta_2: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns new `w` and `m`.

    Reference:
        Chen et al., 2023: Symbolic discovery of optimization algorithms.
        https://arxiv.org/abs/2302.06675
    """
    # The gradient has the weight 1 - beta_1 in this step, and 1 - beta_2 in the momentum of later
    # steps: with the defaults a tenth of it.
    update = tf.sign(add(beta_1 * m, map_values(lambda x: (1 - beta_1) * x, g)))
    return w - alpha * update, add(beta_2 * m, map_values(lambda x: (1 - beta_2) * x, g))


@shares_options
class Lion(SlotsMadeOnce):
    """Lion: steps of one size, in the direction of the sign of the momentum.

        w -= learning_rate * sign(beta_1 * m + (1 - beta_1) * g)
        m = beta_2 * m + (1 - beta_2) * g

    It keeps one variable per weight, where Adam keeps two. Learning rates are usually 3 to 10 times
    smaller than for `AdamW`, and weight decays as many times larger.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        beta_1: share of the momentum in the direction of a step, above 0 and at most 1. Default:
            `0.9`.
        beta_2: decay of the momentum, from 0 to below 1. Default: `0.99`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if `beta_1` is not above 0 and at most 1, if the learning rate is not a float,
            if more than one way of clipping is given, or if a number is out of range.

    Reference:
        Chen et al., "Symbolic discovery of optimization algorithms", 2023.

    Example:
        >>> w = tf.Variable([1.0, 1.0])
        >>> Lion(learning_rate=0.1).apply([tf.constant([0.5, -8.0])], [w])
        >>> w.numpy()
        array([0.9, 1.1], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **options: Unpack[Options],
    ) -> None:
        if not 0 < beta_1 <= 1:
            raise ValueError(
                "`beta_1` must be in (0, 1]: with 0 there is no momentum in the signs. "
                f"Received: beta_1={beta_1}"
            )
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the momentum of each variable."""
        self._momentums = self.add_optimizer_variables(var_list, "momentum")

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its momentum."""
        m = self._momentums[self._get_variable_index(variable)]
        g = tf.cast(gradient, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        new_w, new_m = lion(variable, g, m, alpha, self.beta_1, self.beta_2)
        self.assign(m, new_m)
        self.assign(variable, new_w)
