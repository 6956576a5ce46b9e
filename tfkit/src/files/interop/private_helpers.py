"""Small functions of Keras's sources that libraries import although they are not public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.symbolic.tensors import any_symbolic


def standardize_data_format(data_format: str | None) -> str:
    """Returns the layout of images, the default one for `None`.

    Raises:
        ValueError: for a string other than `"channels_first"` and `"channels_last"`.
    """
    if data_format is None:
        return settings.image_data_format()
    layout = str(data_format).lower()
    if layout not in ("channels_first", "channels_last"):
        raise ValueError(
            '`data_format` must be "channels_first" or "channels_last". '
            f"Received: data_format={data_format!r}"
        )
    return layout


def any_symbolic_tensors(args: Any = None, kwargs: dict[str, Any] | None = None) -> bool:
    """Returns whether one of the arguments, or something in them, is a symbolic tensor."""
    return any_symbolic(args or (), kwargs or {})


def in_tf_graph() -> bool:
    """Returns whether TensorFlow traces a function."""
    return not tf.executing_eagerly()


def no_automatic_dependency_tracking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function as it is: no assignment is tracked, layers are found on request."""
    return function
