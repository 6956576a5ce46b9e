"""`weights="imagenet"`: which files are asked for, and the whole way from an address to a model."""

import hashlib
from unittest import mock

import keras
import numpy as np
import pytest

import tfkit
from tests.applications.pairs import draw_weights, images, write_published
from tests.applications.published import LIST, asked, calls, label, lines
from tfkit.src.data.applications import mobilenet_v3, weights

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

GET_FILE = "tfkit.src.data.applications.weights.get_file"


def test_the_files_asked_for_are_those_of_keras():
    """The list is Keras's: see `published.py`."""
    listed = LIST.read_text(encoding="utf-8").splitlines()
    assert len(listed) == 2 * len(list(calls()))
    assert list(lines(tfkit, GET_FILE)) == listed


@pytest.mark.filterwarnings("ignore:`input_shape` is undefined:UserWarning")
def test_the_list_is_that_of_keras_as_it_is_now():
    """For the smallest models; the others take minutes."""
    listed = LIST.read_text(encoding="utf-8").splitlines()
    arguments = {"alpha": 0.75, "include_top": False}
    for name in ("MobileNetV3Small", "MobileNetV2"):
        found = asked(keras, "keras.src.utils.file_utils.get_file", name, arguments)
        assert f"{label(name, arguments)}: {found}" in listed


def test_other_sizes_take_the_weights_for_224():
    """Also where the sizes are those of a tensor: Keras then takes the weights for any size, too."""
    expected = asked(tfkit, GET_FILE, "MobileNetV2", {"include_top": False})
    for arguments in (
        {"input_shape": (256, 256, 3)},
        {"input_shape": (160, 192, 3)},
        {"input_tensor": tfkit.Input((160, 160, 3))},
    ):
        assert (
            asked(tfkit, GET_FILE, "MobileNetV2", {"include_top": False, **arguments}) == expected
        )
    of_160 = asked(tfkit, GET_FILE, "MobileNetV2", {"input_tensor": tfkit.Input((160, 160, 3))})
    assert "_1.0_160.h5" in of_160


def test_published_efficientnets_scale_pixels_once_more(tmp_path, monkeypatch):
    """Because of a mistake in the published weights, to which Keras holds."""
    arguments = {"include_top": False, "input_shape": (32, 32, 3)}
    place = "keras.src.utils.file_utils.get_file"
    with mock.patch(place, return_value=""), mock.patch("keras.Model.load_weights"):
        theirs = keras.applications.EfficientNetB0(**arguments)
    draw_weights(theirs)
    write_published(theirs, tmp_path / "weights.h5")
    monkeypatch.setattr(GET_FILE, lambda *args, **kwargs: str(tmp_path / "weights.h5"))
    ours = tfkit.applications.EfficientNetB0(**arguments)
    assert ours.layers[3].scale == theirs.layers[3].scale
    x = images(theirs)
    expected = np.asarray(theirs(x, training=False))
    np.testing.assert_allclose(
        ours(x, training=False), expected, rtol=0, atol=1e-5 * np.abs(expected).max()
    )


@pytest.fixture(scope="module")
def small():
    """A model of Keras with weights that are published here."""
    model = keras.applications.MobileNetV3Small(weights=None, include_top=False, alpha=0.75)
    draw_weights(model)
    return model


@pytest.fixture
def address(small, tmp_path, monkeypatch):
    """The published file of the smallest model without a classifier."""
    file = tmp_path / "mobilenet_v3" / "weights_mobilenet_v3_small_224_0.75_float_no_top_v2.h5"
    file.parent.mkdir()
    write_published(small, file)
    hashes = {"small_224_0.75": ("0" * 32, hashlib.md5(file.read_bytes()).hexdigest())}
    monkeypatch.setattr(mobilenet_v3, "_HASHES", hashes)
    monkeypatch.setattr(weights, "ADDRESS", tmp_path.as_uri())
    monkeypatch.setenv("TFKIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    return file


def test_published_weights_are_downloaded_once_and_checked(address, small, tmp_path, capsys):
    model = tfkit.applications.MobileNetV3Small(include_top=False, alpha=0.75)
    assert f"Downloading data from {address.as_uri()}" in capsys.readouterr().out
    assert (tmp_path / "home" / "models" / address.name).read_bytes() == address.read_bytes()
    x = images(small)
    expected = np.asarray(small(x, training=False))
    np.testing.assert_allclose(
        model(x, training=False), expected, rtol=0, atol=1e-5 * np.abs(expected).max()
    )
    address.unlink()
    tfkit.applications.MobileNetV3Small(include_top=False, alpha=0.75)
    assert "Downloading" not in capsys.readouterr().out


def test_a_file_of_keras_own_cache_is_used(address, tmp_path, capsys):
    (tmp_path / "keras" / "models").mkdir(parents=True)
    address.rename(tmp_path / "keras" / "models" / address.name)
    tfkit.applications.MobileNetV3Small(include_top=False, alpha=0.75, weights="imagenet")
    assert "Downloading" not in capsys.readouterr().out


def test_another_file_at_the_address_is_refused(address, tmp_path, monkeypatch):
    """Before a model is built."""
    monkeypatch.setattr("tfkit.src.data.applications.input_and_classifier.Input", None)
    address.write_bytes(address.read_bytes() + b" ")
    with pytest.raises(ValueError, match=r"is not the expected one.*Nothing was kept"):
        tfkit.applications.MobileNetV3Small(include_top=False, alpha=0.75)
    assert not [*(tmp_path / "home" / "models").glob("*.h5")]


def test_an_address_without_a_file_is_an_error(address, monkeypatch):
    monkeypatch.setattr("tfkit.src.data.applications.input_and_classifier.Input", None)
    address.unlink()
    with pytest.raises(OSError, match=r"small_224_0.75_float_no_top_v2.h5 cannot be fetched"):
        tfkit.applications.MobileNetV3Small(include_top=False, alpha=0.75)
