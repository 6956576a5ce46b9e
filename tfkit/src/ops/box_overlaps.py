"""Comparisons of bounding boxes: overlaps, and distances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.ops.bounding_boxes import convert_format
from tfkit.src.ops.promotion import as_tensor


def _corners(boxes: Any, source: str, image_shape: Any) -> tf.Tensor:
    if "rel" in source and image_shape is None:
        raise ValueError(
            "When using relative bounding box formats (e.g. `rel_yxyx`) the `image_shape` argument must be "
            f"provided. Received `image_shape`: {image_shape}"
        )
    height, width = (None, None) if image_shape is None else image_shape[:2]
    return convert_format(boxes, source, "xyxy", height, width)


def _sides(boxes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    left, top, right, bottom = tf.unstack(boxes, axis=-1)
    return right - left, bottom - top


def _intersection(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    low = tf.maximum(boxes1[..., :2], boxes2[..., :2])
    high = tf.minimum(boxes1[..., 2:], boxes2[..., 2:])
    return tf.reduce_prod(tf.maximum(high - low, 0), axis=-1)


def compute_iou(
    boxes1: Any,
    boxes2: Any,
    bounding_box_format: str,
    use_masking: bool = False,
    mask_val: int = -1,
    image_shape: Any = None,
) -> tf.Tensor:
    """Returns the intersection over union of each of some boxes with each of others.

    Args:
        boxes1: a tensor of shape `(boxes1, 4)`, or `(batch, boxes1, 4)`.
        boxes2: a tensor of shape `(boxes2, 4)`, or `(batch, boxes2, 4)`.
        bounding_box_format: format of both, one that `convert_format` knows.
        use_masking: whether some boxes are placeholders, filled with `mask_val`. Default: `False`.
        mask_val: the value in those boxes, and in the result for them. Default: `-1`.
        image_shape: shape of the images, `(height, width, channels)`; needed for formats with `rel_`.

    Returns:
        A tensor of shape `(boxes1, boxes2)`, or `(batch, boxes1, boxes2)` where one of them has a batch; from
        0 to 1.

    Raises:
        ValueError: for boxes of a different rank, and for a missing `image_shape`.

    Example:
        >>> compute_iou([[0, 0, 2, 2]], [[0, 0, 2, 2], [1, 0, 3, 2]], "xyxy").numpy().round(
        ...     3
        ... ).tolist()
        [[1.0, 0.3330000042915344]]
    """
    boxes1, boxes2 = as_tensor(boxes1), as_tensor(boxes2)
    for boxes in (boxes1, boxes2):
        if boxes.shape.rank not in (2, 3):
            raise ValueError(
                "compute_iou() expects boxes to have shape (boxes, 4) or (batch, boxes, 4). "
                f"Received: boxes1.shape={tuple(boxes1.shape)}, boxes2.shape={tuple(boxes2.shape)}"
            )
    # Before the conversion, after which a padded box would no longer be recognized.
    missing = [tf.reduce_all(boxes == mask_val, axis=-1) for boxes in (boxes1, boxes2)]
    boxes1, boxes2 = (
        _corners(boxes, bounding_box_format, image_shape) for boxes in (boxes1, boxes2)
    )
    # (..., boxes1, boxes2, 4) after broadcasting
    boxes1, boxes2 = boxes1[..., :, tf.newaxis, :], boxes2[..., tf.newaxis, :, :]
    areas = [math.prod(_sides(boxes)) for boxes in (boxes1, boxes2)]
    intersection = _intersection(boxes1, boxes2)
    result = tf.math.divide_no_nan(intersection, areas[0] + areas[1] - intersection)
    if not use_masking:
        return result
    absent = missing[0][..., :, tf.newaxis] | missing[1][..., tf.newaxis, :]
    return tf.where(absent, tf.cast(mask_val, result.dtype), result)


def compute_ciou(
    boxes1: Any, boxes2: Any, bounding_box_format: str, image_shape: Any = None
) -> tf.Tensor:
    """Returns the complete intersection over union of boxes with the boxes at the same indices.

    It is the intersection over union, less the squared distance of the centres as a part of the squared
    diagonal of the smallest box around both, less a term for different ratios of the sides.

    Args:
        boxes1: a tensor of shape `(..., 4)`.
        boxes2: a tensor of a shape that broadcasts to it.
        bounding_box_format: format of both, one that `convert_format` knows.
        image_shape: shape of the images, `(height, width, channels)`; needed for formats with `rel_`.

    Returns:
        A tensor of the shape of the boxes without their last axis; 1 for equal boxes, and less than 0 for
        some that are far from each other.

    Raises:
        ValueError: for a missing `image_shape`.

    Reference:
        Zheng et al., "Distance-IoU loss: faster and better learning for bounding box regression", 2020.

    Example:
        >>> compute_ciou([[0, 0, 2, 2]], [[1, 0, 3, 2]], "xyxy").numpy().round(3)
        array([0.256], dtype=float32)
    """
    boxes1, boxes2 = (
        _corners(boxes, bounding_box_format, image_shape) for boxes in (boxes1, boxes2)
    )
    (width1, height1), (width2, height2) = _sides(boxes1), _sides(boxes2)
    intersection = _intersection(boxes1, boxes2)
    union = width1 * height1 + width2 * height2 - intersection + settings.epsilon()
    overlap = tf.math.divide_no_nan(intersection, union)
    centers = (boxes1[..., :2] + boxes1[..., 2:] - boxes2[..., :2] - boxes2[..., 2:]) / 2
    around = tf.maximum(boxes1[..., 2:], boxes2[..., 2:]) - tf.minimum(
        boxes1[..., :2], boxes2[..., :2]
    )
    distance = tf.reduce_sum(centers**2, -1) / (tf.reduce_sum(around**2, -1) + settings.epsilon())
    angles = [
        tf.atan(w / (h + settings.epsilon())) for w, h in ((width1, height1), (width2, height2))
    ]
    ratio = 4 / math.pi**2 * (angles[1] - angles[0]) ** 2
    # Zheng et al. (2020), "Enhancing Geometric Factors": the weight `alpha` and the penalty `v` of
    # the aspect ratio.
    weight = ratio / (ratio - overlap + 1 + settings.epsilon())
    return overlap - distance - weight * ratio


def _centers(boxes: Any, source: str, image_shape: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns centres and sides, x before y."""
    height, width = (None, None) if image_shape is None else image_shape[:2]
    boxes = convert_format(boxes, source, "center_xywh", height, width)
    return boxes[..., :2], boxes[..., 2:]


