"""The base of optimizers that keep a first and a second moment of each gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.options import Options, SlotsMadeOnce, shares_options


@shares_options
class OfMoments(SlotsMadeOnce):
    """The base of optimizers that keep a first and a second moment of each gradient.

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
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the moments of each variable."""
        self._momentums, self._velocities = self.add_optimizer_variables(
            var_list, ["momentum", "velocity"]
        )
