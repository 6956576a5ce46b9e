"""Process-wide settings: default float type, fuzz factor, image layout, limits, switches for debugging."""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
import os
from typing import Any

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
    flash_attention: bool | None = None
    max_epochs: int | None = None
    max_steps_per_epoch: int | None = None
    compile_after: int | None = None


_settings = _Settings()


def backend() -> str:
    """Returns the name of the backend.

    Returns:
        Always `"tensorflow"`.

    Example:
        >>> backend()
        'tensorflow'
    """
    return "tensorflow"


def set_backend(backend: str) -> None:
    """Accepts only the name of the one backend.

    Args:
        backend: `"tensorflow"`.

    Raises:
        ValueError: for any other name: tfkit runs on TensorFlow alone.

    Example:
        >>> set_backend("tensorflow")
    """
    if backend != "tensorflow":
        raise ValueError(
            f"tfkit runs on TensorFlow alone. Expected: 'tensorflow'. Received: {backend!r}"
        )


def is_nnx_enabled() -> bool:
    """Returns whether layers are modules of Flax's NNX, which needs JAX.

    Returns:
        Always `False`.

    Example:
        >>> is_nnx_enabled()
        False
    """
    return False


def compile_after() -> int | None:
    """Returns from how many steps on XLA compiles the training of a model.

    Returns:
        An integer; `None`, unless it has been set, where tfkit estimates the number for each model.

    Example:
        >>> set_compile_after(100)
        >>> compile_after()
        100
        >>> set_compile_after(None)
    """
    return _settings.compile_after


def set_compile_after(num_steps: int | None) -> None:
    """Sets from how many steps on XLA compiles the training of a model.

    A model that is compiled with `jit_compile="auto"`, the default, trains without XLA if it has only a few
    steps to run: XLA's compiler would take longer than it saves. `model.plan` says so. Steps of
    earlier calls of `fit` count as well. Programs that are already compiled stay compiled.

    Args:
        num_steps: a number of steps; `0` for each training, however short. `None` lets tfkit estimate it from
            the size of the model.

    Raises:
        ValueError: for anything else; the setting stays what it was.

    Example:
        >>> set_compile_after(0)
        >>> set_compile_after(None)
    """
    if num_steps is not None and (type(num_steps) is not int or num_steps < 0):
        raise ValueError(
            f"`num_steps` must be an integer of at least 0, or `None`. Received: {num_steps!r}"
        )
    _settings.compile_after = num_steps


def floatx() -> str:
    """Returns the default float dtype of weights and computations.

    Returns:
        A string, `"float32"` unless it has been set.

    Example:
        >>> floatx()
        'float32'
    """
    return _settings.floatx


def set_floatx(value: str) -> None:
    """Sets the default float dtype of weights and computations.

    It applies to layers and tensors that are made from now on.

    Args:
        value: `"bfloat16"`, `"float16"`, `"float32"` or `"float64"`.

    Raises:
        ValueError: for any other value; the setting is not changed.

    Example:
        >>> set_floatx("float64")
        >>> tfkit.ops.zeros((2,)).dtype.name
        'float64'
        >>> set_floatx("float32")
    """
    if not isinstance(value, str) or value not in _FLOAT_TYPES:
        raise ValueError(f"Unknown float type. Expected one of {_FLOAT_TYPES}. Received: {value!r}")
    _settings.floatx = value


def epsilon() -> float:
    """Returns the small number that keeps divisions and logarithms finite.

    Returns:
        A Python float, `1e-7` unless it has been set.

    Example:
        >>> epsilon()
        1e-07
    """
    return _settings.epsilon


def set_epsilon(value: float) -> None:
    """Sets the small number that keeps divisions and logarithms finite.

    Args:
        value: a finite number of 0 or more.

    Raises:
        ValueError: for anything else; the setting is not changed.

    Example:
        >>> set_epsilon(1e-5)
        >>> epsilon()
        1e-05
        >>> set_epsilon(1e-7)
    """
    _settings.epsilon = finite_number("value", value)


