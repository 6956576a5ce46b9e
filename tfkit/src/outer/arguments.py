"""Types of arguments of the command line."""

from __future__ import annotations

from collections.abc import Callable


def at_least(smallest: int) -> Callable[[str], int]:
    """Returns a type for integers that are not below `smallest`."""

    def number(text: str) -> int:
        if int(text) < smallest:
            raise ValueError
        return int(text)

    return number


def seconds(text: str) -> float:
    """Returns a time of more than 0 seconds, and at most an hour."""
    if not 0 < float(text) <= 3600:
        raise ValueError
    return float(text)
