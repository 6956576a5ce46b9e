"""Warnings that point at the user's line, however deep inside tfkit they are raised."""

from __future__ import annotations

import sys
import warnings

_INSIDE = ("tfkit", "tensorflow")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the nearest line that is neither tfkit's nor TensorFlow's.

    Args:
        message: what to say.
        category: class of the warning.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] in _INSIDE
