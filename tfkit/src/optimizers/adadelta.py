"""Adadelta: steps in proportion to the size of earlier steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.checks import check_share
from tfkit.src.optimizers.gradients import decayed, dense, multiply, square
from tfkit.src.optimizers.options import Options, SlotsMadeOnce, shares_options


def adadelta(
    w: tf.Tensor,
    g: Any,
    g_mean: tf.Tensor,
    delta_mean: tf.Tensor,
    alpha: tf.Tensor,
    *,
    rho: float,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns new `w`, and new mean squares of gradients and of steps.

    Reference:
        Zeiler, 2012: ADADELTA: an adaptive learning rate method. https://arxiv.org/abs/1212.5701
    """
    g_mean = decayed(g_mean, square(g), rho)
    # Zeiler (2012), algorithm 1. The step has the unit of the weight, so that a learning rate of 1
    # fits.
    delta = multiply(g, -tf.sqrt(delta_mean + epsilon) / tf.sqrt(g_mean + epsilon))
    delta_mean = decayed(delta_mean, square(delta), rho)
    return w + alpha * dense(delta), g_mean, delta_mean


@shares_options
class Adadelta(SlotsMadeOnce):
    """Adadelta: steps whose size follows from the mean squares of gradients and of earlier steps.

        v = rho * v + (1 - rho) * g**2
        delta = sqrt(u + epsilon) / sqrt(v + epsilon) * g
        u = rho * u + (1 - rho) * delta**2
        w -= learning_rate * delta

    The paper's form, which has no learning rate, is `learning_rate=1.0`.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        rho: decay of the mean squares, from 0 to below 1. Default: `0.95`.
        epsilon: small number that is added to the mean squares. Default: `1e-07`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Zeiler, "ADADELTA: an adaptive learning rate method", 2012.

    Example:
        >>> w = tf.Variable(1.0)
        >>> Adadelta(learning_rate=1.0, rho=0.0, epsilon=0.01).apply([2.0 * w], [w])
        >>> round(float(w), 3)
        0.9
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        check_share(rho=rho)
        self.rho = rho
        self.epsilon = epsilon

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the two mean squares of each variable."""
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
            variable, g, g_mean, delta_mean, alpha, rho=self.rho, epsilon=self.epsilon
        )
        self.assign(g_mean, new_g_mean)
        self.assign(delta_mean, new_delta_mean)
        self.assign(variable, new_w)
