"""Learning rates that fall along half a cosine, once or repeatedly."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import Number
from tfkit.src.optimizers.schedules.base import LearningRateSchedule, as_rate, check_positive


class CosineDecay(LearningRateSchedule):
    """Decay along half a cosine, to `alpha` times the learning rate, after an optional linear warm-up.

    The share of the rate that is left after `step` steps of the decay is
    `alpha + (1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2`.

    Args:
        initial_learning_rate: learning rate at step 0.
        decay_steps: positive number of steps of the decay, after the warm-up.
        alpha: share of the learning rate that is left at the end. Default: `0.0`.
        name: name of the schedule's operations. Default: `"CosineDecay"`.
        warmup_target: learning rate at the end of the warm-up, where the decay starts; `None` for no
            warm-up.
        warmup_steps: number of steps of the warm-up. Default: `0`.

    Call arguments:
        step: number of updates so far, a scalar.

    Output shape: A scalar, the learning rate.

    Raises:
        ValueError: if `decay_steps` is not positive.

    Reference:
        Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    Example:
        >>> [round(float(CosineDecay(0.1, decay_steps=10)(step)), 6) for step in (0, 5, 10)]
        [0.1, 0.05, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: Number,
        decay_steps: float,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: float = 0,
    ) -> None:
        check_positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.alpha = alpha
        self.name = name
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step."""
        with tf.name_scope(self.name):
            initial = as_rate(self.initial_learning_rate)
            step = tf.cast(step, initial.dtype)
            length = tf.cast(self.decay_steps, initial.dtype)
            if self.warmup_target is None:
                return initial * self._factor(step / length)
            target = tf.cast(self.warmup_target, initial.dtype)
            warmup = tf.cast(self.warmup_steps, initial.dtype)
            # Both branches are computed; `divide_no_nan` keeps the unused one finite.
            rising = initial + (target - initial) * tf.math.divide_no_nan(step, warmup)
            return tf.where(step < warmup, rising, target * self._factor((step - warmup) / length))

    def _factor(self, done: tf.Tensor) -> tf.Tensor:
        # After the last step the rate stays at its end.
        done = tf.minimum(done, 1)
        return (1 - self.alpha) * 0.5 * (1 + tf.cos(math.pi * done)) + self.alpha


class CosineDecayRestarts(LearningRateSchedule):
    """Decays along half cosines, each `t_mul` times as long and `m_mul` times as high as the one before.

    Args:
        initial_learning_rate: learning rate at step 0.
        first_decay_steps: positive number of steps of the first decay.
        t_mul: factor of the number of steps, from decay to decay; not negative. Below 1 all decays are
            over after `first_decay_steps / (1 - t_mul)` steps, and the rate stays at its end. Default:
            `2.0`.
        m_mul: factor of the learning rate at the start, from decay to decay. Default: `1.0`.
        alpha: share of the learning rate that is left at the end of each decay. Default: `0.0`.
        name: name of the schedule's operations. Default: `"SGDRDecay"`.

    Call arguments:
        step: number of updates so far, a scalar.

    Output shape: A scalar, the learning rate.

    Raises:
        ValueError: if `first_decay_steps` is not positive, or `t_mul` is negative.

    Reference:
        Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    Example:
        >>> schedule = CosineDecayRestarts(0.1, first_decay_steps=10)
        >>> [round(float(schedule(step)), 6) for step in (5, 10, 20)]
        [0.05, 0.1, 0.05]
    """

    def __init__(
        self,
        initial_learning_rate: Number,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        check_positive("first_decay_steps", first_decay_steps)
        if t_mul < 0:
            raise ValueError(f"Argument `t_mul` must be >= 0. Received: t_mul={t_mul}")
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self.t_mul = t_mul
        self.m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step."""
        with tf.name_scope(self.name):
            initial = as_rate(self.initial_learning_rate)
            dtype = initial.dtype
            # In units of the first decay. Below, `restarts` counts the decays
            # that are over, and `done` becomes the share of the present one.
            done = tf.cast(step, dtype) / tf.cast(self.first_decay_steps, dtype)
            # Equal lengths: the geometric sum of the other case would be divided by 0.
            over = tf.constant(False)
            if self.t_mul == 1:
                restarts = tf.floor(done)
                done -= restarts
            else:
                # Decays have the lengths 1, t, t^2, ...: the first n of them take (1 - t^n) / (1 - t).
                t = tf.cast(self.t_mul, dtype)
                # t^n after n decays: with t below 1, 0 at the end of all.
                left = 1 - done * (1 - t)
                over = left <= 0
                left = tf.where(over, tf.ones_like(left), left)
                restarts = tf.floor(tf.math.log(left) / tf.math.log(t))
                done = (done - (1 - tf.pow(t, restarts)) / (1 - t)) / tf.pow(t, restarts)
            height = tf.pow(tf.cast(self.m_mul, dtype), restarts)
            cosine = tf.where(
                over, tf.zeros_like(done), 0.5 * height * (1 + tf.cos(math.pi * done))
            )
            return initial * ((1 - self.alpha) * cosine + self.alpha)
