"""LAMB: Adam with steps in proportion to the norm of each variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import moving_average, square


def lamb(
    w: tf.Tensor,
    g: Any,
    m: tf.Tensor,
    v: tf.Tensor,
    t: tf.Tensor,
    alpha: tf.Tensor,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """New `w`, `m` and `v` after step number `t`.

    Reference:
        You et al., 2020: Large batch optimization for deep learning, algorithm 2.
        https://arxiv.org/abs/1904.00962
    """
    m = moving_average(m, g, beta_1)
    v = moving_average(v, square(g), beta_2)
    m_hat = m / (1 - tf.pow(tf.cast(beta_1, t.dtype), t))
    v_hat = v / (1 - tf.pow(tf.cast(beta_2, t.dtype), t))
    r = m_hat / (tf.sqrt(v_hat) + epsilon)
    w_norm, r_norm = tf.sqrt(tf.reduce_sum(w * w)), tf.sqrt(tf.reduce_sum(r * r))
    trust = tf.where((w_norm > 0) & (r_norm > 0), w_norm / r_norm, tf.ones_like(w_norm))
    return w - trust * alpha * r, m, v


class Lamb(Optimizer):
    """LAMB, for very large batches.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        beta_1: decay of the first moment (the mean of gradients), in [0, 1).
        beta_2: decay of the second moment (the mean of their squares), in [0, 1).
        epsilon: added to the root of the second moment.
        weight_decay: and the arguments after it: see `Optimizer`.

    Reference:
        You et al., 2020: https://arxiv.org/abs/1904.00962
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
        """Makes the moments of each variable."""
        if self.built:
            return
        super().build(var_list)
        self._momentums, self._velocities = self.add_optimizer_variables(
            var_list, ["momentum", "velocity"]
        )

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its moments."""
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._step_number(variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        w = tf.convert_to_tensor(variable)
        new_w, new_m, new_v = lamb(w, g, m, v, t, alpha, self.beta_1, self.beta_2, self.epsilon)
        m.assign(new_m)
        v.assign(new_v)
        variable.assign(new_w)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }
