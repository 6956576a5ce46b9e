"""Adagrad: gradients divided by the root of the sum of all their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import add, dense, square
from tfkit.optimizers.slots import constant


def adagrad(
    w: tf.Tensor, g: Any, v: tf.Tensor, alpha: tf.Tensor, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """New `w`, and new `v`, the sum of squared gradients.

    Reference:
        Duchi et al., 2011: Adaptive subgradient methods.
        https://jmlr.org/papers/v12/duchi11a.html
    """
    v = add(v, square(g))
    return w - alpha * dense(g) / tf.sqrt(v + epsilon), v


class Adagrad(Optimizer):
    """Adagrad: what is often updated moves less and less.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        initial_accumulator_value: what the sums of squares start from, not negative.
        epsilon: added to the sum before the root is taken.
        weight_decay: and the arguments after it: see `Optimizer`.

    Reference:
        Duchi et al., 2011: https://jmlr.org/papers/v12/duchi11a.html
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            clipnorm=clipnorm,
            clipvalue=clipvalue,
            global_clipnorm=global_clipnorm,
            use_ema=use_ema,
            ema_momentum=ema_momentum,
            ema_overwrite_frequency=ema_overwrite_frequency,
            loss_scale_factor=loss_scale_factor,
            gradient_accumulation_steps=gradient_accumulation_steps,
            name=name,
            **kwargs,
        )
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the sum of squares of each variable."""
        if self.built:
            return
        super().build(var_list)
        self._accumulators = self.add_optimizer_variables(
            var_list, "accumulator", constant(self.initial_accumulator_value)
        )

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its sum of squares."""
        v = self._accumulators[self._get_variable_index(variable)]
        g = tf.cast(gradient, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        new_w, new_v = adagrad(variable, g, v, alpha, self.epsilon)
        v.assign(new_v)
        variable.assign(new_w)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            **super().get_config(),
            "initial_accumulator_value": self.initial_accumulator_value,
            "epsilon": self.epsilon,
        }
