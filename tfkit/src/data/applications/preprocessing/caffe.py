"""Images for models that were trained in Caffe."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.applications import imagenet


@shortened
def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Returns images with channels in the order blue, green, red, minus ImageNet's means:
    `x[..., ::-1] - means`.

    Args:
        x: images with pixels from 0 to 255: an array, a tensor or a symbolic tensor. An array of floats is
            changed in place; integers become `config.floatx()`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for `config.image_data_format()`.

    Returns:
        An array or tensor of the same shape.

    Raises:
        ValueError: for an unknown format, and for images that do not have three channels.

    Example:
        >>> preprocess_input(np.array([[[255.0, 116.779, 0.0]]]))
        array([[[-103.939,    0.   ,  131.32 ]]])
    """
    return imagenet.preprocess_input(x, data_format=data_format, mode="caffe")
