"""Converts batches of images to arrays of pixels, for drawing and display."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfkit.src.base import settings


def as_pixels(images: Any, data_format: str | None) -> np.ndarray:
    """Returns a new array of `uint8`, channels last.

    Args:
        images: images with values from 0 to 255, `(batch, height, width, channels)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the global setting.

    Raises:
        ValueError: for a different number of axes.
    """
    return _last(images, data_format).clip(0, 255).astype("uint8")


def in_range(images: Any, value_range: tuple[float, float], data_format: str | None) -> np.ndarray:
    """Returns the array of `as_pixels` for images with values in a different range."""
    low, high = value_range
    if not high > low:
        raise ValueError(
            f"`value_range` must be two numbers, the lower one first. Received: {value_range!r}"
        )
    scaled = (_last(images, data_format).astype("float32") - low) * (255 / (high - low))
    return scaled.clip(0, 255).astype("uint8")


def as_given(pixels: np.ndarray, data_format: str | None) -> np.ndarray:
    """Returns pixels with the channels' axis of the original images."""
    first = settings.standardize_data_format(data_format) == "channels_first"
    return np.moveaxis(pixels, -1, 1) if first else pixels


def _last(images: Any, data_format: str | None) -> np.ndarray:
    array = np.array(images)
    if array.ndim != 4:
        raise ValueError(
            "`images` must be batched 4D tensor: (batch, height, width, channels). "
            f"Received: images.shape={array.shape}"
        )
    first = settings.standardize_data_format(data_format) == "channels_first"
    return np.moveaxis(array, 1, -1) if first else array
