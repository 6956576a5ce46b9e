"""Bounding boxes: formats, clipping, cropping, padding and warping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.ops.promotion import as_tensor

FORMATS = (
    *("xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw"),
    *("rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh"),
)


def convert_format(
    boxes: Any,
    source: str,
    target: str,
    height: Any = None,
    width: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Returns boxes in a different format.

    The formats are `"xyxy"` (left, top, right, bottom), `"yxyx"` (top, left, bottom, right), `"xywh"` (left,
    top, width, height), `"center_xywh"` (the centre's x and y, width, height) and `"center_yxhw"` (the
    centre's y and x, height, width), in pixels; the first four with `rel_` before them have x as a part of
    the image's width, y of its height.

    Args:
        boxes: a tensor of shape `(..., 4)`, or a dictionary with one as `"boxes"`.
        source: the format that `boxes` have.
        target: the format of the result.
        height: height of the image in pixels, which only formats with `rel_` need. Default: `None`.
        width: width of the image in pixels. Default: `None`.
        dtype: dtype of the result. Default: `"float32"`.

    Returns:
        A tensor of the shape of `boxes`, or a dictionary like the one that was given.

    Raises:
        ValueError: for an unknown format, a last axis without exactly 4 elements, and a missing height and
            width.

    Example:
        >>> convert_format([[1.0, 2.0, 5.0, 8.0]], "xyxy", "center_xywh").numpy().tolist()
        [[3.0, 5.0, 4.0, 6.0]]
    """
    if isinstance(boxes, Mapping):
        converted = convert_format(boxes["boxes"], source, target, height, width, dtype)
        return {**boxes, "boxes": converted}
    source, target = source.lower(), target.lower()
    if source not in FORMATS or target not in FORMATS:
        raise ValueError(
            f"Invalid source or target format. Supported formats: {FORMATS}. "
            f"Received: source={source!r}, target={target!r}"
        )
    boxes = tf.cast(as_tensor(boxes), standardize_dtype(dtype))
    if boxes.shape[-1] != 4:
        raise ValueError(
            "`boxes` must be a tensor with the last dimension of 4. "
            f"Received: boxes.shape={tuple(boxes.shape)}"
        )
    if "rel" in source + target and (height is None or width is None) and source != target:
        raise ValueError(
            "convert_format() must receive `height` and `width` transforming between relative and absolute "
            f"formats. Received: source={source!r}, target={target!r}, height={height}, width={width}"
        )
    if source == target:
        return boxes
    return _from_corners(_to_corners(boxes, source, height, width), target, height, width)


def _scale(boxes: tf.Tensor, height: Any, width: Any) -> tf.Tensor:
    return tf.stack([tf.cast(size, boxes.dtype) for size in (width, height, width, height)])


def _has_y_first(name: str) -> bool:
    return name.endswith(("yxyx", "yxhw"))


def _to_corners(boxes: tf.Tensor, source: str, height: Any, width: Any) -> tf.Tensor:
    a, b, c, d = tf.unstack(boxes, axis=-1)
    if _has_y_first(source):
        a, b, c, d = b, a, d, c
    if "center" in source:
        a, b = a - c / 2, b - d / 2
    if source.endswith(("xywh", "yxhw")):
        c, d = a + c, b + d
    corners = tf.stack([a, b, c, d], axis=-1)
    return corners * _scale(boxes, height, width) if "rel" in source else corners


def _from_corners(boxes: tf.Tensor, target: str, height: Any, width: Any) -> tf.Tensor:
    corners = boxes / _scale(boxes, height, width) if "rel" in target else boxes
    a, b, c, d = tf.unstack(corners, axis=-1)
    if target.endswith(("xywh", "yxhw")):
        c, d = c - a, d - b
    if "center" in target:
        a, b = a + c / 2, b + d / 2
    if _has_y_first(target):
        a, b, c, d = b, a, d, c
    return tf.stack([a, b, c, d], axis=-1)


def _check_format(function: str, received: str, expected: tuple[str, ...]) -> None:
    if received not in expected:
        raise NotImplementedError(
            f"{function}() accepts boxes in one of the formats {expected}: convert them by `convert_format`. "
            f"Received: bounding_box_format={received!r}"
        )


