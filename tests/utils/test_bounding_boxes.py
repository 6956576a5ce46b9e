"""`utils.bounding_boxes` beside Keras's."""

import itertools

import keras
import numpy as np
import pytest

from tfkit.src.ops.bounding_boxes import FORMATS
from tfkit.utils import bounding_boxes

BOXES = np.array([[[1, 2, 5, 8], [3, 1, 4, 9.5]]], "float32")
OTHERS = np.array([[2, 1, 5, 7], [0, 0, 3, 3]], "float32")
THEIRS = keras.utils.bounding_boxes


@pytest.mark.parametrize(("source", "target"), list(itertools.product(FORMATS, FORMATS)))
def test_formats(source, target):
    given = THEIRS.convert_format(BOXES, "xyxy", source, 10, 20)
    expected = THEIRS.convert_format(BOXES, "xyxy", target, 10, 20)
    ours = bounding_boxes.convert_format(given, source, target, 10, 20)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


def one(value):
    return np.array([value], "float32")


CASES = {
    "clip": ("clip_to_image_size", ({"boxes": BOXES - 3, "labels": np.array([[1, 2]])}, 5, 4), {}),
    "clip_relative": (
        "clip_to_image_size",
        ({"boxes": BOXES / 6, "labels": np.array([[1, 2]])},),
        {"bounding_box_format": "rel_xyxy"},
    ),
    "crop": ("crop", (BOXES, 1, 2, 6, 7), {}),
    "pad": ("pad", (BOXES, 1, 2), {}),
    "affine": (
        "affine_transform",
        (BOXES, one(30), one(0.1), one(0.2), one(1.5), one(5), one(7), 10, 20),
        {},
    ),
    "affine_center": (
        "affine_transform",
        (BOXES, one(30), one(0), one(0), one(1), one(0), one(0), 10, 20),
        {"center_x": 0.2, "center_y": 0.3},
    ),
    "iou": ("compute_iou", (BOXES, OTHERS, "xyxy"), {}),
    "iou_masked": ("compute_iou", (BOXES[0], OTHERS * 0 - 1, "xyxy"), {"use_masking": True}),
    "iou_relative": (
        "compute_iou",
        (BOXES / 10, OTHERS / 10, "rel_yxyx"),
        {"image_shape": (9, 9, 3)},
    ),
    "ciou": ("compute_ciou", (BOXES[0], OTHERS, "xyxy"), {}),
    "encode": (
        "encode_box_to_deltas",
        (OTHERS, BOXES, "xyxy", "xyxy"),
        {"variance": [0.1, 0.1, 0.2, 0.2]},
    ),
    "encode_xy": (
        "encode_box_to_deltas",
        (OTHERS, BOXES, "xyxy", "xyxy"),
        {"encoding_format": "center_xywh"},
    ),
    "decode": (
        "decode_deltas_to_boxes",
        (OTHERS, BOXES / 10, "xyxy", "xywh"),
        {"variance": [0.1, 0.1, 0.2, 0.2]},
    ),
    "decode_relative": (
        "decode_deltas_to_boxes",
        (OTHERS, BOXES / 10, "xyxy", "rel_xyxy"),
        {"image_shape": (10, 20, 3)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    function, args, kwargs = CASES[name]
    ours, theirs = (getattr(m, function)(*args, **kwargs) for m in (bounding_boxes, THEIRS))
    pairs = (
        [(ours[key], theirs[key]) for key in theirs]
        if isinstance(theirs, dict)
        else [(ours, theirs)]
    )
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_what_is_refused():
    with pytest.raises(ValueError, match="Invalid source or target format"):
        bounding_boxes.convert_format(BOXES, "foo", "xyxy")
    with pytest.raises(ValueError, match="must receive `height` and `width`"):
        bounding_boxes.convert_format(BOXES, "xyxy", "rel_xyxy")
    with pytest.raises(ValueError, match="last dimension of 4"):
        bounding_boxes.convert_format(np.ones((2, 5)), "xyxy", "xywh")
    with pytest.raises(NotImplementedError, match="convert them by `convert_format`"):
        bounding_boxes.crop(BOXES, 1, 1, 2, 2, "xywh")
    with pytest.raises(ValueError, match="should be one of"):
        bounding_boxes.encode_box_to_deltas(OTHERS, BOXES, "xyxy", "xyxy", "xyxy")
