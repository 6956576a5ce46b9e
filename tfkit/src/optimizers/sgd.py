"""Gradient descent, with optional momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate, Optimizer
from tfkit.src.optimizers.gradients import add, map_values
from tfkit.src.optimizers.options import Options, shares_options


def momentum_descent(
    w: tf.Tensor, g: Any, v: tf.Tensor, alpha: tf.Tensor, mu: float, nesterov: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns new `w` and `v` after a step against the gradient with momentum `mu`.

    Reference:
        Sutskever et al., 2013: On the importance of initialization and momentum in deep learning.
    """
    # The learning rate is inside the velocity, as in
    # Keras: a later change does not rescale old steps.
    step = map_values(lambda x: -alpha * x, g)
    v = add(mu * v, step)
    return (w + add(mu * v, step) if nesterov else w + v), v


@shares_options
class SGD(Optimizer):
    """Stochastic gradient descent: `w -= learning_rate * g` for a variable `w` with gradient `g`.

    With momentum it is `v = momentum * v - learning_rate * g; w += v`, and with `nesterov` also
    `w += momentum * v - learning_rate * g`.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.01`.
        momentum: share of the last step that is added to the next one, a float from 0 to 1.
            Default: `0.0`.
        nesterov: whether to use Nesterov's form of the momentum. Default: `False`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if `momentum` is not a float from 0 to 1, if the learning rate is not a float,
            if more than one way of clipping is given, or if a number is out of range.

    Reference:
        Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013
            (momentum).

    Example:
        >>> w = tf.Variable(1.0)
        >>> SGD(learning_rate=0.1).apply([2.0 * w], [w])
        >>> round(float(w), 6)
        0.8
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ) -> None:
        if not isinstance(momentum, float) or not 0 <= momentum <= 1:
            raise ValueError(
                f"`momentum` must be a float between [0, 1]. Received: momentum={momentum!r}"
            )
        super().__init__(learning_rate, **options)
        self.momentum = momentum
        self.nesterov = nesterov

    def build(self, variables: Sequence[tf.Variable]) -> None:
        """Makes a momentum for each variable, if there is momentum."""
        if self.built:
            return
        super().build(variables)
        self.momentums = []
        if self.momentum:
            self.momentums = self.add_optimizer_variables(variables, "momentum")

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its momentum."""
        g = tf.cast(gradient, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        # Without momentum, rows of an `IndexedSlices` change only the same rows of the variable.
        if not self.momentum:
            self.assign_sub(variable, map_values(lambda x: alpha * x, g))
            return
        v = self.momentums[self._get_variable_index(variable)]
        new_variable, new_v = momentum_descent(variable, g, v, alpha, self.momentum, self.nesterov)
        self.assign(v, new_v)
        self.assign(variable, new_variable)
