"""Converts `if`, `for` and `while` on tensors in a user's code by AutoGraph, but never tfkit's own code."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import autograph_config as config
from tfkit.src.borrowed.private import convert_by_autograph

# AutoGraph follows the calls of a user's function. tfkit's own functions need no conversion.
config.CONVERSION_RULES = (config.DoNotConvert("tfkit"), *config.CONVERSION_RULES)


def convert(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `method` with its control flow on tensors converted to graph operations, in a trace.

    Code of tfkit and code without source text (typed at a prompt) is returned unchanged.
    """
    if tf.executing_eagerly() or not _is_users(getattr(method, "__func__", method)):
        return method
    converted = convert_by_autograph(method)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return converted(*args, **kwargs)
        except Exception as error:
            raised = _original(error)
        raise raised  # Outside of the handler, so that the error keeps the user's cause and context.

    return call


def _original(error: Exception) -> BaseException:
    """Returns the error of the user's code: AutoGraph raises another one that quotes the lines."""
    original = error.__context__
    if original is None or not hasattr(original, "ag_error_metadata"):
        return error
    del original.ag_error_metadata
    original.ag_pass_through = True  # type: ignore[attr-defined]
    return original


@functools.lru_cache(maxsize=4096)
def _is_users(function: Any) -> bool:
    if (getattr(function, "__module__", None) or "").partition(".")[0] in ("tfkit", "tensorflow"):
        return False
    try:
        return bool(inspect.getsource(function))
    except (OSError, TypeError):
        return False