def image_data_format() -> str:
    """Returns the default layout of images.

    Returns:
        `"channels_last"` (unless it has been set) or `"channels_first"`.

    Example:
        >>> image_data_format()
        'channels_last'
    """
    return _settings.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Sets the default layout of images.

    Args:
        data_format: `"channels_last"` or `"channels_first"`.

    Raises:
        ValueError: for any other value; the setting is not changed.

    Example:
        >>> set_image_data_format("channels_first")
        >>> image_data_format()
        'channels_first'
        >>> set_image_data_format("channels_last")
    """
    # Not `None`, which would be the setting itself.
    _settings.image_data_format = standardize_data_format(str(data_format))


def standardize_data_format(data_format: str | None) -> str:
    """Returns the name of a layout of images in lower case.

    Args:
        data_format: `"channels_last"` or `"channels_first"` in any case; `None` for the default
            layout.

    Returns:
        `"channels_last"` or `"channels_first"`.

    Raises:
        ValueError: for any other value.

    Example:
        >>> standardize_data_format("Channels_First"), standardize_data_format(None)
        ('channels_first', 'channels_last')
    """
    if data_format is None:
        return image_data_format()
    lowered = str(data_format).lower()
    if lowered not in _IMAGE_DATA_FORMATS:
        raise ValueError(
            f"Unknown `data_format`. Expected one of {_IMAGE_DATA_FORMATS}. Received: {data_format!r}"
        )
    return lowered


def run_functions_eagerly(enabled: bool) -> None:
    """Turns the compilation of direct layer calls, `fit`, `evaluate` and `predict` off (or on).

    Args:
        enabled: whether everything runs eagerly, one operation at a time: slow, and easy
            to debug.

    Example:
        >>> run_functions_eagerly(True)
        >>> functions_run_eagerly()
        True
        >>> run_functions_eagerly(False)
    """
    _settings.run_eagerly = bool(enabled)


def functions_run_eagerly() -> bool:
    """Returns whether `run_functions_eagerly(True)` is in force.

    Returns:
        A Python bool, `False` by default.

    Example:
        >>> functions_run_eagerly()
        False
    """
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
    """Leaves frames of tfkit and TensorFlow out of tracebacks, which is the default.

    Example:
        >>> enable_traceback_filtering()
        >>> is_traceback_filtering_enabled()
        True
    """
    _settings.traceback_filtering = True
    tf.debugging.enable_traceback_filtering()


def disable_traceback_filtering() -> None:
    """Shows all frames of tfkit and TensorFlow in tracebacks, to find faults in them.

    Example:
        >>> disable_traceback_filtering()
        >>> is_traceback_filtering_enabled()
        False
        >>> enable_traceback_filtering()
    """
    _settings.traceback_filtering = False
    tf.debugging.disable_traceback_filtering()


def is_traceback_filtering_enabled() -> bool:
    """Returns whether frames of tfkit and TensorFlow are left out of tracebacks.

    Returns:
        A Python bool, `True` by default.

    Example:
        >>> is_traceback_filtering_enabled()
        True
    """
    return _settings.traceback_filtering


def enable_flash_attention() -> None:
    """Leaves it to the engine whether attention is computed in blocks, which is the default.

    TensorFlow has no such kernel: attention layers give the same values in the same time whichever way this
    is set, and a layer with `flash_attention=True` is refused.

    Example:
        >>> enable_flash_attention()
    """
    _settings.flash_attention = None


def disable_flash_attention() -> None:
    """Disables attention in blocks; TensorFlow has no kernel for it in any case.

    Example:
        >>> disable_flash_attention()
        >>> is_flash_attention_enabled()
        False
        >>> enable_flash_attention()
    """
    _settings.flash_attention = False


def is_flash_attention_enabled() -> bool | None:
    """Returns how flash attention is set; on TensorFlow it is never used.

    Returns:
        `False` after `disable_flash_attention()`; else `None`: it is left to the engine.

    Example:
        >>> is_flash_attention_enabled() is None
        True
    """
    return _settings.flash_attention


def max_epochs() -> int | None:
    """Returns the largest number of epochs of any `fit`.

    Returns:
        An integer; `None` for no limit.

    Example:
        >>> max_epochs() is None
        True
    """
    return _settings.max_epochs


def set_max_epochs(max_epochs: int | None) -> None:
    """Limits the epochs of every `fit`, to try a program without changing it.

    A `fit` with more epochs warns, and runs only as many as the limit allows. The environment variable
    `KERAS_MAX_EPOCHS` sets the limit when a program begins.

    Args:
        max_epochs: a positive integer; `None` for no limit.

    Raises:
        ValueError: for anything else; the setting stays what it was.

    Example:
        >>> set_max_epochs(1)
        >>> max_epochs()
        1
        >>> set_max_epochs(None)
    """
    _settings.max_epochs = _limit("max_epochs", max_epochs)


def max_steps_per_epoch() -> int | None:
    """Returns the largest number of steps of an epoch of `fit`, of `evaluate` and of `predict`.

    Returns:
        An integer; `None` for no limit.

    Example:
        >>> max_steps_per_epoch() is None
        True
    """
    return _settings.max_steps_per_epoch


def set_max_steps_per_epoch(max_steps_per_epoch: int | None) -> None:
    """Limits the steps of epochs, evaluations and predictions, to try a program without changing it.

    What would make more steps warns, and makes as many as the limit says, as if these were its
    `steps_per_epoch` or `steps`. The environment variable `KERAS_MAX_STEPS_PER_EPOCH` sets the limit when a
    program begins.

    Args:
        max_steps_per_epoch: a positive integer; `None` for no limit.

    Raises:
        ValueError: for anything else; the setting stays what it was.

    Example:
        >>> set_max_steps_per_epoch(10)
        >>> max_steps_per_epoch()
        10
        >>> set_max_steps_per_epoch(None)
    """
    _settings.max_steps_per_epoch = _limit("max_steps_per_epoch", max_steps_per_epoch)


def _limit(name: str, value: Any) -> int | None:
    """Returns a limit as a positive integer, or `None`."""
    return None if value is None else positive_integer(name, value, " or None")


def _limits_of_environment() -> None:
    """Sets the limits from environment variables, as Keras does."""
    for name in ("max_epochs", "max_steps_per_epoch"):
        variable = f"KERAS_{name.upper()}"
        text = os.environ.get(variable)
        if text:
            number = int(text) if text.strip().isdecimal() else text
            setattr(_settings, name, _limit(f"the environment variable {variable}", number))


_limits_of_environment()


def finite_number(name: str, value: Any) -> float:
    """Returns an argument as a finite float of 0 or more.

    Args:
        name: the argument's name.
        value: a number of any real type, NumPy's too.

    Raises:
        ValueError: for any other value.
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise ValueError(
            f"`{name}` must be a finite number of 0 or more. Received: {name}={value!r}"
        )
    return float(value)


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
