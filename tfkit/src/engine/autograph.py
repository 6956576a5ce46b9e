"""Converts `if`, `for` and `while` on tensors in a user's code by AutoGraph, but never tfkit's own code."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import autograph_config as config
from tfkit.src.borrowed.private import convert_by_autograph

# AutoGraph also converts what a user's function calls. tfkit's own functions need no conversion. The first
# rule that fits decides, so this one comes first.
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
        # Outside of the handler: inside, Python would replace the context of the user's error.
        raise raised

    return call


def _original(error: Exception) -> BaseException:
    """Returns the error of the user's code: AutoGraph raises its own, which quotes the lines."""
    original = error.__context__
    if original is None or not hasattr(original, "ag_error_metadata"):
        return error
    # With the metadata, TensorFlow's trace would still make its own error; the second attribute keeps
    # AutoGraph's wrappers of the callers from attaching metadata again.
    del original.ag_error_metadata
    original.ag_pass_through = True  # type: ignore[attr-defined]
    return original


# `inspect.getsource` reads and splits a whole file, and each layer asks in each trace. The limit bounds how
# many functions the cache keeps alive.
@functools.lru_cache(maxsize=4096)
def _is_users(function: Any) -> bool:
    if (getattr(function, "__module__", None) or "").partition(".")[0] in ("tfkit", "tensorflow"):
        return False
    try:
        return bool(inspect.getsource(function))
    except (OSError, TypeError):
        return False
