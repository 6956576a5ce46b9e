"""Nadam: Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.optimizers.gradients import dense, moving_average, square
from tfkit.src.optimizers.moments import OfMoments
from tfkit.src.optimizers.options import shares_options
from tfkit.src.optimizers.slots import constant


def momentum_schedule(t: tf.Tensor, beta_1: Any) -> tf.Tensor:
    """Returns the momentum of step number `t`, `mu_t` in the paper."""
    # Dozat's schedule has the exponent t / 250; Keras's, which this one follows, has t.
    return beta_1 * (1 - 0.5 * tf.pow(tf.cast(0.96, t.dtype), t))


def nadam(
    w: tf.Tensor,
    g: Any,
    m: tf.Tensor,
    v: tf.Tensor,
    t: tf.Tensor,
    alpha: tf.Tensor,
    *,
    mu_product: tf.Tensor,
    beta_1: tf.Tensor,
    beta_2: tf.Tensor,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns new `w`, `m`, `v` after step `t`; `mu_product` is the product of all momenta up to `t`.

    Reference:
        Dozat, 2015: Incorporating Nesterov momentum into Adam.
    """
    mu, mu_next = momentum_schedule(t, beta_1), momentum_schedule(t + 1, beta_1)
    m = moving_average(m, g, beta_1)
    v = moving_average(v, square(g), beta_2)
    # Nesterov's look-ahead: the moment already has the factor of the next step.
    # Each term is divided by 1 minus the product of the momenta up to its own.
    m_hat = mu_next * m / (1 - mu_product * mu_next) + (1 - mu) * dense(g) / (1 - mu_product)
    v_hat = v / (1 - tf.pow(beta_2, t))
    return w - alpha * m_hat / (tf.sqrt(v_hat) + epsilon), m, v


@shares_options
class Nadam(OfMoments):
    """Nadam: Adam with Nesterov's momentum, whose strength rises from update to update.

    The momentum in update `t` is `beta_1 * (1 - 0.5 * 0.96**t)`.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        beta_1: decay of the first moment (the mean of gradients), from 0 to below 1. Default:
            `0.9`.
        beta_2: decay of the second moment (the mean of squared gradients), from 0 to below 1.
            Default: `0.999`.
        epsilon: small number that is added to the root of the second moment. Default: `1e-07`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Dozat, "Incorporating Nesterov momentum into Adam", 2015.

    Example:
        >>> w = tf.Variable(1.0)
        >>> Nadam(learning_rate=0.1).apply([2.0 * w], [w])
        >>> bool(w < 1.0)
        True
    """

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the moments of each variable, and the product of momenta."""
        super()._tfkit_add_slots(var_list)
        dtype = var_list[0].dtype if var_list else None
        self._u_product = self.add_variable((), constant(1.0), dtype, name="u_product")

    def _tfkit_before_updates(self) -> None:
        mu = momentum_schedule(self._tfkit_step_number(self._u_product.dtype), self.beta_1)
        self._u_product.assign(self._u_product * mu)

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its moments."""
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._tfkit_step_number(variable.dtype)
        # As tensors, since Keras computes `1 - beta` in the variable's precision here.
        betas = {"beta_1": tf.cast(self.beta_1, t.dtype), "beta_2": tf.cast(self.beta_2, t.dtype)}
        mu_product = tf.cast(self._u_product, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        new_w, new_m, new_v = nadam(
            variable, g, m, v, t, alpha, mu_product=mu_product, **betas, epsilon=self.epsilon
        )
        self.assign(m, new_m)
        self.assign(v, new_v)
        self.assign(variable, new_w)
