"""Gradient descent, with momentum if wished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import add, map_values


def momentum_descent(
    w: tf.Tensor, g: Any, v: tf.Tensor, alpha: tf.Tensor, mu: float, nesterov: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """New `w` and `v` after a step against the gradient with momentum `mu`.

    Reference:
        Sutskever et al., 2013: On the importance of initialization and momentum in deep learning.
    """
    step = map_values(lambda x: -alpha * x, g)
    v = add(mu * v, step)
    return (w + add(mu * v, step) if nesterov else w + v), v


class SGD(Optimizer):
    """Stochastic gradient descent: `w -= learning_rate * g`.

    With momentum: `v = momentum * v - learning_rate * g`, then `w += v`, or with `nesterov`
    `w += momentum * v - learning_rate * g`.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        momentum: how much of the last step is added to the next, a float in [0, 1].
        nesterov: whether to look ahead by the momentum.
        weight_decay: and the arguments after it: see `Optimizer`.

    Raises:
        ValueError: when `momentum` is no float in [0, 1].

    Reference:
        Sutskever et al., 2013, for the momentum.

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
        if not isinstance(momentum, float) or not 0 <= momentum <= 1:
            raise ValueError(
                f"`momentum` must be a float between [0, 1]. Received: momentum={momentum!r}"
            )
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
        if not self.momentum:
            self.assign_sub(variable, map_values(lambda x: alpha * x, g))
            return
        v = self.momentums[self._get_variable_index(variable)]
        new_variable, new_v = momentum_descent(variable, g, v, alpha, self.momentum, self.nesterov)
        v.assign(new_v)
        variable.assign(new_variable)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {**super().get_config(), "momentum": self.momentum, "nesterov": self.nesterov}
