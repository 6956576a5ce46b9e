"""Checks arguments that count epochs, steps and rows."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Collection
from typing import Any

import numpy as np


def check_counts(**counts: Any) -> None:
    """Raises an error for counts that are not whole numbers, such as `epochs=2.5` or `epochs="2"`.

    Args:
        **counts: arguments by name; `None` for one that is not given.

    Raises:
        TypeError: that names the argument, as Keras.
    """
    for name, value in counts.items():
        if value is None and name not in ("epochs", "initial_epoch"):
            continue
        try:
            operator.index(value)
        except TypeError:
            raise TypeError(
                f"`{name}` must be an integer. Received: {name}={value!r} (of type {type(value).__name__})"
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


def check_validation(split: Any, freq: Any) -> None:
    """Raises an error for a share that is not a number, or an invalid frequency of validation.

    Raises:
        TypeError: for `validation_split`, as Keras.
        ValueError: for `validation_freq`, as Keras.
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
