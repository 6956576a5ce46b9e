"""Boxes and masks on images, and galleries, beside Keras's."""

import re
import sys

import keras as oracle
import numpy as np
import pytest

import tfkit

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 8, 10, 3)).astype("uint8")
MASKS = np.random.default_rng(1).integers(0, 4, (6, 8, 10))
COLORS = {0: (0, 0, 0), 1: (200, 10, 20), 2: (5, 6, 250), 3: (9, 99, 199)}


# --- Masks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"alpha": 0.3}, {"blend": False}, {"ignore_index": 2}])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_masks_are_drawn_as_keras_draws_them(options, dtype):
    images = IMAGES.astype(dtype)
    # Keras paints classes below `num_classes` alone, and takes masks with channels alone.
    expected = oracle.visualization.draw_segmentation_masks(
        images, MASKS[..., None], num_classes=4, color_mapping=COLORS, **options
    )
    for masks in (MASKS, MASKS[..., None]):
        drawn = tfkit.visualization.draw_segmentation_masks(images, masks, 3, COLORS, **options)
        assert drawn.dtype == np.uint8
        np.testing.assert_allclose(drawn.astype(int), np.asarray(expected, int), atol=1)


def test_masks_leave_what_has_no_color():
    masks = np.array([[[0, 1, 2, 255]]])
    image = np.full((1, 1, 4, 3), 100)
    drawn = tfkit.visualization.draw_segmentation_masks(image, masks, num_classes=1)
    changed = (drawn != 100).any(axis=-1)
    np.testing.assert_array_equal(changed, [[[False, True, False, False]]])
    everything = tfkit.visualization.draw_segmentation_masks(image, np.arange(4).reshape(1, 1, 4))
    assert len(np.unique(everything.reshape(4, 3), axis=0)) == 4
    first = tfkit.visualization.draw_segmentation_masks(
        np.moveaxis(image, -1, 1), masks[:, None], num_classes=1, data_format="channels_first"
    )
    np.testing.assert_array_equal(np.moveaxis(first, 1, -1), drawn)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((IMAGES[0], MASKS), ValueError, "must be batched 4D tensor"),
        ((IMAGES, MASKS.astype("float32")), TypeError, "must be in integer dtype"),
        ((IMAGES, MASKS[:, :4]), ValueError, "must have the shape (6, 8, 10)"),
        ((IMAGES, MASKS, 3, None, 1.5), ValueError, "`alpha` must be from 0 to 1"),
    ],
)
def test_masks_that_do_not_fit_are_refused(arguments, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        tfkit.visualization.draw_segmentation_masks(*arguments)


# --- Boxes ------------------------------------------------------------------------------------------

SQUARE = {"boxes": [[[2.0, 1.0, 6.0, 5.0], [0.0, 0.0, 9.0, 9.0]]], "labels": [[1, -1]]}


@pytest.mark.parametrize("thickness", [1, 2, 3])
def test_boxes_are_outlined(thickness):
    image = np.zeros((1, 8, 10, 3), "uint8")
    drawn = tfkit.visualization.draw_bounding_boxes(
        image, SQUARE, "xyxy", color=(7, 8, 9), line_thickness=thickness
    )
    assert not image.any()
    painted = (drawn[0] == (7, 8, 9)).all(axis=-1)
    np.testing.assert_array_equal(painted, drawn[0].any(axis=-1))
    out, into = thickness // 2, thickness - thickness // 2
    expected = np.zeros((8, 10), bool)
    expected[1 - out if out <= 1 else 0 : 5 + into, 2 - out : 6 + into] = True
    expected[1 + into : 5 - out, 2 + into : 6 - out] = False
    np.testing.assert_array_equal(painted, expected)


def test_formats_of_boxes_and_of_images_give_the_same_picture():
    image = np.zeros((1, 8, 10, 3))
    expected = tfkit.visualization.draw_bounding_boxes(image, SQUARE, "xyxy")
    for name in ("xywh", "rel_yxyx"):
        converted = tfkit.utils.bounding_boxes.convert_format(SQUARE["boxes"], "xyxy", name, 8, 10)
        boxes = {**SQUARE, "boxes": converted}
        drawn = tfkit.visualization.draw_bounding_boxes(image, boxes, name)
        np.testing.assert_array_equal(drawn, expected)
    first = tfkit.visualization.draw_bounding_boxes(
        np.moveaxis(image, -1, 1), SQUARE, "xyxy", data_format="channels_first"
    )
    np.testing.assert_array_equal(np.moveaxis(first, 1, -1), expected)


def test_boxes_beyond_the_image_are_cut():
    boxes = {"boxes": [[[-5.0, -5.0, 4.0, 20.0]]], "labels": [[0]]}
    drawn = tfkit.visualization.draw_bounding_boxes(np.zeros((1, 8, 10, 3)), boxes, "xyxy")
    painted = np.flatnonzero(drawn[0].any(axis=(0, 2)))
    np.testing.assert_array_equal(painted, [3, 4])


def test_names_and_confidences_are_written(monkeypatch):
    image = np.zeros((1, 60, 120, 3))
    boxes = {"boxes": [[[10.0, 30.0, 50.0, 50.0]]], "labels": [[1]], "confidences": [[0.5]]}
    plain = tfkit.visualization.draw_bounding_boxes(image, boxes, "xyxy")
    names = {"class_mapping": {1: "dog"}, "font_scale": 0.5}
    named = tfkit.visualization.draw_bounding_boxes(image, boxes, "xyxy", **names)
    without = tfkit.visualization.draw_bounding_boxes(
        image, {**boxes, "confidences": None}, "xyxy", **names
    )
    ink = [int((it != plain).sum()) for it in (without, named)]
    assert 0 < ink[0] < ink[1]
    assert not (named != plain)[0, 30:].any()
    monkeypatch.setitem(sys.modules, "PIL.ImageDraw", None)
    with pytest.raises(ImportError, match="pip install pillow"):
        tfkit.visualization.draw_bounding_boxes(image, boxes, "xyxy", **names)


@pytest.mark.parametrize(
    ("boxes", "kind", "message"),
    [
        ([1], TypeError, "`bounding_boxes` should be a dict"),
        ({"boxes": []}, ValueError, "containing 'boxes' and 'labels' keys"),
        ({**SQUARE, "labels": [[1]]}, ValueError, "`boxes` must have the shape (batch, boxes, 4)"),
    ],
)
def test_boxes_that_do_not_fit_are_refused(boxes, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        tfkit.visualization.draw_bounding_boxes(np.zeros((1, 8, 10, 3)), boxes, "xyxy")


# --- Galleries --------------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="galleries need matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as pyplot

    yield pyplot
    pyplot.close("all")


def described(figure):
    axes = figure.axes
    return {
        "inches": figure.get_size_inches().tolist(),
        "titles": [it.get_title() for it in axes],
        "shapes": [it.images[0].get_array().shape for it in axes],
        "legends": [[text.get_text() for text in it.get_texts()] for it in figure.legends],
    }


NAMES = {0: "zero", 1: "one"}
GALLERIES = [
    ("plot_image_gallery", (), {}),
    ("plot_image_gallery", (), {"rows": 2, "scale": 3}),
    ("plot_image_gallery", (), {"rows": 2, "cols": 2}),
    ("plot_image_gallery", (), {"y_true": np.arange(6), "label_map": NAMES}),
    ("plot_image_gallery", (), {"y_true": np.arange(6), "y_pred": np.ones(6), "label_map": NAMES}),
    ("plot_segmentation_mask_gallery", (3,), {"y_true": MASKS[..., None]}),
    (
        "plot_segmentation_mask_gallery",
        (3,),
        {"y_true": MASKS[..., None], "y_pred": MASKS[..., None]},
    ),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), GALLERIES)
def test_galleries_have_the_form_of_those_of_keras(pyplot, name, args, kwargs):
    found = described(getattr(tfkit.visualization, name)(IMAGES, *args, show=False, **kwargs))
    if "y_pred" in kwargs and "label_map" in kwargs:
        kwargs = {**kwargs, "y_pred": kwargs["y_pred"].astype(int)}
    pyplot.close("all")
    getattr(oracle.visualization, name)(IMAGES, *args, show=False, **kwargs)
    assert found == described(pyplot.gcf())


def test_a_gallery_is_written_or_shown(pyplot, tmp_path, monkeypatch):
    tfkit.visualization.plot_image_gallery(
        IMAGES / 255, value_range=(0, 1), path=tmp_path / "a.png"
    )
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(described(pyplot.gcf())))
    boxes = {"boxes": np.tile([[[1.0, 1.0, 5.0, 5.0]]], (6, 1, 1)), "labels": np.ones((6, 1))}
    tfkit.visualization.plot_bounding_box_gallery(IMAGES, "xyxy", boxes, boxes, legend=True)
    assert shown[0]["legends"] == [["Ground Truth", "Prediction"]]
    assert pyplot.get_fignums() == []


