"""Learning rates that fall along half a cosine: once, or again and again."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from tfkit.optimizers.schedules.base import LearningRateSchedule, as_rate, check_positive


class CosineDecay(LearningRateSchedule):
    """Half a cosine down to `alpha` times the learning rate, after a straight rise if wished.

    Args:
        initial_learning_rate: the rate of step 0.
        decay_steps: how many steps the fall takes, above 0.
        alpha: what part of the rate is left at the end.
        name: a label of the operations.
        warmup_target: the rate to rise to first; without it there is no rise.
        warmup_steps: how many steps the rise takes.

    Raises:
        ValueError: when `decay_steps` is not above 0.

    Reference:
        Loshchilov & Hutter, 2017: SGDR: stochastic gradient descent with warm restarts.
        https://arxiv.org/abs/1608.03983

    Example:
        >>> [round(float(CosineDecay(0.1, decay_steps=10)(step)), 6) for step in (0, 5, 10)]
        [0.1, 0.05, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: int,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: int = 0,
    ) -> None:
        check_positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.alpha = alpha
        self.name = name
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps

    def __call__(self, step: Any) -> tf.Tensor:
        """The learning rate of a step."""
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
        done = tf.minimum(done, 1)
        return (1 - self.alpha) * 0.5 * (1 + tf.cos(math.pi * done)) + self.alpha

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "alpha": self.alpha,
            "name": self.name,
            "warmup_target": self.warmup_target,
            "warmup_steps": self.warmup_steps,
        }


class CosineDecayRestarts(LearningRateSchedule):
    """Half cosines one after another, each `t_mul` times as long and `m_mul` times as high.

    Args:
        initial_learning_rate: the rate of step 0.
        first_decay_steps: length of the first fall in steps, above 0.
        t_mul: each fall is so many times as long as the one before.
        m_mul: each fall starts at so many times the height of the one before.
        alpha: what part of the rate is left at the end of a fall.
        name: a label of the operations.

    Raises:
        ValueError: when `first_decay_steps` is not above 0.

    Reference:
        Loshchilov & Hutter, 2017: https://arxiv.org/abs/1608.03983

    Example:
        >>> schedule = CosineDecayRestarts(0.1, first_decay_steps=10)
        >>> [round(float(schedule(step)), 6) for step in (5, 10, 20)]
        [0.05, 0.1, 0.05]
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: int,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        check_positive("first_decay_steps", first_decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self.t_mul = t_mul
        self.m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def __call__(self, step: Any) -> tf.Tensor:
        """The learning rate of a step."""
        with tf.name_scope(self.name):
            initial = as_rate(self.initial_learning_rate)
            dtype = initial.dtype
            done = tf.cast(step, dtype) / tf.cast(self.first_decay_steps, dtype)
            if self.t_mul == 1:
                restarts = tf.floor(done)
                done -= restarts
            else:
                # Falls of lengths 1, t, t^2, ...: the first n of them take (1 - t^n) / (1 - t).
                t = tf.cast(self.t_mul, dtype)
                restarts = tf.floor(tf.math.log(1 - done * (1 - t)) / tf.math.log(t))
                done = (done - (1 - tf.pow(t, restarts)) / (1 - t)) / tf.pow(t, restarts)
            height = tf.pow(tf.cast(self.m_mul, dtype), restarts)
            cosine = 0.5 * height * (1 + tf.cos(math.pi * done))
            return initial * ((1 - self.alpha) * cosine + self.alpha)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as data."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "first_decay_steps": self.first_decay_steps,
            "t_mul": self.t_mul,
            "m_mul": self.m_mul,
            "alpha": self.alpha,
            "name": self.name,
        }
