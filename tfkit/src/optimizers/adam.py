"""Adam: steps scaled by running estimates of the first two moments of the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.gradients import moving_average, square
from tfkit.src.optimizers.moments import OfMoments
from tfkit.src.optimizers.options import Options, shares_options


def adam(
    w: tf.Tensor,
    g: Any,
    m: tf.Tensor,
    v: tf.Tensor,
    alpha_t: tf.Tensor,
    *,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    v_hat: tf.Tensor | None = None,
) -> tuple[tf.Tensor, ...]:
    """Returns new `w`, `m`, `v` and `v_hat` after a step of size `alpha_t`.

    The order of computation is the one at the end of the paper's section 2, whose epsilon is
    "epsilon hat". `v_hat` is the largest `v` so far (AMSGrad), or `None` for the new `v` (Adam).

    Reference:
        Kingma & Ba, 2014: Adam: a method for stochastic optimization.
        https://arxiv.org/abs/1412.6980
        Reddi et al., 2018: On the convergence of Adam and beyond.
    """
    m = moving_average(m, g, beta_1)
    v = moving_average(v, square(g), beta_2)
    # AMSGrad (Reddi et al., 2018), of the uncorrected moment, as in Keras.
    v_hat = v if v_hat is None else tf.maximum(v_hat, v)
    return w - alpha_t * m / (tf.sqrt(v_hat) + epsilon), m, v, v_hat


def bias_corrections(t: tf.Tensor, beta_1: float, beta_2: float) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the factor and the divisor of `alpha` in step `t` (from 1), because both moments start at 0."""
    root = tf.sqrt(1 - tf.pow(tf.cast(beta_2, t.dtype), t))
    return root, 1 - tf.pow(tf.cast(beta_1, t.dtype), t)


@shares_options
class Adam(OfMoments):
    """Adam: steps in the direction of the mean gradient, divided by the root of its mean square.

    With gradient `g` in update `t`:

        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        w -= learning_rate * sqrt(1 - beta_2**t) / (1 - beta_1**t) * m / (sqrt(v) + epsilon)

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        beta_1: decay of the first moment (the mean of gradients), from 0 to below 1. Default:
            `0.9`.
        beta_2: decay of the second moment (the mean of squared gradients), from 0 to below 1.
            Default: `0.999`.
        epsilon: small number that is added to the root of the second moment. Default: `1e-07`.
        amsgrad: whether to divide by the largest second moment so far (AMSGrad). Default: `False`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Kingma & Ba, "Adam: a method for stochastic optimization", 2014; Reddi et al., "On the
            convergence of Adam and beyond", 2018 (`amsgrad`).

    Example:
        >>> w = tf.Variable(1.0)
        >>> Adam(learning_rate=0.1).apply([2.0 * w], [w])
        >>> round(float(w), 5)
        0.9
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = amsgrad

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the moments of each variable."""
        super()._tfkit_add_slots(var_list)
        if self.amsgrad:
            self._velocity_hats = self.add_optimizer_variables(var_list, "velocity_hat")

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its moments."""
        index = self._get_variable_index(variable)
        g = tf.cast(gradient, variable.dtype)
        # Scalars that are the same for all variables.
        root, rest = self._tfkit_once("corrections", variable.dtype, self._bias_corrections)
        # Kingma and Ba (2015), end of section 2: both corrections in the step size. Epsilon is
        # therefore added to the uncorrected root, as in Keras.
        alpha_t = tf.cast(learning_rate, variable.dtype) * root / rest
        m, v = self._momentums[index], self._velocities[index]
        constants = {"beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon}
        v_hat = self._velocity_hats[index] if self.amsgrad else None
        new_w, new_m, new_v, new_v_hat = adam(variable, g, m, v, alpha_t, **constants, v_hat=v_hat)
        if v_hat is not None:
            self.assign(v_hat, new_v_hat)
        self.assign(m, new_m)
        self.assign(v, new_v)
        self.assign(variable, new_w)

    def _bias_corrections(self, dtype: Any) -> tuple[tf.Tensor, tf.Tensor]:
        return bias_corrections(self._tfkit_step_number(dtype), self.beta_1, self.beta_2)
