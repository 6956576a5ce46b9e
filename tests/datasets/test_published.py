"""Published data sets: small files of their formats, read as Keras reads them, and nothing in them is run."""

import gzip
import hashlib
import io
import json
import os
import pickle
import struct
import tarfile
import zipfile

import keras
import numpy as np
import pytest

import tfkit
from tfkit.src.data.datasets import folders
from tfkit.src.data.datasets.cifar import Published, read_batch
from tfkit.src.data.datasets.npz import read_npz

RNG = np.random.default_rng(0)
TEXTS = np.empty(40, object)
TEXTS[:] = [RNG.integers(1, 50, size).tolist() for size in RNG.integers(3, 9, 40)]
LABELS = RNG.integers(0, 2, 40)


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("TFKIT_DATA", str(folder))
    return folder


def equal(ours, theirs):
    for our_pair, their_pair in zip(ours, theirs, strict=True):
        for got, expected in zip(our_pair, their_pair, strict=True):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            assert got.tolist() == expected.tolist()


def of_keras(name, monkeypatch, path):
    """A data set's module of Keras, whose downloads are at a path."""
    module = getattr(keras.datasets, name)
    source = getattr(keras.src.datasets, name)
    where = (lambda name, **_: str(path / name)) if path.is_dir() else (lambda *_, **__: str(path))
    monkeypatch.setattr(source, "get_file", lambda fname=None, **_: where(fname))
    return module


@pytest.mark.parametrize("name", ["boston_housing", "california_housing"])
def test_housing(name, data, monkeypatch):
    np.savez(data / f"{name}.npz", x=RNG.normal(size=(50, 4)), y=RNG.normal(size=50))
    ours, theirs = getattr(tfkit.datasets, name), of_keras(name, monkeypatch, data)
    for options in ({}, {"test_split": 0.33, "seed": 2}):
        equal(ours.load_data(**options), theirs.load_data(**options))
    with pytest.raises(ValueError, match="`test_split` must be"):
        ours.load_data(test_split=1.5)


ENCODINGS = [
    {"num_words": 60},
    {"num_words": 30, "skip_top": 3},
    {"maxlen": 6, "num_words": 60},
    {"start_char": None, "num_words": 60},
    {"oov_char": None, "num_words": 20},
    {"index_from": 0, "start_char": 0, "seed": 3, "num_words": 60},
]


@pytest.mark.parametrize("options", ENCODINGS, ids=str)
def test_texts(options, data, monkeypatch):
    np.savez(
        data / "imdb.npz",
        x_train=TEXTS[:25],
        y_train=LABELS[:25],
        x_test=TEXTS[25:],
        y_test=LABELS[25:],
    )
    np.savez(data / "reuters.npz", x=TEXTS, y=LABELS)
    for name in ("imdb", "reuters"):
        theirs = of_keras(name, monkeypatch, data)
        equal(getattr(tfkit.datasets, name).load_data(**options), theirs.load_data(**options))


def test_all_words_are_kept(data):
    """Where Keras leaves out the rarest one."""
    np.savez(data / "reuters.npz", x=TEXTS, y=LABELS)
    (x, _), (x_test, _) = tfkit.datasets.reuters.load_data()
    words = sorted(word - 3 for text in (*x, *x_test) for word in text[1:])
    assert words == sorted(word for text in TEXTS for word in text)


def test_texts_that_are_too_long_and_older_names(data):
    np.savez(data / "imdb.npz", x_train=TEXTS, y_train=LABELS, x_test=TEXTS, y_test=LABELS)
    with pytest.raises(ValueError, match="The shortest one has 4 words"):
        tfkit.datasets.imdb.load_data(maxlen=2)
    with pytest.warns(UserWarning, match="`num_words` now"):
        (x, _), _ = tfkit.datasets.imdb.load_data(nb_words=10)
    assert max(map(max, x)) < 10
    with pytest.raises(TypeError, match="unexpected arguments: words"):
        tfkit.datasets.imdb.load_data(words=10)


