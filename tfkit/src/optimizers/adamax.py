"""Adamax: Adam with the largest recent gradient in place of the second moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.optimizers.gradients import dense, map_values, moving_average
from tfkit.src.optimizers.moments import OfMoments
from tfkit.src.optimizers.options import shares_options


def adamax(
    w: tf.Tensor,
    g: Any,
    m: tf.Tensor,
    u: tf.Tensor,
    t: tf.Tensor,
    alpha: tf.Tensor,
    *,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns new `w`, `m` and `u` (the exponentially weighted infinity norm) after step number `t`.

    Reference:
        Kingma & Ba, 2014, section 7.1: https://arxiv.org/abs/1412.6980
    """
    m = moving_average(m, g, beta_1)
    # A maximum is not biased towards its initial 0, so only `m` is corrected.
    u = tf.maximum(beta_2 * u, dense(map_values(tf.abs, g)))
    bias = 1 - tf.pow(tf.cast(beta_1, t.dtype), t)
    # The paper has no epsilon, which keeps a weight whose gradients were all 0 from 0 / 0.
    return w - alpha * m / (bias * (u + epsilon)), m, u


@shares_options
class Adamax(OfMoments):
    """Adamax: Adam with the infinity norm of gradients in place of the second moment.

    With gradient `g` in update `t`:

        m = beta_1 * m + (1 - beta_1) * g
        u = max(beta_2 * u, abs(g))
        w -= learning_rate / (1 - beta_1**t) * m / (u + epsilon)

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        beta_1: decay of the first moment (the mean of gradients), from 0 to below 1. Default:
            `0.9`.
        beta_2: decay of the infinity norm, from 0 to below 1. Default: `0.999`.
        epsilon: small number that is added to the infinity norm. Default: `1e-07`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Kingma & Ba, "Adam: a method for stochastic optimization", section 7.1, 2014.

    Example:
        >>> w = tf.Variable(1.0)
        >>> Adamax(learning_rate=0.1).apply([2.0 * w], [w])
        >>> round(float(w), 5)
        0.9
    """

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the moment and the norm of each variable."""
        self._m, self._u = self.add_optimizer_variables(var_list, ["momentum", "norm"])

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable, its moment and its norm."""
        index = self._get_variable_index(variable)
        m, u = self._m[index], self._u[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._tfkit_step_number(variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        constants = {"beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon}
        new_w, new_m, new_u = adamax(variable, g, m, u, t, alpha, **constants)
        self.assign(m, new_m)
        self.assign(u, new_u)
        self.assign(variable, new_w)
