"""Images for models whose pixels were normalized as in torchvision."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.applications import imagenet


@shortened
def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Returns images normalized by ImageNet's channels: `(x / 255 - means) / deviations`.

    Args:
        x: images with pixels from 0 to 255: an array, a tensor or a symbolic tensor. An array of floats is
            changed in place; integers become `config.floatx()`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for `config.image_data_format()`.

    Returns:
        An array or tensor of the same shape.

    Raises:
        ValueError: for an unknown format, and for images that do not have three channels.

    Example:
        >>> preprocess_input(np.full((1, 1, 3), 255.0)).round(2)
        array([[[2.25, 2.43, 2.64]]])
    """
    return imagenet.preprocess_input(x, data_format=data_format, mode="torch")
