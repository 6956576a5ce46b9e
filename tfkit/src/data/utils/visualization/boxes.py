"""Draws bounding boxes on images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfkit.src.base import packages
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.utils.visualization.pixels import as_given, as_pixels
from tfkit.src.ops.bounding_boxes import convert_format

_FONT_SIZE = 22  # pixels at a scale of 1
_GAP = 5  # pixels between a box and the text above it


@shortened
def draw_bounding_boxes(
    images: Any,
    bounding_boxes: Any,
    bounding_box_format: str,
    class_mapping: Mapping[int, str] | None = None,
    color: tuple[int, int, int] = (128, 128, 128),
    line_thickness: int = 2,
    text_thickness: int = 1,
    font_scale: float = 1.0,
    data_format: str | None = None,
) -> np.ndarray:
    """Returns images with boxes drawn on them, and the names of their classes.

    A box with the label -1 is only padding, and is not drawn.

    Args:
        images: images with values from 0 to 255, `(batch, height, width, 3)`.
        bounding_boxes: dict with `"boxes"`, `(batch, boxes, 4)`; `"labels"`, integers, `(batch, boxes)`; and
            perhaps `"confidences"`, `(batch, boxes)`, which are written after the names.
        bounding_box_format: the format of the boxes, as in `utils.bounding_boxes.convert_format`.
        class_mapping: dict from labels to names; `None` to write no names.
        color: red, green and blue, from 0 to 255. Default: `(128, 128, 128)`.
        line_thickness: pixels. Default: `2`.
        text_thickness: pixels that strokes of letters have, about. Default: `1`.
        font_scale: size of letters; 1.0 is 22 pixels. Default: `1.0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the global setting.

    Returns:
        An array of `uint8` in the form of `images`.

    Raises:
        TypeError: if `bounding_boxes` is not a dict.
        ValueError: for a different number of axes, for missing keys, and for boxes that do not fit the
            images.
        ImportError: if Pillow is missing and there are names to write.

    Example:
        >>> boxes = {"boxes": [[[1.0, 1.0, 4.0, 3.0]]], "labels": [[0]]}
        >>> image = draw_bounding_boxes(
        ...     np.zeros((1, 5, 6, 3)), boxes, "xyxy", color=(9, 9, 9), line_thickness=1
        ... )
        >>> image[0, :, :, 0]
        array([[0, 0, 0, 0, 0, 0],
               [0, 9, 9, 9, 9, 0],
               [0, 9, 0, 0, 9, 0],
               [0, 9, 9, 9, 9, 0],
               [0, 0, 0, 0, 0, 0]], dtype=uint8)
    """
    if not isinstance(bounding_boxes, Mapping):
        raise TypeError(
            "`bounding_boxes` should be a dict. "
            f"Received: bounding_boxes={bounding_boxes!r} (of type {type(bounding_boxes).__name__})"
        )
    if "boxes" not in bounding_boxes or "labels" not in bounding_boxes:
        raise ValueError(
            "`bounding_boxes` should be a dict containing 'boxes' and 'labels' keys. "
            f"Received: the keys {list(bounding_boxes)}"
        )
    pixels = as_pixels(images, data_format)
    labels = np.asarray(bounding_boxes["labels"])
    boxes = np.asarray(bounding_boxes["boxes"], "float32")
    confidences = bounding_boxes.get("confidences")
    scores = None if confidences is None else np.asarray(confidences)
    if boxes.shape != (len(pixels), labels.shape[-1], 4) or labels.shape != boxes.shape[:2]:
        raise ValueError(
            f"`boxes` must have the shape (batch, boxes, 4) and `labels` (batch, boxes), for {len(pixels)} "
            f"images. Received: shapes {boxes.shape} and {labels.shape}"
        )
    height, width = pixels.shape[1:3]
    corners = np.asarray(convert_format(boxes, bounding_box_format, "xyxy", height, width))
    for index, image in enumerate(pixels):
        for number, label in enumerate(labels[index].astype(int).tolist()):
            if label == -1:
                continue
            left, top, right, bottom = np.nan_to_num(corners[index, number]).astype(int).tolist()
            _outline(image, (left, top, right, bottom), color, line_thickness)
            if class_mapping is not None:
                text = str(class_mapping.get(label, label))
                if scores is not None:
                    text = f"{text} | {float(scores[index, number]):.2f}"
                _write(image, text, (left, top), color, text_thickness, font_scale)
    return as_given(pixels, data_format)


def _outline(
    image: np.ndarray, corners: tuple[int, int, int, int], color: Any, thickness: int
) -> None:
    """Draws the four sides, as far as they are inside the image."""
    left, top, right, bottom = corners
    out, into = thickness // 2, thickness - thickness // 2
    rows = slice(max(top - out, 0), max(bottom + into, 0))
    columns = slice(max(left - out, 0), max(right + into, 0))
    for row in (top, bottom):
        image[max(row - out, 0) : max(row + into, 0), columns] = color
    for column in (left, right):
        image[rows, max(column - out, 0) : max(column + into, 0)] = color


def _write(
    image: np.ndarray, text: str, corner: tuple[int, int], color: Any, thickness: int, scale: float
) -> None:
    """Writes a text above a corner."""
    # Here, because few programs draw, and the fonts take memory.
    drawing, fonts, images = (
        packages.imported(f"PIL.{name}", "The name of a box", "Pillow", "pillow")
        for name in ("ImageDraw", "ImageFont", "Image")
    )
    picture = images.fromarray(image)
    font = fonts.load_default(size=max(_FONT_SIZE * scale, 1.0))
    place = (corner[0], corner[1] - _GAP)
    drawing.Draw(picture).text(
        place, text, fill=tuple(color), font=font, anchor="ls", stroke_width=max(thickness - 1, 0)
    )
    image[:] = np.asarray(picture)
