import hashlib
import os

import keras
import numpy as np
import pytest

import tfkit
from tfkit.src.data.datasets import mnist as dataset
from tfkit.src.data.datasets.download import fetch

ARRAYS = {
    "x_train": np.arange(3 * 28 * 28, dtype="uint8").reshape(3, 28, 28),
    "y_train": np.array([5, 0, 4], "uint8"),
    "x_test": np.ones((2, 28, 28), "uint8"),
    "y_test": np.array([7, 2], "uint8"),
}


@pytest.fixture(autouse=True)
def no_download(tmp_path, monkeypatch):
    """A download address where nothing is."""
    monkeypatch.setattr(dataset, "URL", (tmp_path / "absent.npz").as_uri())


def write(path, **changes):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{**ARRAYS, **changes})
    return path


def check(loaded, first_label=5):
    (x_train, y_train), (x_test, y_test) = loaded
    assert y_train[0] == first_label
    np.testing.assert_array_equal(x_train, ARRAYS["x_train"])
    np.testing.assert_array_equal(x_test, ARRAYS["x_test"])
    np.testing.assert_array_equal(y_test, ARRAYS["y_test"])


def test_all_digits(mnist):
    (x_train, y_train), (x_test, y_test) = mnist
    assert x_train.shape == (60000, 28, 28)
    assert x_test.shape == (10000, 28, 28)
    assert {array.dtype.name for array in (x_train, y_train, x_test, y_test)} == {"uint8"}
    assert y_train[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]


def test_reads_as_keras_does(tmp_path, monkeypatch):
    path = write(tmp_path / "digits.npz")
    monkeypatch.setattr(keras.src.datasets.mnist, "get_file", lambda **_: str(path))
    ours, theirs = dataset.load_data(path), keras.datasets.mnist.load_data()
    assert type(ours) is type(theirs) is tuple
    for our_pair, their_pair in zip(ours, theirs, strict=True):
        for our_array, their_array in zip(our_pair, their_pair, strict=True):
            np.testing.assert_array_equal(our_array, their_array)


def test_places_in_order(tmp_path, monkeypatch, capsys):
    """The latest place is filled first, and each earlier one then wins."""
    online = write(tmp_path / "online" / "mnist.npz")
    monkeypatch.setattr(dataset, "URL", online.as_uri())
    monkeypatch.setattr(dataset, "SHA256", hashlib.sha256(online.read_bytes()).hexdigest())
    monkeypatch.setenv("TFKIT_DATA", f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'b'}")

    check(dataset.load_data())
    cached = tmp_path / "home" / "datasets" / "mnist.npz"
    assert cached.read_bytes() == online.read_bytes()
    assert f"Downloading data from {online.as_uri()}" in capsys.readouterr().out
    places = [cached, tmp_path / "b" / "mnist.npz", tmp_path / "a" / "mnist.npz"]
    for label, place in enumerate([*places, tmp_path / "mnist.npz"]):
        write(place, y_train=np.array([label, 0, 4], "uint8"))
        check(dataset.load_data(), first_label=label)
    check(dataset.load_data(str(online)))
    assert capsys.readouterr().out == ""


def test_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("TFKIT_DATA", str(tmp_path / "data"))
    with pytest.raises(FileNotFoundError, match="cannot be downloaded") as error:
        dataset.load_data()
    message = str(error.value)
    for place in (tmp_path, tmp_path / "data", tmp_path / "home" / "datasets"):
        assert f"  {place / 'mnist.npz'}\n" in message
    assert "TFKIT_DATA" in message
    assert not list((tmp_path / "home" / "datasets").iterdir())


def test_wrong_hash_keeps_nothing(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"other bytes")
    target = tmp_path / "cache" / "file"
    with pytest.raises(ValueError, match=f"Expected hash: {'0' * 64}. Received: "):
        fetch(source.as_uri(), target, "0" * 64)
    assert not list(target.parent.iterdir())


def test_failed_download_leaves_the_old_file(tmp_path):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match="absent"):
        fetch((tmp_path / "absent").as_uri(), target, "0" * 64)
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_files_that_are_no_mnist(tmp_path):
    text = tmp_path / "text.npz"
    text.write_text("no zip")
    with pytest.raises(ValueError, match=r"not an \.npz file"):
        dataset.load_data(text)
    np.savez(tmp_path / "part.npz", x_train=np.zeros(1))
    with pytest.raises(ValueError, match="lacks the arrays"):
        dataset.load_data(tmp_path / "part.npz")
    pickled = write(tmp_path / "pickled.npz", y_test=np.array([{}], object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        dataset.load_data(pickled)


def test_is_a_public_module():
    assert tfkit.datasets.mnist.load_data is dataset.load_data
