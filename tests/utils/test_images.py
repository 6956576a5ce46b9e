import io

import keras
import numpy as np
import pytest

import tfkit

GENERATOR = np.random.default_rng(0)


def picture(*shape):
    return GENERATOR.uniform(0, 200, shape).astype("float32")


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_arrays_become_the_images_that_keras_makes(channels, scale, data_format):
    x = picture(*((5, 7, channels) if data_format == "channels_last" else (channels, 5, 7)))
    got = tfkit.utils.array_to_img(x, data_format, scale)
    expected = keras.utils.array_to_img(x, data_format, scale)
    assert got.mode == expected.mode
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))
    np.testing.assert_array_equal(
        tfkit.utils.img_to_array(got, data_format), keras.utils.img_to_array(expected, data_format)
    )


def test_large_gray_values_need_32_bits():
    x = np.array([[[0], [1000]]])
    got, expected = (lib.utils.array_to_img(x, scale=False) for lib in (tfkit, keras))
    assert got.mode == expected.mode == "I"
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


def test_a_constant_image_is_black():
    assert not np.asarray(tfkit.utils.array_to_img(np.ones((2, 2, 1)))).any()


@pytest.fixture
def png(tmp_path):
    tfkit.utils.save_img(tmp_path / "a.png", picture(12, 20, 3))
    return tmp_path / "a.png"


@pytest.mark.parametrize("color_mode", ["grayscale", "rgb", "rgba"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"target_size": (6, 10)},
        {"target_size": (9, 9), "interpolation": "bilinear", "keep_aspect_ratio": True},
        {"target_size": (5, 20), "interpolation": "lanczos", "keep_aspect_ratio": True},
    ],
)
def test_files_are_read_as_keras_reads_them(png, color_mode, options):
    got = tfkit.utils.load_img(png, color_mode, **options)
    expected = keras.utils.load_img(png, color_mode, **options)
    assert got.mode == expected.mode
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


def test_files_are_written_as_keras_writes_them(tmp_path):
    x = picture(8, 8, 3)
    tfkit.utils.save_img(tmp_path / "ours.jpg", x, quality=80)
    keras.utils.save_img(tmp_path / "theirs.jpg", x, quality=80)
    assert (tmp_path / "ours.jpg").read_bytes() == (tmp_path / "theirs.jpg").read_bytes()
    file = io.BytesIO()
    tfkit.utils.save_img(file, x, file_format="png")
    assert tfkit.utils.load_img(file).size == (8, 8)


def test_jpeg_drops_transparency_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="JPEG has no transparency"):
        tfkit.utils.save_img(tmp_path / "a.jpg", picture(4, 4, 4))


def test_errors_say_what_was_passed(png):
    with pytest.raises(ValueError, match=r"one image, of 3 axes. Received .* \(2, 2\)"):
        tfkit.utils.array_to_img(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"1, 3 or 4 channels. Received an array with 2"):
        tfkit.utils.array_to_img(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match=r"Received one of shape \(1, 1, 1, 1\)"):
        tfkit.utils.img_to_array(np.ones((1, 1, 1, 1)))
    with pytest.raises(ValueError, match="Received: color_mode='cmyk'"):
        tfkit.utils.load_img(png, "cmyk")
    with pytest.raises(ValueError, match="Received: interpolation='area'"):
        tfkit.utils.load_img(png, target_size=(2, 2), interpolation="area")
    with pytest.raises(TypeError, match="Received: 5"):
        tfkit.utils.load_img(5)


def test_without_pillow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(tfkit.src.data.utils.images, "Image", None)
    with pytest.raises(ImportError, match="pip install pillow"):
        tfkit.utils.array_to_img(np.ones((2, 2, 1)))


def test_stand_under_preprocessing_too():
    assert tfkit.preprocessing.image.load_img is tfkit.utils.load_img
