"""LAMB: Adam with steps in proportion to the norm of each variable."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.optimizers.gradients import moving_average, square
from tfkit.src.optimizers.moments import OfMoments
from tfkit.src.optimizers.options import shares_options


def lamb(
    w: tf.Tensor,
    g: Any,
    m: tf.Tensor,
    v: tf.Tensor,
    t: tf.Tensor,
    alpha: tf.Tensor,
    *,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns new `w`, `m` and `v` after step number `t`.

    Reference:
        You et al., 2020: Large batch optimization for deep learning, algorithm 2.
        https://arxiv.org/abs/1904.00962
    """
    m = moving_average(m, g, beta_1)
    v = moving_average(v, square(g), beta_2)
    m_hat = m / (1 - tf.pow(tf.cast(beta_1, t.dtype), t))
    v_hat = v / (1 - tf.pow(tf.cast(beta_2, t.dtype), t))
    # The paper adds the weight decay to r; here it is
    # decoupled, and the base class applies it first.
    r = m_hat / (tf.sqrt(v_hat) + epsilon)
    # The paper's phi is the identity: the norms have no limits.
    w_norm, r_norm = tf.sqrt(tf.reduce_sum(w * w)), tf.sqrt(tf.reduce_sum(r * r))
    # You et al. (2020): a variable that is all zeros is given a plain step of Adam, or it would
    # stay zero.
    trust = tf.where((w_norm > 0) & (r_norm > 0), w_norm / r_norm, tf.ones_like(w_norm))
    return w - trust * alpha * r, m, v


@shares_options
class Lamb(OfMoments):
    """LAMB: Adam's step for each variable, scaled to the variable's own norm; for very large batches.

    With `r` the direction of Adam, the step is `w -= learning_rate * norm(w) / norm(r) * r`.

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
        You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2020.

    Example:
        >>> w = tf.Variable([3.0, 4.0])
        >>> Lamb(learning_rate=0.1).apply([tf.constant([2.0, 0.0])], [w])
        >>> w.numpy()
        array([2.5, 4. ], dtype=float32)
    """

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its moments."""
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._tfkit_step_number(variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        w = tf.convert_to_tensor(variable)
        constants = {"beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon}
        new_w, new_m, new_v = lamb(w, g, m, v, t, alpha, **constants)
        self.assign(m, new_m)
        self.assign(v, new_v)
        self.assign(variable, new_w)
