"""RMSprop: gradients divided by the root of a running mean of their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import dense, moving_average, square


def rmsprop(
    g: Any,
    v: tf.Tensor,
    g_mean: tf.Tensor | None,
    alpha: tf.Tensor,
    rho: float,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor | None]:
    """The step to take, new `v` (mean square of gradients), and new `g_mean` (their mean) if it is
    given.

    Reference:
        Hinton, 2012: Neural networks for machine learning, lecture 6e.
        Graves, 2013, for the centered form: https://arxiv.org/abs/1308.0850
    """
    v = moving_average(v, square(g), rho)
    variance = v
    if g_mean is not None:
        g_mean = moving_average(g_mean, g, rho)
        variance = v - tf.square(g_mean)
    return alpha * dense(g) / tf.sqrt(variance + epsilon), v, g_mean


class RMSprop(Optimizer):
    """RMSprop, with momentum and centering if wished.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        rho: decay of the mean square of gradients, in [0, 1).
        momentum: how much of the last step is added to the next.
        epsilon: added to the mean square before the root is taken.
        centered: whether to divide by the variance of gradients instead of their mean square.
        weight_decay: and the arguments after it: see `Optimizer`.

    Reference:
        Hinton, 2012: http://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf

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
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the mean square of each variable, its momentum and mean if they are used."""
        if self.built:
            return
        super().build(var_list)
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
        v.assign(new_v)
        if g_mean is not None:
            g_mean.assign(new_g_mean)
        if self.momentum > 0:
            momentum = self._momentums[index]
            step = self.momentum * momentum + step
            momentum.assign(step)
        variable.assign_sub(step)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            **super().get_config(),
            "rho": self.rho,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "centered": self.centered,
        }
