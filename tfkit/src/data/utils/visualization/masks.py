"""Draws segmentation masks on images."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.utils.visualization.pixels import as_given, as_pixels

_GOLDEN = 0.618033988749895  # Hues at this distance are different, however many there are.


@shortened
def draw_segmentation_masks(
    images: Any,
    segmentation_masks: Any,
    num_classes: int | None = None,
    color_mapping: Mapping[int, Any] | None = None,
    alpha: float = 0.8,
    blend: bool = True,
    ignore_index: int = -1,
    data_format: str | None = None,
) -> np.ndarray:
    """Returns images with the pixels of each class in its color.

    Class 0 is the background, which is not changed unless `color_mapping` has a color for it.

    Args:
        images: images with values from 0 to 255, `(batch, height, width, 3)`.
        segmentation_masks: classes of pixels, integers, `(batch, height, width)`, or the same with an axis of
            channels of size 1.
        num_classes: the largest class that is drawn; `None` for the largest in the masks.
        color_mapping: dict from classes to red, green and blue, from 0 to 255; `None` for colors that are
            far apart.
        alpha: how opaque the colors are, from 0 to 1. Default: `0.8`.
        blend: whether images show through. Default: `True`.
        ignore_index: a class that is not drawn. Default: `-1`.
        data_format: `"channels_last"` or `"channels_first"`, of images and of masks with channels; `None` for
            the global setting.

    Returns:
        An array of `uint8` in the form of `images`.

    Raises:
        TypeError: for masks that are not integers.
        ValueError: for a different number of axes, for masks of a different size than the images, and for an
            `alpha` out of range.

    Example:
        >>> masks = np.array([[[0, 1], [2, 255]]])
        >>> colors = {1: (255, 0, 0), 2: (0, 255, 0)}
        >>> drawn = draw_segmentation_masks(np.full((1, 2, 2, 3), 100), masks, 2, colors, alpha=0.5)
        >>> drawn[0].reshape(4, 3).tolist()
        [[100, 100, 100], [177, 50, 50], [50, 177, 50], [100, 100, 100]]
    """
    pixels = as_pixels(images, data_format)
    masks = np.asarray(segmentation_masks)
    if not np.issubdtype(masks.dtype, np.integer):
        raise TypeError(
            f"`segmentation_masks` must be in integer dtype. Received: segmentation_masks.dtype={masks.dtype}"
        )
    if masks.ndim == 4 and 1 in (masks.shape[1], masks.shape[3]):
        masks = masks.reshape(pixels.shape[:3]) if masks.size == pixels[..., 0].size else masks
    if masks.shape != pixels.shape[:3]:
        raise ValueError(
            f"`segmentation_masks` must have the shape {pixels.shape[:3]} of the images, or an axis of "
            f"size 1 for channels beside it. Received: {masks.shape}"
        )
    if not 0 <= alpha <= 1:
        raise ValueError(f"`alpha` must be from 0 to 1. Received: {alpha}")
    last = int(masks.max(initial=0)) if num_classes is None else num_classes
    colors = _palette(last) if color_mapping is None else color_mapping
    drawn = pixels.copy()
    for number in np.unique(masks).tolist():
        if 0 <= number <= last and number != ignore_index and number in colors:
            drawn[masks == number] = colors[number]
    if blend:
        mixed = pixels.astype("float32") * (1 - alpha) + drawn.astype("float32") * alpha
        # Pixels without a color keep their exact values.
        where = (drawn != pixels).any(axis=-1, keepdims=True)
        drawn = np.where(where, mixed.astype("uint8"), pixels)
    return as_given(drawn, data_format)


def _palette(num_classes: int) -> dict[int, tuple[int, ...]]:
    """Returns bright colors of the classes from 1, each clearly different from the earlier ones."""
    return {
        number: tuple(
            round(255 * part) for part in colorsys.hsv_to_rgb(number * _GOLDEN % 1.0, 0.75, 0.95)
        )
        for number in range(1, num_classes + 1)
    }
