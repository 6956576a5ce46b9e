"""Adamax: Adam with the largest recent gradient in place of the second moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import dense, map_values, moving_average


def adamax(
    w: tf.Tensor,
    g: Any,
    m: tf.Tensor,
    u: tf.Tensor,
    t: tf.Tensor,
    alpha: tf.Tensor,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """New `w`, `m` and `u` (the exponentially weighted infinity norm) after step number `t`.

    Reference:
        Kingma & Ba, 2014, section 7.1: https://arxiv.org/abs/1412.6980
    """
    m = moving_average(m, g, beta_1)
    u = tf.maximum(beta_2 * u, dense(map_values(tf.abs, g)))
    bias = 1 - tf.pow(tf.cast(beta_1, t.dtype), t)
    return w - alpha * m / (bias * (u + epsilon)), m, u


class Adamax(Optimizer):
    """Adamax, the form of Adam that rests on the infinity norm.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        beta_1: decay of the first moment (the mean of gradients), in [0, 1).
        beta_2: decay of the norm, in [0, 1).
        epsilon: added to the norm.
        weight_decay: and the arguments after it: see `Optimizer`.

    Reference:
        Kingma & Ba, 2014, section 7.1: https://arxiv.org/abs/1412.6980
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
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
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the moment and the norm of each variable."""
        if self.built:
            return
        super().build(var_list)
        self._m, self._u = self.add_optimizer_variables(var_list, ["momentum", "norm"])

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable, its moment and its norm."""
        index = self._get_variable_index(variable)
        m, u = self._m[index], self._u[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._step_number(variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        new_w, new_m, new_u = adamax(
            variable, g, m, u, t, alpha, self.beta_1, self.beta_2, self.epsilon
        )
        m.assign(new_m)
        u.assign(new_u)
        variable.assign(new_w)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }
