"""Adadelta: steps in proportion to the size of the steps before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate, Optimizer
from tfkit.src.optimizers.gradients import dense, moving_average, multiply, square


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
        weight_decay: factor of decoupled weight decay: each update also subtracts
            `learning_rate * weight_decay * w` from a variable `w`; `None` for no decay.
        clipnorm: greatest norm of a gradient; a gradient with a greater one is scaled down to it.
            `None` for no limit.
        clipvalue: limit of the entries of gradients, which are clipped to
            `[-clipvalue, clipvalue]`; `None` for no limit.
        global_clipnorm: greatest norm of all gradients together, which are scaled down to it.
            `None` for no limit.
        use_ema: whether to keep an exponential moving average of each variable. Default: `False`.
        ema_momentum: share of the old average in the new one, from 0 to 1. Default: `0.99`.
        ema_overwrite_frequency: number of updates after which variables are set to their averages,
            each time; `None` for only once, in `finalize_variable_values()`, at the end of `fit`.
        loss_scale_factor: factor by which `scale_loss()` multiplies the loss and `apply()` divides
            gradients, against underflow in 16 bits; `None` for 1.
        gradient_accumulation_steps: number of calls of `apply()`, at least 2, whose gradients are
            averaged for one update; `None` for an update in each call.
        name: name of the optimizer; `None` for one that is made from the class's name.

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
        """Returns the constructor's arguments, as data."""
        return {
            **super().get_config(),
            "rho": self.rho,
            "epsilon": self.epsilon,
        }