def test_a_gallery_draws_both_kinds_of_boxes(pyplot):
    near, far = ({"boxes": [[[x, 1.0, x + 2, 3.0]]], "labels": [[0]]} for x in (1.0, 6.0))
    figure = tfkit.visualization.plot_bounding_box_gallery(
        np.zeros((1, 8, 10, 3)),
        "xyxy",
        near,
        far,
        true_color=(1, 2, 3),
        pred_color=(4, 5, 6),
        show=False,
    )
    image = figure.axes[0].images[0].get_array()
    assert (image[1, 1] == (1, 2, 3)).all()
    assert (image[1, 6] == (4, 5, 6)).all()


def test_galleries_refuse_what_does_not_fit(pyplot):
    gallery = tfkit.visualization.plot_image_gallery
    with pytest.raises(ValueError, match="either `path` to be set, or `show`"):
        gallery(IMAGES, path="a.png", show=True)
    with pytest.raises(ValueError, match="a `label_map` must also be provided"):
        gallery(IMAGES, y_true=np.arange(6))
    with pytest.raises(ValueError, match=r"Expected: 6 labels\. Received: 2"):
        gallery(IMAGES, y_true=np.arange(2), label_map=NAMES)
    with pytest.raises(ValueError, match="the lower one first"):
        gallery(IMAGES, value_range=(1, 1))
    with pytest.raises(ValueError, match="Only pass `legend` OR `legend_handles`"):
        tfkit.visualization.plot_bounding_box_gallery(
            IMAGES, "xyxy", legend=True, legend_handles=[]
        )


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    monkeypatch.delitem(sys.modules, "matplotlib.patches", raising=False)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        tfkit.visualization.plot_image_gallery(IMAGES, show=False)
