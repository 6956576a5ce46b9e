"""Computes values that the variables of one update share only once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from typing import Any

from tfkit.src.base import context


def in_one_update() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which `computed` computes the value of each key once."""
    return context.within(update_values={})


def computed(key: Hashable, compute: Callable[[], Any]) -> Any:
    """Returns `compute()`, or its earlier result in this thread's update."""
    values = context.current().update_values
    if values is None:
        return compute()
    if key not in values:
        values[key] = compute()
    return values[key]
