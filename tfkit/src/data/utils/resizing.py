"""Resizes images without distortion, with cropped sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.ops.image_geometry import resize


@shortened
def smart_resize(
    x: Any,
    size: tuple[int, int],
    interpolation: str = "bilinear",
    data_format: str = "channels_last",
) -> Any:
    """Returns images in a different size without distortion, cropped if the aspect ratio differs.

    Args:
        x: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height with `"channels_first"`.
        size: new height and width, in pixels.
        interpolation: `"bilinear"`, `"nearest"`, `"bicubic"`, `"lanczos3"`, `"lanczos5"` or `"area"`.
            Default: `"bilinear"`.
        data_format: `"channels_last"` or `"channels_first"`. Default: `"channels_last"`.

    Returns:
        Images of the new size: an array for an array, a tensor for a tensor.

    Raises:
        ValueError: for a different number of axes, and for a size that is not two numbers.

    Example:
        >>> smart_resize(np.ones((20, 30, 3)), (8, 8)).shape
        (8, 8, 3)
    """
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise ValueError(
            f"`size` must be two whole numbers, height and width. Received: size={size!r}"
        )
    images = tf.convert_to_tensor(x)
    if images.shape.rank not in (3, 4):
        raise ValueError(
            "Expected one image of shape (height, width, channels) or a batch of them, of four axes. "
            f"Received an array of shape {tuple(images.shape)}"
        )
    if images.dtype.is_integer and interpolation != "nearest":
        images = tf.cast(images, "float32")
    resized = resize(
        images,
        tuple(size),
        interpolation=interpolation,
        crop_to_aspect_ratio=True,
        data_format=data_format,
    )
    return resized.numpy() if isinstance(x, np.ndarray) else resized
