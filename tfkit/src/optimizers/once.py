"""Computes values that the variables of one update share only once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any

_values: ContextVar[dict[Hashable, Any] | None] = ContextVar("shared in an update", default=None)


@contextlib.contextmanager
def in_one_update() -> Iterator[None]:
    """Context manager in which `computed` computes the value of each key once."""
    token = _values.set({})
    try:
        yield
    finally:
        _values.reset(token)


def computed(key: Hashable, compute: Callable[[], Any]) -> Any:
    """Returns `compute()`, or its earlier result in this thread's update."""
    values = _values.get()
    if values is None:
        return compute()
    if key not in values:
        values[key] = compute()
    return values[key]
