"""Images for models that were trained on pixels from -1 to 1."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.applications import imagenet


@shortened
def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Returns images with pixels from -1 to 1: `x / 127.5 - 1`.

    Args:
        x: images with pixels from 0 to 255: an array, a tensor or a symbolic tensor. An array of floats is
            changed in place; integers become `config.floatx()`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for `config.image_data_format()`.

    Returns:
        An array or tensor of the same shape.

    Raises:
        ValueError: for an unknown format.

    Example:
        >>> preprocess_input(np.array([[[0, 127.5, 255]]]))
        array([[[-1.,  0.,  1.]]])
    """
    return imagenet.preprocess_input(x, data_format=data_format, mode="tf")
