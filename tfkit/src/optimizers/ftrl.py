"""FTRL: follow the regularized leader, for wide and sparse linear models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.gradients import add, square
from tfkit.src.optimizers.options import Options, SlotsMadeOnce, shares_options
from tfkit.src.optimizers.slots import constant


def ftrl(
    w: tf.Tensor,
    g: Any,
    n: tf.Tensor,
    z: tf.Tensor,
    alpha: tf.Tensor,
    *,
    beta: float,
    lambda_1: float,
    lambda_2: float,
    shrinkage: float,
    power: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns new `w`, `n` (sum of squared gradients) and `z` (the leader's objective).

    `power` is 0.5 in the paper, `shrinkage` 0.

    Reference:
        McMahan et al., 2013: Ad click prediction: a view from the trenches, algorithm 1.
    """
    new_n = add(n, square(g))
    # McMahan et al. (2013), algorithm 1.
    # sigma is the growth of the inverse of each weight's own learning rate, alpha / n**power.
    sigma = (tf.pow(new_n, power) - tf.pow(n, power)) / alpha
    # Shrinkage is part of the gradient in z, but not of the squares in n.
    z = z + add(2 * shrinkage * w, g) - sigma * w
    # Equal to (beta + n**power) / alpha + 2 * lambda_2.
    curvature = tf.pow(new_n, power) / alpha + 2 * (lambda_2 + beta / (2 * alpha))
    # The clip makes a weight exactly 0 where its objective is within the penalty.
    return (tf.clip_by_value(z, -lambda_1, lambda_1) - z) / curvature, new_n, z


@shares_options
class Ftrl(SlotsMadeOnce):
    """FTRL-proximal: follows the regularized leader, with penalties that make weights exactly zero.

    With learning-rate power `-p`, sums of squared gradients `n` and a linear term `z`:

        sigma = ((n + g**2)**p - n**p) / learning_rate
        z += g + 2 * l2_shrinkage * w - sigma * w
        n += g**2
        w = (clip(z, -l1, l1) - z) / ((beta + n**p) / learning_rate + 2 * l2)

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        learning_rate_power: the exponent `-p`, at most 0; 0 keeps the learning rate constant.
            Default: `-0.5`.
        initial_accumulator_value: initial value of `n`, not negative. Default: `0.1`.
        l1_regularization_strength: the penalty `l1` on absolute values, not negative. Default:
            `0.0`.
        l2_regularization_strength: the penalty `l2` on squares, which keeps steps small, not
            negative. Default: `0.0`.
        l2_shrinkage_regularization_strength: a penalty on squares that is added to gradients, not
            negative. Default: `0.0`.
        beta: number that is added to `n**p`, as in the paper. Default: `0.0`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        McMahan et al., "Ad click prediction: a view from the trenches", 2013.

    Example:
        >>> w = tf.Variable(1.0)
        >>> Ftrl(learning_rate=0.1, l1_regularization_strength=100.0).apply([2.0 * w], [w])
        >>> float(w)
        0.0
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
        **options: Unpack[Options],
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
        super().__init__(learning_rate, **options)
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the two sums of each variable."""
        self._accumulators, self._linears = self.add_optimizer_variables(
            var_list, ["accumulator", "linear"], [constant(self.initial_accumulator_value), "zeros"]
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
            beta=self.beta,
            lambda_1=self.l1_regularization_strength,
            lambda_2=self.l2_regularization_strength,
            shrinkage=self.l2_shrinkage_regularization_strength,
            power=-self.learning_rate_power,
        )
        self.assign(n, new_n)
        self.assign(z, new_z)
        self.assign(variable, new_w)
