"""Adds a function's arguments to TensorFlow's errors, which name only its operations and their inputs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import is_library, is_tfkit
from tfkit.src.base.errors.kernel_errors import tidy
from tfkit.src.borrowed.private import set_message

_PLAIN = (int, float, str, bool)
_LONGEST = 60  # characters of a value that is not a tensor


def add_arguments(
    error: BaseException, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> None:
    """Adds the shapes and values that a public function was given to an error of TensorFlow in it.

    Errors of tfkit have them already. It must be called by the function that the user calls; it does nothing
    where tfkit is the caller.

    Args:
        error: any error.
        function: the function that was called.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    kinds = (ValueError, TypeError, tf.errors.OpError)
    if not isinstance(error, kinds) or hasattr(error, "_tfkit_received"):
        return
    if not settings.is_traceback_filtering_enabled() or is_tfkit(
        sys._getframe(2).f_code.co_filename
    ):
        return
    if not _is_by_tensorflow(error):
        return
    arguments = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    with_dtypes = isinstance(error, TypeError) or "attr '" in str(error)
    parts = [part for item in arguments.items() if (part := _described(*item, with_dtypes))]
    if not parts:
        return
    error._tfkit_received = True  # type: ignore[union-attr]
    note = f"\nReceived by `{function.__name__}`: {', '.join(parts)}"
    tidy(error)  # It looks at the end of the message.
    if isinstance(error, tf.errors.OpError):
        set_message(error, f"{error.message}{note}")
    elif len(error.args) == 1:
        error.args = (f"{error.args[0]}{note}",)


def _is_by_tensorflow(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    filename = trace.tb_frame.f_code.co_filename if trace is not None else ""
    return is_library(filename) and not is_tfkit(filename)


def _described(name: str, value: Any, with_dtypes: bool) -> str:
    """Returns an argument in words; empty for a function, and for a long value."""
    if _is_tensor(value):
        dtype = f", {name}.dtype={tf.as_dtype(value.dtype).name}" if with_dtypes else ""
        return f"{name}.shape={value.shape}{dtype}"
    if isinstance(value, (list, tuple)) and value and all(map(_is_tensor, value)):
        return f"{name} of the shapes {', '.join(str(each.shape) for each in value)}"
    items = value if isinstance(value, (list, tuple)) else [value]
    if not all(item is None or isinstance(item, (*_PLAIN, list, tuple)) for item in items):
        return ""
    text = f"{name}={value!r}"
    return text if len(text) <= _LONGEST else ""


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")