def clip_to_image_size(
    bounding_boxes: Any, height: Any = None, width: Any = None, bounding_box_format: str = "xyxy"
) -> dict[str, Any]:
    """Returns boxes clipped to the image; if nothing is left, the label becomes -1.

    Args:
        bounding_boxes: a dictionary of `"boxes"`, of shape `(..., boxes, 4)`, and `"labels"`, of shape
            `(..., boxes)`.
        height: height of the image in pixels, needed for `"xyxy"`. Default: `None`.
        width: width of the image in pixels, needed for `"xyxy"`. Default: `None`.
        bounding_box_format: `"xyxy"` or `"rel_xyxy"`. Default: `"xyxy"`.

    Returns:
        A dictionary with the same keys.

    Raises:
        NotImplementedError: for any other format.
        ValueError: for `"xyxy"` without a height and a width.

    Example:
        >>> boxes = {"boxes": [[-2.0, 1.0, 5.0, 8.0], [9.0, 9.0, 12.0, 12.0]], "labels": [3, 4]}
        >>> clipped = clip_to_image_size(boxes, height=6, width=8)
        >>> clipped["boxes"].numpy().tolist()
        [[0.0, 1.0, 5.0, 6.0], [8.0, 6.0, 8.0, 6.0]]
        >>> clipped["labels"].numpy().tolist()
        [3, -1]
    """
    _check_format("clip_to_image_size", bounding_box_format, ("xyxy", "rel_xyxy"))
    boxes, labels = as_tensor(bounding_boxes["boxes"]), as_tensor(bounding_boxes["labels"])
    if bounding_box_format == "rel_xyxy":
        height, width = 1, 1
    elif height is None or width is None:
        raise ValueError(
            f"`height` and `width` must be set if `format='xyxy'`. Received: height={height}, width={width}"
        )
    boxes = tf.clip_by_value(boxes, tf.zeros([], boxes.dtype), _scale(boxes, height, width))
    left, top, right, bottom = tf.unstack(boxes, axis=-1)
    # A box outside of the image was clipped to a line or a point.
    is_empty = (right - left) * (bottom - top) <= 0
    labels = tf.where(is_empty, tf.cast(-1, labels.dtype), labels)
    return {**bounding_boxes, "boxes": boxes, "labels": labels}


def crop(
    boxes: Any, top: Any, left: Any, height: Any, width: Any, bounding_box_format: str = "xyxy"
) -> tf.Tensor:
    """Returns the boxes of an image in a part that is cut out of it.

    Args:
        boxes: a tensor of shape `(..., 4)`.
        top: number of rows above the part.
        left: number of columns to the left of the part.
        height: height of the part in pixels.
        width: width of the part in pixels.
        bounding_box_format: only `"xyxy"`, which is the default.

    Returns:
        A tensor of the shape of `boxes`, clipped to the part.

    Raises:
        NotImplementedError: for any other format.

    Example:
        >>> crop([[1.0, 2.0, 5.0, 8.0]], top=1, left=2, height=6, width=7).numpy().tolist()
        [[0.0, 1.0, 3.0, 6.0]]
    """
    _check_format("crop", bounding_box_format, ("xyxy",))
    boxes = as_tensor(boxes)
    moved = boxes - _scale(boxes, top, left)
    return tf.clip_by_value(moved, tf.zeros([], boxes.dtype), _scale(boxes, height, width))


def pad(
    boxes: Any,
    top: Any,
    left: Any,
    height: Any = None,
    width: Any = None,
    bounding_box_format: str = "xyxy",
) -> tf.Tensor:
    """Returns the boxes of an image to which rows and columns are added.

    Args:
        boxes: a tensor of shape `(..., 4)`.
        top: number of rows added above.
        left: number of columns added on the left.
        height: height of the image, which does not matter for `"xyxy"`. Default: `None`.
        width: width of the image, which does not matter for `"xyxy"`. Default: `None`.
        bounding_box_format: only `"xyxy"`, which is the default.

    Returns:
        A tensor of the shape of `boxes`.

    Raises:
        NotImplementedError: for any other format.

    Example:
        >>> pad([[1.0, 2.0, 5.0, 8.0]], top=1, left=2).numpy().tolist()
        [[3.0, 3.0, 7.0, 9.0]]
    """
    _check_format("pad", bounding_box_format, ("xyxy",))
    boxes = as_tensor(boxes)
    return boxes + _scale(boxes, top, left)


