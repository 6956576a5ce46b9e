"""Schedule-free AdamW: averaging in place of a falling learning rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.gradients import dense, moving_average, square
from tfkit.src.optimizers.moments import OfMoments
from tfkit.src.optimizers.options import Options, shares_options


def schedule_free_adamw(
    y: tf.Tensor,
    g: Any,
    z: tf.Tensor,
    v: tf.Tensor,
    t: tf.Tensor,
    gamma: tf.Tensor,
    *,
    beta_1: tf.Tensor,
    beta_2: tf.Tensor,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns new `y`, `z` and `v` after step number `t`.

    Steps are taken by `z`. The average of all `z` is `x`, and `y = (1 - beta_1) z + beta_1 x`, the
    weights that gradients are taken at. `x` is not kept: it follows from `y` and `z`.

    Reference:
        Defazio et al., 2024: The road less scheduled. https://arxiv.org/abs/2405.15682
    """
    # No first moment: the average x, which is a part of y, does its work.
    v = moving_average(v, square(g), beta_2)
    v_hat = v / (1 - tf.pow(beta_2, t))
    new_z = z - gamma * dense(g) / (tf.sqrt(v_hat) + epsilon)
    # x before this step; with c = 1 / t all z have the same weight in it.
    x = (y - (1 - beta_1) * z) / beta_1
    x = moving_average(x, new_z, 1 - 1 / t)
    return (1 - beta_1) * new_z + beta_1 * x, new_z, v


@shares_options
class ScheduleFreeAdamW(OfMoments):
    """Schedule-free AdamW: replaces a schedule that depends on the number of steps.

    Steps like Adam's are taken by weights `z`, whose mean is `x`. Gradients are taken at
    `y = (1 - beta_1) * z + beta_1 * x`, which is what the variables hold while training.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.0025`.
        beta_1: share of the mean `x` in the weights at which gradients are taken, between 0 and 1.
            Default: `0.9`.
        beta_2: decay of the second moment (the mean of squared gradients), from 0 to below 1.
            Default: `0.999`.
        epsilon: small number that is added to the root of the second moment. Default: `1e-08`.
        warmup_steps: number of updates over which the learning rate rises from 0 in a straight
            line. Default: `0`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Defazio et al., "The road less scheduled", 2024.

    Example:
        >>> w = tf.Variable(1.0)
        >>> ScheduleFreeAdamW(learning_rate=0.1).apply([2.0 * w], [w])
        >>> bool(w < 1.0)
        True
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.0025,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        warmup_steps: int = 0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.warmup_steps = warmup_steps

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes a copy and a second moment of each variable."""
        super()._tfkit_add_slots(var_list)
        # Values are copied outside of a graph: `build` may be called while a step is traced.
        with tf.init_scope():
            for z, variable in zip(self._momentums, var_list, strict=True):
                if z is not None:
                    z.assign(variable)

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its slots."""
        index = self._get_variable_index(variable)
        z, v = self._momentums[index], self._velocities[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._tfkit_step_number(variable.dtype)
        # As tensors, since Keras computes `1 - beta` in the variable's precision here.
        beta_1, beta_2 = tf.cast(self.beta_1, t.dtype), tf.cast(self.beta_2, t.dtype)
        gamma = tf.cast(learning_rate, variable.dtype)
        if self.warmup_steps > 0:
            gamma *= tf.minimum(t / self.warmup_steps, 1)
        new_y, new_z, new_v = schedule_free_adamw(
            variable, g, z, v, t, gamma, beta_1=beta_1, beta_2=beta_2, epsilon=self.epsilon
        )
        self.assign(z, new_z)
        self.assign(v, new_v)
        self.assign(variable, new_y)
