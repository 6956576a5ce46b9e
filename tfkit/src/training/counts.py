"""Checks arguments that count epochs, steps and rows."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Collection
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors import forks
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.nests import brief


def check_outside(method: str) -> None:
    """Raises an error if the programs of a model cannot run here.

    Args:
        method: the name of the method that was called.

    Raises:
        RuntimeError: in a process that was forked too late, and inside functions of TensorFlow.
    """
    forks.check(f"`{method}()`")
    if not tf.executing_eagerly():
        raise RuntimeError(
            f"`{method}()` was called inside a `tf.function` or a function for `Dataset.map`. It "
            "compiles the model itself: call it outside. In a function call the model, `model(x)`, or "
            "its step, "
            "`model.train_step((x, y))`."
        )


def check_counts(**counts: Any) -> None:
    """Raises an error for counts that are not whole numbers, such as `epochs=2.5` or `epochs="2"`.

    Args:
        **counts: arguments by name; `None` for one that is not given.

    Raises:
        TypeError: that names the argument, as in Keras.
    """
    for name, value in counts.items():
        if value is None and name not in ("epochs", "initial_epoch"):
            continue
        try:
            # Also NumPy's integers have an index, and floats have none.
            operator.index(value)
        except TypeError:
            what = brief(value)
            if name == "batch_size" and hasattr(value, "shape"):
                what += ", an array. Targets are for `fit` and `evaluate`: `predict` needs none"
            raise TypeError(
                f"`{name}` must be an integer. Received: {name}={what} (of type {type(value).__name__})"
            ) from None


def check_positive(**counts: int | None) -> None:
    """Raises an error for a number of steps below 1.

    Args:
        **counts: arguments by name; `None` for one that is not given.

    Raises:
        ValueError: that names the argument.
    """
    for name, value in counts.items():
        if value is not None and value < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {value}")


def check_epochs(epochs: int, initial_epoch: int) -> None:
    """Raises an error for epochs below 0, and for a first epoch after the last.

    Raises:
        ValueError: that states both arguments.
    """
    if epochs < 0 or initial_epoch < 0 or initial_epoch > epochs:
        raise ValueError(
            "`epochs` is the number of the last epoch, counted from the first `fit` on, and `initial_epoch` "
            "is how many of them are done already: expected 0 <= initial_epoch <= epochs. "
            f"Received: epochs={epochs}, initial_epoch={initial_epoch}"
        )


def check_validation(split: Any, freq: Any) -> None:
    """Raises an error for a share that is not a number, or an invalid frequency of validation.

    Raises:
        TypeError: for `validation_split`, as in Keras.
        ValueError: for `validation_freq`, as in Keras.
    """
    if split is not None and not isinstance(split, numbers.Real):
        raise TypeError(
            "`validation_split` must be a number from 0 to below 1. Received: "
            f"validation_split={split!r} (of type {type(split).__name__})"
        )
    if not isinstance(freq, (int, np.integer, Collection)) or isinstance(freq, str):
        raise ValueError(
            "`validation_freq` must be an integer, or a list of epochs. Received: "
            f"validation_freq={freq!r} (of type {type(freq).__name__})"
        )
    if not isinstance(freq, Collection) and not freq:
        raise ValueError(
            "`validation_freq` must be the number of epochs from one validation to the next. Received: 0"
        )


def warn_if_ran_out(done: int, num_steps: int | None) -> None:
    """Warns if there were batches for fewer steps than requested.

    Args:
        done: the number of steps that were run.
        num_steps: the requested number; `None` for all.
    """
    if done < (num_steps or 0):
        warn(
            f"Your input ran out of data. Expected {num_steps} steps, and there were batches for {done}: the "
            "results are for these. Pass fewer steps, or more data."
        )


def limited_epochs(epochs: int) -> int:
    """Returns the number of epochs, limited by `config.set_max_epochs`; warns if it is reduced."""
    limit = settings.max_epochs()
    if limit is None or epochs <= limit:
        return epochs
    warn(
        f"Limiting epochs to {limit}, as `config.set_max_epochs({limit})` asks for. Received: {epochs}"
    )
    return limit


def limited_steps(steps: int | None, num_batches: int | None) -> int | None:
    """Returns the steps of a run, limited by `config.set_max_steps_per_epoch`; warns if they are reduced.

    Args:
        steps: the requested number; `None` for all batches.
        num_batches: how many there are, `None` if that is not known.

    Returns:
        The number of steps; `None` for all batches.
    """
    limit = settings.max_steps_per_epoch()
    wanted = num_batches if steps is None else steps
    if limit is None or (wanted is not None and wanted <= limit):
        return steps
    warn(
        f"Limiting steps_per_epoch to {limit}, as `config.set_max_steps_per_epoch({limit})` asks for. "
        f"Received: {'data of unknown length' if wanted is None else wanted}"
    )
    return limit