def _variance(variance: Any, axes: list[int], dtype: tf.DType) -> tf.Tensor:
    if variance is None:
        return tf.ones([4], dtype)
    variance = tf.cast(as_tensor(variance), dtype)
    if variance.shape[-1] != 4:
        raise ValueError(f"`variance` must be length 4, got {variance}")
    return tf.gather(variance, axes, axis=-1)


# The indices of x, y, width and height.
_ORDERS = {"center_xywh": [0, 1, 2, 3], "center_yxhw": [1, 0, 3, 2]}


def _order(name: str, encoding_format: str) -> list[int]:
    if encoding_format not in _ORDERS:
        raise ValueError(
            f"`{name}` should be one of 'center_xywh' or 'center_yxhw', got {encoding_format!r}"
        )
    return _ORDERS[encoding_format]


def encode_box_to_deltas(
    anchors: Any,
    boxes: Any,
    anchor_format: str,
    box_format: str,
    encoding_format: str = "center_yxhw",
    variance: Any = None,
    image_shape: Any = None,
) -> tf.Tensor:
    """Returns boxes as distances from anchors, which a detector learns.

    They are the distances of the centres as parts of the anchor's sides, and the logarithms of the ratios of
    the sides.

    Args:
        anchors: a tensor of shape `(anchors, 4)`.
        boxes: a tensor of shape `(anchors, 4)`, or `(batch, anchors, 4)`.
        anchor_format: format of `anchors`, one that `convert_format` knows.
        box_format: format of `boxes`.
        encoding_format: order of the result, `"center_yxhw"` or `"center_xywh"`. Default: `"center_yxhw"`.
        variance: four numbers, in that order, that the result is divided by; `None` for ones.
        image_shape: shape of the images, `(height, width, channels)`; needed for formats with `rel_`.

    Returns:
        A tensor of the shape of `boxes`.

    Raises:
        ValueError: for any other encoding format, or a `variance` of a different length.

    Example:
        >>> deltas = encode_box_to_deltas(
        ...     [[0.0, 0.0, 2.0, 2.0]], [[1.0, 0.0, 3.0, 2.0]], "xyxy", "xyxy"
        ... )
        >>> deltas.numpy().tolist()
        [[0.0, 0.5, 0.0, 0.0]]
    """
    order = _order("encoding_format", encoding_format)
    center, side = _centers(anchors, anchor_format, image_shape)
    box_center, box_side = _centers(boxes, box_format, image_shape)
    deltas = tf.concat(
        [
            tf.math.divide_no_nan(box_center - center, side),
            # Ren et al. (2015), Faster R-CNN: sides as logarithms of their ratio. Padded boxes
            # have no sides.
            tf.math.log(tf.maximum(tf.math.divide_no_nan(box_side, side), settings.epsilon())),
        ],
        axis=-1,
    )
    return tf.gather(deltas, order, axis=-1) / _variance(variance, [0, 1, 2, 3], deltas.dtype)


