"""Process-wide settings: default float type, fuzz factor, image layout, switches for logs and debugging."""

from __future__ import annotations

import dataclasses

import tensorflow as tf

_FLOAT_TYPES = ("bfloat16", "float16", "float32", "float64")
_IMAGE_DATA_FORMATS = ("channels_last", "channels_first")


@dataclasses.dataclass
class _Settings:
    floatx: str = "float32"
    epsilon: float = 1e-7
    image_data_format: str = "channels_last"
    run_eagerly: bool = False
    interactive_logging: bool = True
    traceback_filtering: bool = True


_settings = _Settings()


def backend() -> str:
    """Name of the engine that runs the numbers: always `"tensorflow"`."""
    return "tensorflow"


def floatx() -> str:
    """Default float type of weights and computations, `"float32"` unless set."""
    return _settings.floatx


def set_floatx(value: str) -> None:
    """Sets the default float type.

    Args:
        value: `"bfloat16"`, `"float16"`, `"float32"` or `"float64"`.

    Raises:
        ValueError: for any other value; the setting stays what it was.
    """
    if value not in _FLOAT_TYPES:
        raise ValueError(f"Unknown float type. Expected one of {_FLOAT_TYPES}. Received: {value!r}")
    _settings.floatx = value


def epsilon() -> float:
    """Small number that keeps divisions and logarithms finite, `1e-7` unless set."""
    return _settings.epsilon


def set_epsilon(value: float) -> None:
    """Sets the small number that `epsilon()` returns."""
    _settings.epsilon = float(value)


def image_data_format() -> str:
    """Default layout of images: `"channels_last"` or `"channels_first"`."""
    return _settings.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Sets the default layout of images.

    Args:
        data_format: `"channels_last"` or `"channels_first"`.

    Raises:
        ValueError: for any other value; the setting stays what it was.
    """
    _settings.image_data_format = standardize_data_format(data_format)


def standardize_data_format(data_format: str | None) -> str:
    """`data_format` in lower case and checked; the default where it is `None`."""
    if data_format is None:
        return image_data_format()
    lowered = str(data_format).lower()
    if lowered not in _IMAGE_DATA_FORMATS:
        raise ValueError(
            f"Unknown `data_format`. Expected one of {_IMAGE_DATA_FORMATS}. "
            f"Received: {data_format!r}"
        )
    return lowered


def run_functions_eagerly(enabled: bool) -> None:
    """Turns the compilation of direct layer calls, `fit`, `evaluate` and `predict` off (or on).

    With `True` everything runs as plain Python, one operation at a time: slow, and easy to debug.
    """
    _settings.run_eagerly = bool(enabled)


def functions_run_eagerly() -> bool:
    """Whether `run_functions_eagerly(True)` is in force."""
    return _settings.run_eagerly


def enable_interactive_logging() -> None:
    """Sends progress and messages to standard output, which is the default.

    Example:
        >>> enable_interactive_logging()
        >>> is_interactive_logging_enabled()
        True
    """
    _settings.interactive_logging = True


def disable_interactive_logging() -> None:
    """Sends progress and messages to `absl.logging`, for jobs on a server.

    Example:
        >>> disable_interactive_logging()
        >>> is_interactive_logging_enabled()
        False
        >>> enable_interactive_logging()
    """
    _settings.interactive_logging = False


def is_interactive_logging_enabled() -> bool:
    """Returns whether progress and messages go to standard output.

    Returns:
        A Python bool, `True` by default.

    Example:
        >>> is_interactive_logging_enabled()
        True
    """
    return _settings.interactive_logging


def enable_traceback_filtering() -> None:
    """Leaves frames of tfkit and TensorFlow out of tracebacks, as it is unless switched off."""
    _settings.traceback_filtering = True
    tf.debugging.enable_traceback_filtering()


def disable_traceback_filtering() -> None:
    """Shows all frames of tfkit and TensorFlow in tracebacks, to look for a fault below one's own code."""
    _settings.traceback_filtering = False
    tf.debugging.disable_traceback_filtering()


def is_traceback_filtering_enabled() -> bool:
    """Whether frames of tfkit and TensorFlow are left out of tracebacks."""
    return _settings.traceback_filtering
