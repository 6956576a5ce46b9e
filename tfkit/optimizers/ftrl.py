"""FTRL: follow the regularized leader, for wide and sparse linear models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.optimizers.base import LearningRate, Optimizer
from tfkit.optimizers.gradients import add, square
from tfkit.optimizers.slots import constant


def ftrl(
    w: tf.Tensor,
    g: Any,
    n: tf.Tensor,
    z: tf.Tensor,
    alpha: tf.Tensor,
    beta: float,
    lambda_1: float,
    lambda_2: float,
    shrinkage: float,
    power: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """New `w`, `n` (sum of squared gradients) and `z` (what the leader minimizes).

    `power` is 0.5 in the paper, `shrinkage` 0.

    Reference:
        McMahan et al., 2013: Ad click prediction: a view from the trenches, algorithm 1.
    """
    new_n = add(n, square(g))
    sigma = (tf.pow(new_n, power) - tf.pow(n, power)) / alpha
    z = z + add(2 * shrinkage * w, g) - sigma * w
    curvature = tf.pow(new_n, power) / alpha + 2 * (lambda_2 + beta / (2 * alpha))
    return (tf.clip_by_value(z, -lambda_1, lambda_1) - z) / curvature, new_n, z


class Ftrl(Optimizer):
    """FTRL-proximal, with L1, L2 and shrinkage.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        learning_rate_power: how the learning rate falls with the sum of squared gradients, not
            above 0; 0 keeps it.
        initial_accumulator_value: what the sums of squares start from, not negative.
        l1_regularization_strength: not negative; makes weights exactly zero.
        l2_regularization_strength: not negative; a penalty that steadies the steps.
        l2_shrinkage_regularization_strength: not negative; a penalty on the size of weights.
        beta: the paper's beta.
        weight_decay: and the arguments after it: see `Optimizer`.

    Raises:
        ValueError: for a number on the wrong side of 0.

    Reference:
        McMahan et al., 2013: https://research.google.com/pubs/archive/41159.pdf
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
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
        for option, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0:
                raise ValueError(f"`{option}` must be 0 or above. Received: {option}={value}")
        if learning_rate_power > 0:
            raise ValueError(
                "`learning_rate_power` must be 0 or below. "
                f"Received: learning_rate_power={learning_rate_power}"
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
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the two sums of each variable."""
        if self.built:
            return
        super().build(var_list)
        self._accumulators, self._linears = self.add_optimizer_variables(
            var_list,
            ["accumulator", "linear"],
            [constant(self.initial_accumulator_value), "zeros"],
        )

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its sums."""
        index = self._get_variable_index(variable)
        n, z = self._accumulators[index], self._linears[index]
        new_w, new_n, new_z = ftrl(
            variable,
            tf.cast(gradient, variable.dtype),
            n,
            z,
            tf.cast(learning_rate, variable.dtype),
            self.beta,
            self.l1_regularization_strength,
            self.l2_regularization_strength,
            self.l2_shrinkage_regularization_strength,
            -self.learning_rate_power,
        )
        n.assign(new_n)
        z.assign(new_z)
        variable.assign(new_w)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            **super().get_config(),
            "learning_rate_power": self.learning_rate_power,
            "initial_accumulator_value": self.initial_accumulator_value,
            "l1_regularization_strength": self.l1_regularization_strength,
            "l2_regularization_strength": self.l2_regularization_strength,
            "l2_shrinkage_regularization_strength": self.l2_shrinkage_regularization_strength,
            "beta": self.beta,
        }