def test_words_and_topics(data):
    for name in ("imdb", "reuters"):
        (data / f"{name}_word_index.json").write_text(json.dumps({"the": 1}))
        assert getattr(tfkit.datasets, name).get_word_index() == {"the": 1}
    assert tfkit.datasets.reuters.get_label_names() == keras.datasets.reuters.get_label_names()


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made",)


@pytest.mark.parametrize(
    "content", [Evil(), [Evil()], {"a": Evil()}, print], ids=["object", "list", "dict", "function"]
)
def test_arrays_that_name_other_things(content, data):
    evil = np.empty(2, object)
    evil[0] = content
    np.savez(data / "reuters.npz", x=evil, y=LABELS[:2])
    with pytest.raises(ValueError, match="lists of integers"):
        tfkit.datasets.reuters.load_data()
    assert not os.path.exists("made")


def header(shape, descr):
    content = io.BytesIO()
    fields = {"shape": shape, "fortran_order": False, "descr": descr}
    np.lib.format.write_array_header_1_0(content, fields)
    return content.getvalue()


def nested(levels):
    found = [1]
    for _ in range(levels):
        found = [found, found]
    return found


def lists(*items):
    found = np.empty(len(items), object)
    for place, item in enumerate(items):
        found[place] = item
    return found


HOSTILE_ARRAYS = {
    "shape without data": header((2**40,), "<f4"),
    "negative shape": header((2**70, -1), "<f4"),
    "items of no size": header((2**62,), "|V0"),
    "zeros": header((1 << 28,), "|u1") + bytes(1 << 28),
    "parentheses": b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000,
    "table of 2**32 objects": header((1,), "|O") + b"\x80\x02]r\xff\xff\xff\x7f.",
    "one list twice": header((2,), "|O") + pickle.dumps(lists(*[[1]] * 2), 3),
    "levels": header((1,), "|O") + pickle.dumps(lists(nested(40)), 3),
    "deep": header((1,), "|O") + b"\x80\x02" + b"]" * 99_999 + b"a" * 99_998 + b".",
    "no state": header((1,), "|O") + b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R)b.",
    "texts": header((1,), "|O") + pickle.dumps(lists(["a"]), 3),
}


@pytest.mark.parametrize("content", HOSTILE_ARRAYS.values(), ids=HOSTILE_ARRAYS)
def test_arrays_that_ask_for_much(content, tmp_path):
    path = tmp_path / "h.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", content)
    with pytest.raises(ValueError, match=r"x\.npy|\.npz") as raised:
        read_npz(path, ["x"], objects=True)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_lists_in_all_forms_of_pickles(protocol, tmp_path):
    texts = lists([1, 300, 70_000], [2**31 - 1, -5, 0])
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as file:
        file.writestr("x.npy", header((2,), "|O") + pickle.dumps(texts, protocol))
    (found,) = read_npz(tmp_path / "x.npz", ["x"], objects=True)
    assert found.shape == (2,)
    assert found.tolist() == texts.tolist()


@pytest.mark.parametrize("content", ["[1]", '{"a": "b"}', "{", "[" * 100_000])
def test_words_that_are_none(content, data):
    (data / "imdb_word_index.json").write_text(content)
    with pytest.raises(ValueError, match=r"not a JSON file|a number for each word"):
        tfkit.datasets.imdb.get_word_index()


def cifar_file(path, key, count):
    content = {
        b"batch_label": b"a batch",
        key: RNG.integers(0, 10, count).tolist(),
        b"other_labels": [3] * count,
        b"data": RNG.integers(0, 255, (count, 3072), "uint8"),
        b"filenames": [b"a.png"] * count,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=3))


@pytest.fixture
def cifar(tmp_path):
    """A folder with files of both data sets, as their archives have them."""
    folder = tmp_path / "cifar"
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        cifar_file(folder / "cifar-10-batches-py" / name, b"labels", 10000 if "data" in name else 3)
    for name in ("train", "test"):
        cifar_file(folder / "cifar-100-python" / name, b"fine_labels", 4)
    return folder


