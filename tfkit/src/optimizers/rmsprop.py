"""RMSprop: gradients divided by the root of a running mean of their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.checks import check_share
from tfkit.src.optimizers.gradients import decayed, dense, square
from tfkit.src.optimizers.options import Options, SlotsMadeOnce, shares_options


def rmsprop(
    g: Any, v: tf.Tensor, g_mean: tf.Tensor | None, alpha: tf.Tensor, rho: float, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor | None]:
    """Returns the step, new `v` (mean square of gradients), and new `g_mean` (their mean), if given.

    Reference:
        Hinton, 2012: Neural networks for machine learning, lecture 6e.
        Graves, 2013, for the centered form: https://arxiv.org/abs/1308.0850
    """
    v = decayed(v, square(g), rho)
    variance = v
    # Graves (2013): the variance E[g^2] - E[g]^2 in place of the mean square.
    if g_mean is not None:
        g_mean = decayed(g_mean, g, rho)
        variance = v - tf.square(g_mean)
    return alpha * dense(g) / tf.sqrt(variance + epsilon), v, g_mean


@shares_options
class RMSprop(SlotsMadeOnce):
    """RMSprop: `w -= learning_rate * g / sqrt(v + epsilon)`, with `v` the mean of squared gradients.

    `v = rho * v + (1 - rho) * g**2`. With momentum, steps
    `s = momentum * s + learning_rate * g / sqrt(v + epsilon)` are taken.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        rho: decay of the mean of squared gradients, from 0 to below 1. Default: `0.9`.
        momentum: share of the last step that is added to the next one, from 0 to 1. Default: `0.0`.
        epsilon: small number that is added to the mean of squared gradients. Default: `1e-07`.
        centered: whether to divide by the variance of gradients, and not by the mean of their
            squares. Default: `False`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Hinton, "Neural networks for machine learning", lecture 6e, 2012; Graves, "Generating
            sequences with recurrent neural networks", 2013 (`centered`).

    Example:
        >>> w = tf.Variable(1.0)
        >>> RMSprop(learning_rate=0.1, rho=0.0).apply([2.0 * w], [w])
        >>> round(float(w), 5)
        0.9
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        check_share(rho=rho, momentum=momentum)
        if epsilon < 0:
            raise ValueError(f"`epsilon` must be 0 or above. Received: epsilon={epsilon!r}")
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the mean square of each variable, its momentum and mean if they are used."""
        self._velocities = self.add_optimizer_variables(var_list, "velocity")
        self._momentums = []
        if self.momentum > 0:
            self._momentums = self.add_optimizer_variables(var_list, "momentum")
        self._average_gradients = []
        if self.centered:
            self._average_gradients = self.add_optimizer_variables(var_list, "average_gradient")

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its slots."""
        index = self._get_variable_index(variable)
        g = tf.cast(gradient, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        v = self._velocities[index]
        g_mean = self._average_gradients[index] if self.centered else None
        step, new_v, new_g_mean = rmsprop(g, v, g_mean, alpha, self.rho, self.epsilon)
        self.assign(v, new_v)
        if g_mean is not None:
            self.assign(g_mean, new_g_mean)
        if self.momentum > 0:
            momentum = self._momentums[index]
            step = self.momentum * momentum + step
            self.assign(momentum, step)
        self.assign_sub(variable, step)
