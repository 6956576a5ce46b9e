"""Schedule-free AdamW: averaging in place of a falling learning rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import dense, moving_average, square


def schedule_free_adamw(
    y: tf.Tensor,
    g: Any,
    z: tf.Tensor,
    v: tf.Tensor,
    t: tf.Tensor,
    gamma: tf.Tensor,
    beta_1: tf.Tensor,
    beta_2: tf.Tensor,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """New `y`, `z` and `v` after step number `t`.

    Steps are taken by `z`. The average of all `z` is `x`, and `y = (1 - beta_1) z + beta_1 x`, the
    weights that gradients are taken at. `x` is not kept: it follows from `y` and `z`.

    Reference:
        Defazio et al., 2024: The road less scheduled. https://arxiv.org/abs/2405.15682
    """
    v = moving_average(v, square(g), beta_2)
    v_hat = v / (1 - tf.pow(beta_2, t))
    new_z = z - gamma * dense(g) / (tf.sqrt(v_hat) + epsilon)
    x = (y - (1 - beta_1) * z) / beta_1
    x = moving_average(x, new_z, 1 - 1 / t)
    return (1 - beta_1) * new_z + beta_1 * x, new_z, v


class ScheduleFreeAdamW(Optimizer):
    """Schedule-free AdamW: as good as a schedule that knows the number of steps, without one.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        beta_1: share of the average in the weights that gradients are taken at, in (0, 1).
        beta_2: decay of the second moment, in [0, 1).
        epsilon: added to the root of the second moment.
        warmup_steps: over so many steps the learning rate rises from 0.
        weight_decay: and the arguments after it: see `Optimizer`.

    Reference:
        Defazio et al., 2024: https://arxiv.org/abs/2405.15682
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.0025,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        warmup_steps: int = 0,
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
        self.warmup_steps = warmup_steps

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes a copy and a second moment of each variable."""
        if self.built:
            return
        super().build(var_list)
        self._momentums, self._velocities = self.add_optimizer_variables(
            var_list, ["momentum", "velocity"]
        )
        with tf.init_scope():
            for z, variable in zip(self._momentums, var_list, strict=True):
                z.assign(variable)

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its slots."""
        index = self._get_variable_index(variable)
        z, v = self._momentums[index], self._velocities[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._step_number(variable.dtype)
        # As tensors, since Keras takes `1 - beta` in the variable's precision here.
        beta_1, beta_2 = tf.cast(self.beta_1, t.dtype), tf.cast(self.beta_2, t.dtype)
        gamma = tf.cast(learning_rate, variable.dtype)
        if self.warmup_steps > 0:
            gamma *= tf.minimum(t / self.warmup_steps, 1)
        new_y, new_z, new_v = schedule_free_adamw(
            variable, g, z, v, t, gamma, beta_1, beta_2, self.epsilon
        )
        z.assign(new_z)
        v.assign(new_v)
        variable.assign(new_y)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "warmup_steps": self.warmup_steps,
        }
