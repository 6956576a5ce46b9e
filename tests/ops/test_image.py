"""The image ops against Keras, in both layouts."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit.ops import image
from tfkit.src.symbolic.tensors import KerasTensor

RNG = np.random.default_rng(1)
IMAGES = RNG.uniform(size=(2, 9, 8, 3)).astype("float32")
POINTS = np.array([[0, 0], [7, 1], [1, 8], [7, 8]], "float32")
MOVED = np.array([[1, 1], [6, 0], [0, 7], [7, 7]], "float32")
TRANSFORM = np.array([0.9, 0.2, -1, 0.1, 1.1, 2, 0, 0], "float32")

CASES = [
    *(("resize", ((5, 6),), {"interpolation": i}) for i in ("bilinear", "nearest", "bicubic")),
    ("resize", ((5, 6),), {"interpolation": "area"}),
    ("resize", ((5, 6),), {"interpolation": "lanczos3", "antialias": True}),
    ("resize", ((4, 8),), {"crop_to_aspect_ratio": True}),
    ("resize", ((8, 4),), {"crop_to_aspect_ratio": True}),
    ("resize", ((8, 4),), {"pad_to_aspect_ratio": True, "fill_value": 0.5}),
    ("resize", ((4, 12),), {"pad_to_aspect_ratio": True}),
    ("pad_images", (1, 2, 3, 4), {}),
    ("pad_images", (1, None), {"target_height": 14, "right_padding": 2, "target_width": 12}),
    ("crop_images", (1, 2, 3, 1), {}),
    ("crop_images", (None, 2, 1), {"target_height": 5, "target_width": 4}),
    ("rgb_to_grayscale", (), {}),
    ("rgb_to_hsv", (), {}),
    ("hsv_to_rgb", (), {}),
    ("gaussian_blur", (), {"kernel_size": (3, 3), "sigma": (1.0, 0.5)}),
    ("extract_patches", (3,), {}),
    ("extract_patches", ((3, 2),), {"strides": (2, 1), "padding": "same"}),
    *(
        ("affine_transform", (TRANSFORM,), {"fill_mode": m})
        for m in ("constant", "nearest", "wrap", "reflect")
    ),
    ("perspective_transform", (POINTS, MOVED), {}),
]  # fmt: skip


def close(mine, theirs):
    assert mine.dtype == theirs.dtype
    np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{list(case[2])}")
@pytest.mark.parametrize("single", [False, True], ids=["batch", "single"])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_against_keras(case, single, data_format):
    name, args, kwargs = case
    images = IMAGES if data_format == "channels_last" else IMAGES.transpose(0, 3, 1, 2)
    images = images[0] if single else images
    kwargs = {**kwargs, "data_format": data_format}
    args = [tf.constant(a) if isinstance(a, np.ndarray) else a for a in args]
    mine = getattr(image, name)(images, *args, **kwargs)
    if name != "extract_patches" or data_format == "channels_last":  # Keras has no such kernel.
        close(mine, getattr(keras.ops.image, name)(tf.constant(images), *args, **kwargs))
    symbolic = getattr(image, name)(KerasTensor(images.shape), *args, **kwargs)
    assert tf.TensorShape(symbolic.shape).is_compatible_with(mine.shape)
    assert symbolic.node.operation is getattr(image, name)


def test_uint8_images_keep_their_dtype_where_keras_does():
    images = (IMAGES * 255).astype("uint8")
    for name, args in (("resize", ((4, 4),)), ("rgb_to_grayscale", ())):
        close(getattr(image, name)(images, *args), getattr(keras.ops.image, name)(images, *args))


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_sobel_edges(data_format):
    images = IMAGES if data_format == "channels_last" else IMAGES.transpose(0, 3, 1, 2)
    close(
        image.sobel_edges(images, data_format),
        keras.ops.image.sobel_edges(tf.constant(images), data_format),
    )


def test_ssim():
    first, second = (RNG.uniform(size=(2, 16, 16, 3)).astype("float32") for _ in range(2))
    close(image.ssim(first, second), keras.ops.image.ssim(first, second))
    close(image.ssim(first[0], second[0]), keras.ops.image.ssim(first[0], second[0]))


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("fill_mode", ["constant", "nearest", "wrap"])
def test_map_coordinates(order, fill_mode):
    coordinates = RNG.uniform(-2, 10, size=(2, 4, 5)).astype("float32")
    args = (IMAGES[0, :, :, 0], coordinates, order, fill_mode, 0.3)
    close(image.map_coordinates(*args), keras.ops.image.map_coordinates(*args))


@pytest.mark.parametrize(
    ("fill_mode", "expected"),
    # As the table of SciPy's `ndimage` has them; Keras mirrors about -0.5 as if about 0.
    [("mirror", "dcbabcdcba"), ("reflect", "cbaabcddcb"), ("wrap", "bcdabcdabc")],
)
def test_map_coordinates_outside(fill_mode, expected):
    letters = np.array([ord(c) for c in "abcd"], "int32")
    mapped = image.map_coordinates(letters, np.arange(-3.0, 7.0)[None, :, None], 0, fill_mode)
    assert "".join(chr(c) for c in mapped.numpy().ravel()) == expected


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5"])
@pytest.mark.parametrize("antialias", [False, True])
def test_scale_and_translate(method, antialias):
    args = (
        tf.constant(IMAGES[0]),
        (5, 12, 3),
        tf.constant([0.5, 1.5]),
        tf.constant([0.3, -0.2]),
        (0, 1),
        method,
        antialias,
    )
    close(image.scale_and_translate(*args), keras.ops.image.scale_and_translate(*args))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: image.resize(IMAGES, (2, 2), interpolation="best"), "interpolation"),
        (lambda: image.resize(IMAGES, (2, 2), fill_mode="wrap"), "fill_mode"),
        (
            lambda: image.resize(
                IMAGES, (2, 2), crop_to_aspect_ratio=True, pad_to_aspect_ratio=True
            ),
            "Only one of",
        ),
        (lambda: image.resize(IMAGES, (2,)), "two elements"),
        (lambda: image.resize(IMAGES[0, 0], (2, 2)), "Invalid images rank"),
        (lambda: image.pad_images(IMAGES, 1, 1, 1), "exactly two"),
        (lambda: image.crop_images(IMAGES, None, 0, 9, 0, target_height=5), ">= 0"),
        (lambda: image.rgb_to_grayscale(IMAGES[..., :2]), "channel size"),
        (lambda: image.rgb_to_hsv(IMAGES.astype("int32")), "float"),
        (lambda: image.map_coordinates(IMAGES, np.zeros((3, 2)), 1), "coordinates"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_pixels_without_a_number_do_not_get_one_by_resizing(value, interpolation):
    """A saturated conversion makes the largest number of infinity, as in Keras 3.15.1."""
    images = IMAGES.copy()
    images[0] = value
    resized = image.resize(images, (4, 4), interpolation).numpy()
    assert not np.isfinite(resized[0]).any()
    assert np.isfinite(resized[1]).all()
