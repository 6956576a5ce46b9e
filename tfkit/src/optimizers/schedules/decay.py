"""Learning rates that fall by a formula: exponential, inverse, polynomial, in steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import Number
from tfkit.src.optimizers.schedules.base import LearningRateSchedule, as_rate, check_positive


class ExponentialDecay(LearningRateSchedule):
    """Exponential decay: `initial_learning_rate * decay_rate ** (step / decay_steps)`.

    Args:
        initial_learning_rate: learning rate at step 0.
        decay_steps: positive number of steps after which the rate has been multiplied by
            `decay_rate` once.
        decay_rate: factor of the rate over `decay_steps` steps.
        staircase: whether `step / decay_steps` is rounded down, so that the rate falls in steps.
            Default: `False`.
        name: name of the schedule's operations. Default: `"ExponentialDecay"`.

    Call arguments:
        step: number of updates so far, a scalar.

    Output shape: A scalar, the learning rate.

    Raises:
        ValueError: if `decay_steps` is not positive.

    Example:
        >>> schedule = ExponentialDecay(0.1, decay_steps=10, decay_rate=0.5)
        >>> [round(float(schedule(step)), 6) for step in (0, 10, 20)]
        [0.1, 0.05, 0.025]
    """

    def __init__(
        self,
        initial_learning_rate: Number,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ) -> None:
        check_positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step."""
        with tf.name_scope(self.name):
            initial = as_rate(self.initial_learning_rate)
            periods = tf.cast(step, initial.dtype) / tf.cast(self.decay_steps, initial.dtype)
            if self.staircase:
                periods = tf.floor(periods)
            return initial * tf.pow(tf.cast(self.decay_rate, initial.dtype), periods)


class InverseTimeDecay(LearningRateSchedule):
    """Decay with the inverse of time: `initial_learning_rate / (1 + decay_rate * step / decay_steps)`.

    Args:
        initial_learning_rate: learning rate at step 0.
        decay_steps: positive number of steps that count as one unit of time.
        decay_rate: decay per unit of time; at 1 the rate is halved after `decay_steps` steps.
        staircase: whether `step / decay_steps` is rounded down, so that the rate falls in steps.
            Default: `False`.
        name: name of the schedule's operations. Default: `"InverseTimeDecay"`.

    Call arguments:
        step: number of updates so far, a scalar.

    Output shape: A scalar, the learning rate.

    Raises:
        ValueError: if `decay_steps` is not positive.

    Example:
        >>> schedule = InverseTimeDecay(0.1, decay_steps=10, decay_rate=1.0)
        >>> [round(float(schedule(step)), 6) for step in (0, 10, 30)]
        [0.1, 0.05, 0.025]
    """

    def __init__(
        self,
        initial_learning_rate: Number,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "InverseTimeDecay",
    ) -> None:
        check_positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step."""
        with tf.name_scope(self.name):
            initial = as_rate(self.initial_learning_rate)
            periods = tf.cast(step, initial.dtype) / tf.cast(self.decay_steps, initial.dtype)
            if self.staircase:
                periods = tf.floor(periods)
            return initial / (1 + tf.cast(self.decay_rate, initial.dtype) * periods)


class PolynomialDecay(LearningRateSchedule):
    """Decay from one learning rate to another along `(1 - step / decay_steps) ** power`.

    Args:
        initial_learning_rate: learning rate at step 0.
        decay_steps: positive number of steps after which the end is reached.
        end_learning_rate: learning rate from then on. Default: `0.0001`.
        power: exponent; 1 is a straight line. Default: `1.0`.
        cycle: whether the rate rises again at the end and falls more slowly, over the next multiple
            of `decay_steps`. Default: `False`.
        name: name of the schedule's operations. Default: `"PolynomialDecay"`.

    Call arguments:
        step: number of updates so far, a scalar.

    Output shape: A scalar, the learning rate.

    Raises:
        ValueError: if `decay_steps` is not positive.

    Example:
        >>> schedule = PolynomialDecay(0.1, decay_steps=10, end_learning_rate=0.0)
        >>> [round(float(schedule(step)), 6) for step in (0, 5, 10)]
        [0.1, 0.05, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: Number,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ) -> None:
        check_positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        self.name = name

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step."""
        with tf.name_scope(self.name):
            initial = as_rate(self.initial_learning_rate)
            end = tf.cast(self.end_learning_rate, initial.dtype)
            length = tf.cast(self.decay_steps, initial.dtype)
            step = tf.cast(step, initial.dtype)
            if self.cycle:
                # The end moves to the next multiple of `decay_steps`;
                # at step 0, which rounds up to 0, to the first.
                length *= tf.maximum(tf.math.ceil(step / length), 1)
            else:
                step = tf.minimum(step, length)
            left = 1 - step / length
            return (initial - end) * tf.pow(left, tf.cast(self.power, initial.dtype)) + end


class PiecewiseConstantDecay(LearningRateSchedule):
    """Constant learning rates, one up to and including each boundary, the last one after all of them.

    Args:
        boundaries: list of steps, in rising order.
        values: list of learning rates, one more than boundaries.
        name: name of the schedule's operations. Default: `"PiecewiseConstant"`.

    Call arguments:
        step: number of updates so far, a scalar or several.

    Output shape: The shape of `step`.

    Raises:
        ValueError: if there is not one value more than boundaries, or if they do not rise.

    Example:
        >>> schedule = PiecewiseConstantDecay([10, 20], [1.0, 0.5, 0.25])
        >>> [float(schedule(step)) for step in (10, 11, 21)]
        [1.0, 0.5, 0.25]
    """

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant"
    ) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "There must be one value more than boundaries. "
                f"Received: boundaries={boundaries}, values={values}"
            )
        if any(later < each for each, later in itertools.pairwise(boundaries)):
            raise ValueError(f"`boundaries` must rise. Received: boundaries={boundaries}")
        self.boundaries = boundaries
        self.values = values
        self.name = name

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step."""
        with tf.name_scope(self.name):
            values = tf.stack([as_rate(value) for value in self.values])
            step = tf.convert_to_tensor(step)
            # Boundaries between integers are rounded down for steps
            # that are integers: `step > boundary` is the same.
            boundaries = [tf.cast(b, step.dtype) for b in self.boundaries]
            boundaries = tf.convert_to_tensor(boundaries, step.dtype)  # There may be none.
            # The index of the value is the number of boundaries that have been passed.
            index = tf.reduce_sum(tf.cast(step[..., tf.newaxis] > boundaries, tf.int32), axis=-1)
            return values[index] if index.shape.rank == 0 else tf.gather(values, index)