def affine_transform(
    boxes: Any,
    angle: Any,
    translate_x: Any,
    translate_y: Any,
    scale: Any,
    shear_x: Any,
    shear_y: Any,
    height: Any,
    width: Any,
    center_x: Any = None,
    center_y: Any = None,
    bounding_box_format: str = "xyxy",
) -> tf.Tensor:
    """Returns the smallest boxes around boxes that are moved, rotated, sheared and scaled.

    Args:
        boxes: a tensor of shape `(batch, boxes, 4)`.
        angle: angles in degrees, counter-clockwise, of shape `(batch,)`.
        translate_x: shifts to the right as parts of `width - 1`, of shape `(batch,)`.
        translate_y: shifts downwards as parts of `height - 1`, of shape `(batch,)`.
        scale: factors of the size, of shape `(batch,)`.
        shear_x: angles in degrees by which vertical lines lean, of shape `(batch,)`.
        shear_y: angles in degrees by which horizontal lines lean, of shape `(batch,)`.
        height: height of the image in pixels.
        width: width of the image in pixels.
        center_x: x of the fixed point, as a part of `width - 1`; `None` for 0.5.
        center_y: y of the fixed point, as a part of `height - 1`; `None` for 0.5.
        bounding_box_format: only `"xyxy"`, which is the default.

    Returns:
        A tensor of the shape of `boxes`; boxes may be outside of the image.

    Raises:
        NotImplementedError: for any other format.

    Example:
        >>> zero, one = tf.zeros(1), tf.ones(1)
        >>> boxes = affine_transform(
        ...     [[[1.0, 2.0, 5.0, 8.0]]], zero, zero, zero, 2 * one, zero, zero, height=10, width=20
        ... )
        >>> boxes.numpy().tolist()
        [[[-7.5, -0.5, 0.5, 11.5]]]
    """
    _check_format("affine_transform", bounding_box_format, ("xyxy",))
    boxes = as_tensor(boxes)
    angle, dx, dy, scale, shear_x, shear_y = (
        tf.cast(value, boxes.dtype)
        for value in (angle, translate_x, translate_y, scale, shear_x, shear_y)
    )
    height, width = tf.cast(height, boxes.dtype), tf.cast(width, boxes.dtype)
    # The centres of the first and the last pixel are 0 and width - 1.
    x = (width - 1) * (0.5 if center_x is None else tf.cast(center_x, boxes.dtype))
    y = (height - 1) * (0.5 if center_y is None else tf.cast(center_y, boxes.dtype))
    radians = math.pi / 180
    cos, sin = tf.cos(angle * radians), tf.sin(angle * radians)
    lean_x, lean_y = tf.tan(shear_x * radians), tf.tan(shear_y * radians)
    # The product of the rotation and the two shears, multiplied out.
    a, b = cos + lean_x * (sin - lean_y * cos), sin + lean_x * (cos + lean_y * sin)
    d, e = lean_y * cos - sin, cos + lean_y * sin
    a, b, d, e = (scale * value for value in (a, b, d, e))
    before_x, before_y = dx * (width - 1) - x, dy * (height - 1) - y
    zero = tf.zeros_like(a)
    maps = [
        a,
        b,
        a * before_x + b * before_y + x,
        d,
        e,
        d * before_x + e * before_y + y,
        zero,
        zero,
    ]
    return map_corners(boxes, tf.stack(maps, axis=-1))


# --- For the layers of images ---------------------------------------------------------------------


def map_corners(boxes: tf.Tensor, maps: tf.Tensor) -> tf.Tensor:
    """Returns the smallest boxes around `boxes`, whose corners are moved by a projective map for each image.

    Args:
        boxes: a tensor of shape `(batch, boxes, 4)`, in the format `"xyxy"`.
        maps: `[a, b, c, d, e, f, g, h]` for each image, of shape `(batch, 8)`: with
            `k = g * x + h * y + 1` a point `(x, y)` goes to
            `((a * x + b * y + c) / k, (d * x + e * y + f) / k)`.
    """
    left, top, right, bottom = tf.unstack(boxes, axis=-1)
    x = tf.stack([left, right, left, right], axis=-1)
    y = tf.stack([top, top, bottom, bottom], axis=-1)
    a, b, c, d, e, f, g, h = tf.unstack(
        tf.cast(maps, boxes.dtype)[:, tf.newaxis, tf.newaxis], axis=-1
    )
    # A projective map in homogeneous coordinates: (x, y, 1) is mapped to k times the new point.
    k = g * x + h * y + 1
    x, y = (a * x + b * y + c) / k, (d * x + e * y + f) / k
    corners = [
        tf.reduce_min(x, -1),
        tf.reduce_min(y, -1),
        tf.reduce_max(x, -1),
        tf.reduce_max(y, -1),
    ]
    return tf.stack(corners, axis=-1)


def inverse_maps(maps: tf.Tensor) -> tf.Tensor:
    """Returns the inverses of projective maps, of shape `(batch, 8)`."""
    a, b, c, d, e, f, g, h = tf.unstack(maps, axis=-1)
    # The adjugate is a multiple of the inverse; divided by its last entry, it has the form of a
    # map.
    last = a * e - b * d
    adjugate = [
        e - f * h, c * h - b, b * f - c * e,
        f * g - d, a - c * g, c * d - a * f,
        d * h - e * g, b * g - a * h,
    ]  # fmt: skip
    return tf.stack(adjugate, axis=-1) / last[:, tf.newaxis]


def densify(bounding_boxes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns boxes and labels as tensors, padded with the label -1 where images have fewer boxes."""

    def dense(value: Any, fill: int) -> tf.Tensor:
        if isinstance(value, tf.RaggedTensor):
            return value.to_tensor(tf.cast(fill, value.dtype))
        return tf.convert_to_tensor(value)

    return {
        name: dense(value, -1 if name == "labels" else 0) for name, value in bounding_boxes.items()
    }