def test_cifar(cifar, monkeypatch):
    monkeypatch.setenv("TFKIT_DATA", str(cifar))
    theirs = of_keras("cifar10", monkeypatch, cifar)
    monkeypatch.setattr(keras.src.datasets.cifar10, "get_file", lambda **_: str(cifar))
    monkeypatch.setattr(keras.src.datasets.cifar100, "get_file", lambda **_: str(cifar))
    for got, expected in zip(tfkit.datasets.cifar10.load_data(), theirs.load_data(), strict=True):
        for ours, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(ours, other)
    equal(tfkit.datasets.cifar100.load_data(), keras.datasets.cifar100.load_data())
    with pytest.raises(ValueError, match="`label_mode` must be"):
        tfkit.datasets.cifar100.load_data("all")
    with pytest.raises(ValueError, match=r"not a CIFAR file: .* 0 labels"):
        tfkit.datasets.cifar100.load_data("coarse")


def test_pickles_of_python_2(tmp_path):
    """Strings without a type, and lists that are filled in parts, as the published files have them."""
    pixels = bytes(3 * 32 * 32 * 3)
    content = (
        b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x01aq\x03U\x06labelsq\x04]q\x05(K\x06K\x09eK\x07a"
    )
    content += (
        b"U\x04dataq\x06T" + len(pixels).to_bytes(4, "little") + pixels + b"q\x07K\x05\x86q\x08u."
    )
    (tmp_path / "batch").write_bytes(content)
    images, labels = read_batch(tmp_path / "batch", "labels")
    assert images.shape == (3, 32, 32, 3)
    assert labels.tolist() == [[6], [9], [7]]
    (tmp_path / "batch").write_bytes(content[:-20])
    with pytest.raises(ValueError, match="not a CIFAR file"):
        read_batch(tmp_path / "batch", "labels")


def test_cifar_from_its_archive(cifar, tmp_path, monkeypatch):
    archive = tmp_path / "online.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(cifar / "cifar-100-python", "cifar-100-python")
    published = Published(
        "cifar-100-python", "online.tar.gz", hashlib.sha256(archive.read_bytes()).hexdigest()
    )
    keras_archive = tmp_path / "keras" / "datasets" / "online.tar.gz"
    keras_archive.parent.mkdir(parents=True)
    archive.rename(keras_archive)
    folder = published.located()
    assert folder == tmp_path / "home" / "datasets" / "cifar-100-python" / "cifar-100-python"
    keras_archive.unlink()
    assert published.located().samefile(tmp_path / "home" / "datasets" / "cifar-100-python")
    assert sorted(os.listdir(folder)) == ["test", "train"]


def test_fashion_mnist(data, monkeypatch):
    folder = data / "fashion-mnist"
    folder.mkdir()
    for part, count in (("train", 60000), ("t10k", 10000)):
        for kind, first, shape in (
            ("images-idx3", 0x803, (count, 28, 28)),
            ("labels-idx1", 0x801, (count,)),
        ):
            head = np.array([first, *shape], ">u4").tobytes()
            body = np.resize(np.arange(251, dtype="uint8"), shape).tobytes()
            with gzip.open(folder / f"{part}-{kind}-ubyte.gz", "wb", compresslevel=1) as file:
                file.write(head + body)
    theirs = of_keras("fashion_mnist", monkeypatch, folder)
    for got, expected in zip(
        tfkit.datasets.fashion_mnist.load_data(), theirs.load_data(), strict=True
    ):
        for ours, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(ours, other)
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz", "wb") as file:
        file.write(b"\0\0\x08\x01\0\0\0\x05abc")
    with pytest.raises(ValueError, match="or was cut off"):
        tfkit.datasets.fashion_mnist.load_data()


def test_a_file_of_keras_is_checked(tmp_path, monkeypatch):
    file = tmp_path / "keras" / "datasets" / "x.npz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"right")
    right = hashlib.sha256(b"right").hexdigest()
    absent = (tmp_path / "absent").as_uri()
    assert folders.find("x.npz", absent, right) == file
    with pytest.raises(FileNotFoundError, match=f"  {file}\n"):
        folders.find("x.npz", absent, "0" * 64)
