"""Callbacks that set the learning rate between epochs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.training.callbacks.callback import Callback, Logs
from tfkit.src.training.callbacks.monitor_callback import MonitorCallback
from tfkit.src.training.progress import print_message


def named_optimizers(optimizer: Optimizer) -> dict[str, Any]:
    """Returns the optimizers to set, by the names of their learning rates in the results.

    One optimizer is `"learning_rate"`; those inside an optimizer of several carry their names.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # Of a `LossScaleOptimizer`.
    parts = getattr(inner, "optimizers", None)
    if parts is None:
        return {"learning_rate": optimizer}
    return {f"learning_rate_{part.name}": part for part in parts}


def learning_rates(optimizer: Optimizer) -> dict[str, float]:
    """Returns the current learning rates, by name."""
    return {name: _rate(part) for name, part in named_optimizers(optimizer).items()}


def _rate(optimizer: Optimizer) -> float:
    return float(tf.convert_to_tensor(optimizer.learning_rate))


class LearningRateScheduler(Callback):
    """Sets the learning rate at the beginning of every epoch.

    Args:
        schedule: function of the epoch's index, from 0, and the current learning rate (or of the
            index alone) that returns the new learning rate, a float.
        verbose: 0 for no output, 1 for a line when the learning rate is set. Default: `0`.

    Raises:
        ValueError: in training, if the optimizer has no learning rate, or if `schedule` does not
            return a float.

    Example:
        ```python
        halve = LearningRateScheduler(lambda epoch, rate: rate * 0.5 if epoch else rate)
        model.fit(x, y, epochs=3, callbacks=[halve])
        ```
    """

    @with_checked_values
    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        if not callable(schedule):
            raise TypeError(
                "`schedule` must be a function of the epoch, and of the learning rate if it has two "
                f"arguments. Received: schedule={schedule!r}"
            )
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Sets the learning rate."""
        for name, optimizer in named_optimizers(self.model.optimizer).items():
            if not hasattr(optimizer, "learning_rate"):
                raise ValueError(
                    "LearningRateScheduler needs an optimizer with a `learning_rate`. "
                    f"Received: {optimizer!r}"
                )
            rate = self._scheduled(epoch, _rate(optimizer))
            optimizer.learning_rate = rate
            if self.verbose > 0:
                print_message(f"\nEpoch {epoch + 1}: LearningRateScheduler sets {name} to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Adds the learning rate to the results."""
        if logs is not None:
            logs.update(learning_rates(self.model.optimizer))

    def _scheduled(self, epoch: int, rate: float) -> float:
        arguments = (epoch, rate) if _takes(self.schedule, 2) else (epoch,)
        new_rate = self.schedule(*arguments)
        # An integer is most often a mistake, such as a schedule that returns its first argument.
        if not isinstance(new_rate, (float, np.float32, np.float64)):
            raise ValueError(
                f"`schedule` must give the learning rate as a float. Received: {new_rate!r}, a "
                f"{type(new_rate).__name__}. Wrap it: `float(...)`."
            )
        return new_rate


def _takes(function: Callable[..., Any], num_arguments: int) -> bool:
    try:
        # By the signature: a call with two arguments could itself raise a `TypeError`.
        inspect.signature(function).bind(*range(num_arguments))
    except TypeError:
        return False
    return True


class ReduceLROnPlateau(MonitorCallback):
    """Lowers the learning rate when a result has not improved for some epochs.

    Args:
        monitor: name of a result, such as `"val_loss"` or `"accuracy"`. Default: `"val_loss"`.
        factor: factor for the learning rate at each reduction, less than 1. Default: `0.1`.
        patience: number of epochs without improvement after which it is lowered. Default: `10`.
        verbose: 0 for no output, 1 for a line when the callback acts. Default: `0`.
        mode: `"min"` if less is better, `"max"` if more is, or `"auto"`: less for losses, and what
            a metric itself defines. Default: `"auto"`.
        min_delta: smallest change that counts as an improvement. Default: `0.0001`.
        cooldown: number of epochs after a reduction in which epochs without improvement are not
            counted. Default: `0`.
        min_lr: smallest learning rate. Default: `0.0`.

    Raises:
        ValueError: if `factor` is 1 or more; in training, with `mode="auto"`, if the result is
            neither a loss nor a metric that defines which direction is better.

    Example:
        ```python
        model.fit(x, y, epochs=50, callbacks=[ReduceLROnPlateau("loss", factor=0.2, patience=5)])
        ```
    """

    _tfkit_state = ("best", "wait", "cooldown_counter")

    @with_checked_values
    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: float = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: float = 0,
        min_lr: float = 0.0,
    ) -> None:
        super().__init__(monitor, mode, min_delta=min_delta)
        if factor >= 1.0:
            raise ValueError(
                f"ReduceLROnPlateau needs a factor less than 1. Received: factor={factor}"
            )
        self.factor = factor
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.cooldown_counter: float = 0
        self.wait = 0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Resets the state of an earlier `fit`."""
        self.best = None
        self.cooldown_counter = 0
        self.wait = 0

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Adds the learning rate to the results, and lowers it after too many epochs without improvement."""
        self._check_direction()
        logs = {} if logs is None else logs
        logs.update(learning_rates(self.model.optimizer))
        current = logs.get(self.monitor)
        if current is None:
            warn(
                f"ReduceLROnPlateau watches {self.monitor!r}, which is not among the results: "
                f"{', '.join(logs)}"
            )
            return
        # Before the comparison, so that the last epoch of the cooldown begins a new count.
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._is_improvement(current, self.best):
            self.best = current
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and self._reduce(epoch):
                self.cooldown_counter = self.cooldown
                self.wait = 0

    def in_cooldown(self) -> bool:
        """Returns whether a reduction is so recent that epochs do not count yet."""
        return self.cooldown_counter > 0

    def _reduce(self, epoch: int) -> bool:
        """Lowers the learning rates above `min_lr`, and returns whether there were any."""
        reduced = False
        for name, optimizer in named_optimizers(self.model.optimizer).items():
            old_rate = _rate(optimizer)
            if old_rate > np.float32(self.min_lr):  # the learning rate is kept in float32
                new_rate = max(old_rate * self.factor, self.min_lr)
                optimizer.learning_rate = new_rate
                reduced = True
                if self.verbose > 0:
                    print_message(
                        f"\nEpoch {epoch + 1}: ReduceLROnPlateau lowers {name} to {new_rate}."
                    )
        return reduced
