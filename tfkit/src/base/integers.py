"""Checks of integers that users pass."""

from __future__ import annotations

import operator
from typing import Any


def positive_integer(name: str, value: Any, otherwise: str = "") -> int:
    """Returns an argument as an integer of at least 1.

    Args:
        name: the argument's name.
        value: a number of any integer type, NumPy's too.
        otherwise: what else the argument may be, for the message, as in `" or None"`.

    Raises:
        ValueError: for any other value.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"`{name}` must be a positive integer{otherwise}. Received: {value!r}")
    return number
