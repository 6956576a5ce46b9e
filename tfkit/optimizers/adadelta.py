"""Adadelta: steps in proportion to the size of the steps before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import dense, moving_average, multiply, square


def adadelta(
    w: tf.Tensor,
    g: Any,
    g_mean: tf.Tensor,
    delta_mean: tf.Tensor,
    alpha: tf.Tensor,
    rho: float,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """New `w`, and new mean squares of gradients and of steps.

    Reference:
        Zeiler, 2012: ADADELTA: an adaptive learning rate method. https://arxiv.org/abs/1212.5701
    """
    g_mean = moving_average(g_mean, square(g), rho)
    delta = multiply(g, -tf.sqrt(delta_mean + epsilon) / tf.sqrt(g_mean + epsilon))
    delta_mean = moving_average(delta_mean, square(delta), rho)
    return w + alpha * dense(delta), g_mean, delta_mean


class Adadelta(Optimizer):
    """Adadelta: no learning rate to choose, in the paper's form with `learning_rate=1.0`.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        rho: decay of the mean squares, in [0, 1).
        epsilon: added to mean squares before roots are taken.
        weight_decay: and the arguments after it: see `Optimizer`.

    Reference:
        Zeiler, 2012: https://arxiv.org/abs/1212.5701
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.95,
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
        self.rho = rho
        self.epsilon = epsilon

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the two mean squares of each variable."""
        if self.built:
            return
        super().build(var_list)
        self._accumulated_grads, self._accumulated_delta_vars = self.add_optimizer_variables(
            var_list, ["accumulated_grad", "accumulated_delta_var"]
        )

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its mean squares."""
        index = self._get_variable_index(variable)
        g_mean, delta_mean = self._accumulated_grads[index], self._accumulated_delta_vars[index]
        g = tf.cast(gradient, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        new_w, new_g_mean, new_delta_mean = adadelta(
            variable, g, g_mean, delta_mean, alpha, self.rho, self.epsilon
        )
        g_mean.assign(new_g_mean)
        delta_mean.assign(new_delta_mean)
        variable.assign(new_w)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            **super().get_config(),
            "rho": self.rho,
            "epsilon": self.epsilon,
        }
