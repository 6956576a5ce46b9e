"""Explains what can be done where layers, models or data are nested too deeply for Python's stack."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_REMEDY = "sys.setrecursionlimit"


def explain(error: RecursionError) -> None:
    """Adds the remedy to Python's message, once."""
    message = str(error)
    if _REMEDY not in message:
        error.args = (
            f"{message}. Expected layers, models and data at most about 100 deep inside each other, and no "
            f"layer that calls itself. `{_REMEDY}` allows more: Python's limit is now "
            f"{sys.getrecursionlimit():,} calls.",
        )


def bounded(function: Function) -> Function:
    """Makes a recursive function explain an argument that is nested too deeply for Python's stack."""

    @functools.wraps(function)
    def entry(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RecursionError as error:
            explain(error)
            raise

    return entry  # type: ignore[return-value]