def decode_deltas_to_boxes(
    anchors: Any,
    boxes_delta: Any,
    anchor_format: str,
    box_format: str,
    encoded_format: str = "center_yxhw",
    variance: Any = None,
    image_shape: Any = None,
) -> Any:
    """Returns the boxes at given distances from anchors: the inverse of `encode_box_to_deltas`.

    Args:
        anchors: a tensor of shape `(anchors, 4)`, or a dictionary of such tensors, one for each level.
        boxes_delta: a tensor of shape `(anchors, 4)` or `(batch, anchors, 4)`, or a dictionary of them.
        anchor_format: format of `anchors`, one that `convert_format` knows.
        box_format: format of the result.
        encoded_format: order of `boxes_delta`, `"center_yxhw"` or `"center_xywh"`. Default: `"center_yxhw"`.
        variance: four numbers, in that order, that `boxes_delta` is multiplied by; `None` for ones.
        image_shape: shape of the images, `(height, width, channels)`; needed for formats with `rel_`.

    Returns:
        A tensor of the shape of `boxes_delta`, or a dictionary of them.

    Raises:
        ValueError: for any other encoding format, or a `variance` of a different length.

    Example:
        >>> boxes = decode_deltas_to_boxes(
        ...     [[0.0, 0.0, 2.0, 2.0]], [[0.0, 0.5, 0.0, 0.0]], "xyxy", "xyxy"
        ... )
        >>> boxes.numpy().tolist()
        [[1.0, 0.0, 3.0, 2.0]]
    """
    order = _order("encoded_format", encoded_format)
    if isinstance(anchors, Mapping):
        options = (anchor_format, box_format, encoded_format, variance, image_shape)
        return {
            level: decode_deltas_to_boxes(anchors[level], boxes_delta[level], *options)
            for level in anchors
        }
    center, side = _centers(anchors, anchor_format, image_shape)
    deltas = tf.cast(as_tensor(boxes_delta), center.dtype)
    deltas = tf.gather(deltas * _variance(variance, [0, 1, 2, 3], deltas.dtype), order, axis=-1)
    boxes = tf.concat([deltas[..., :2] * side + center, tf.exp(deltas[..., 2:]) * side], axis=-1)
    height, width = (None, None) if image_shape is None else image_shape[:2]
    return convert_format(boxes, "center_xywh", box_format, height, width)
