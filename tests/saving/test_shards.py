"""Weights in several files, and what an index may say."""

import functools
import json
import os
import threading

import numpy as np
import pytest

import tfkit
from tests.threads.together import together
from tfkit import layers
from tfkit.src.files.saving import shards

X = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
KB = 2**10 / 2**30  # `max_shard_size` is in GB.


def build():
    return tfkit.Sequential(
        [tfkit.Input((8,)), *(layers.Dense(8, name=f"d{index}") for index in range(6))]
    )


@pytest.fixture
def model():
    return build()


@pytest.fixture
def index(model, tmp_path):
    model.save_weights(tmp_path / "m.weights.json", max_shard_size=0.6 * KB)
    return tmp_path / "m.weights.json"


def rewrite(index, change):
    """Changes the index, and gives it its checksum again."""
    document = json.loads(index.read_text())
    del document["crc32"]
    change(document)
    index.write_text(json.dumps(document | {"crc32": shards.checksum(document)}))


def test_weights_come_back_from_several_files(model, index):
    document = json.loads(index.read_text())
    assert document["metadata"]["total_size"] == 6 * (8 * 8 + 8) * 4
    files = sorted(set(document["weight_map"].values()))
    assert len(files) == 3
    assert (
        files == sorted(document["shards"]) == sorted(set(os.listdir(index.parent)) - {index.name})
    )
    other = build()
    report = other.load_weights(index)
    assert len(report.loaded) == 12
    for a, b in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    other = tfkit.Sequential([tfkit.Input((8,)), layers.Dense(8, name="d4")])
    other.load_weights(index, by_name=True)
    np.testing.assert_array_equal(other.layers[0].kernel, model.layers[4].kernel)


def test_saving_again_leaves_no_file_of_the_old_save(model, index):
    before = set(os.listdir(index.parent))
    (index.parent / "m_other.weights.h5").write_text("of somebody else")
    (index.parent / "m_0123abcd_00007.weights.h5").write_text("of a save that was cut short")
    model.save_weights(index, max_shard_size=1)
    after = set(os.listdir(index.parent))
    assert len(after) == 3
    assert before & after == {index.name}
    assert "m_other.weights.h5" in after
    build().load_weights(index)


def test_names_and_sizes_that_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match=r"must end in `.weights.json` when `max_shard_size`"):
        model.save_weights(tmp_path / "m.weights.h5", max_shard_size=1)
    with pytest.raises(ValueError, match=r"must end in `.weights.h5`"):
        model.save_weights(tmp_path / "m.weights.json")
    with pytest.raises(ValueError, match=r"`d0/kernel` has 256 bytes.*max_shard_size=2.38e-07"):
        model.save_weights(tmp_path / "m.weights.json", max_shard_size=0.1 * KB)
    with pytest.raises(ValueError, match="must be positive"):
        model.save_weights(tmp_path / "m.weights.json", max_shard_size=0)
    assert os.listdir(tmp_path) == []


def escape(document, name):
    """Names a file elsewhere."""
    first = next(iter(document["shards"]))
    document["shards"] = {name if key == first else key: v for key, v in document["shards"].items()}
    document["weight_map"] = {
        path: name if file == first else file for path, file in document["weight_map"].items()
    }


@pytest.mark.parametrize(
    "name",
    [
        "../other/x.weights.h5",
        "/etc/x.weights.h5",
        "..\\x.weights.h5",
        "/etc/passwd",
        "a\0.weights.h5",
    ],
)
def test_an_index_names_no_path(name, model, index):
    rewrite(index, lambda document: escape(document, name))
    with pytest.raises(tfkit.saving.LoadError, match=r"m\.weights\.json names the file .*refused"):
        model.load_weights(index)


def test_a_file_that_is_a_link_is_refused(model, index):
    file = next(index.parent.glob("*_00001.weights.h5"))
    file.rename(index.parent / "elsewhere")
    file.symlink_to(index.parent / "elsewhere")
    with pytest.raises(tfkit.saving.LoadError, match=r"_00001\.weights\.h5, named in .* is a link"):
        model.load_weights(index)
    file.unlink()
    with pytest.raises(
        tfkit.saving.LoadError, match=r"_00001\.weights\.h5 next to it, which is missing"
    ):
        model.load_weights(index)


def test_a_file_of_another_save_is_refused(model, index, tmp_path):
    file = next(index.parent.glob("*_00001.weights.h5"))
    (tmp_path / "x").mkdir()
    other = build()
    other.save_weights(tmp_path / "x/m.weights.json", max_shard_size=0.6 * KB)
    next((tmp_path / "x").glob("*_00001.weights.h5")).replace(file)
    with pytest.raises(tfkit.saving.LoadError, match=r"is not the one that .* names"):
        model.load_weights(index)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("shards"),
        lambda document: document.update(shards=[]),
        lambda document: document.update(weight_map={}),
        lambda document: document.update(format_version=9),
        lambda document: document.update(format="keras"),
        lambda document: document["weight_map"].update({"d0/kernel": "none"}),
        lambda document: document["weight_map"].update({"d0/kernel": []}),
        lambda document: document["weight_map"].update({"d0/kernel": max(document["shards"])}),
    ],
)
def test_an_index_that_makes_no_sense(change, model, index):
    rewrite(index, change)
    with pytest.raises(tfkit.saving.LoadError, match=r"m\.weights\.json"):
        model.load_weights(index)


def filled(value):
    model = build()
    model.set_weights([np.full(weight.shape, value, "float32") for weight in model.weights])
    return model


def save(path, value):
    model = filled(value)
    for _ in range(10):
        model.save_weights(path, max_shard_size=0.6 * KB)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_of_writers_at_once_the_latest_wins_and_readers_see_one_of_them(tmp_path):
    """Two threads and another process write, a thread reads."""
    path = tmp_path / "m.weights.json"
    save(path, 0.0)
    of_child, reader = filled(3.0), build()
    child = os.fork()
    if child == 0:
        try:
            for _ in range(10):
                of_child.save_weights(path, max_shard_size=0.6 * KB)
        finally:
            os._exit(0)
    is_over = threading.Event()
    seen = []

    def write():
        try:
            together(functools.partial(save, path, 1.0), functools.partial(save, path, 2.0))
            os.waitpid(child, 0)
        finally:
            is_over.set()

    def read():
        while not is_over.is_set():
            reader.load_weights(path)
            seen.append({float(value) for weight in reader.get_weights() for value in weight.flat})

    together(write, read)
    assert all(len(values) == 1 for values in seen)
    document = json.loads(path.read_text())
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, *document["shards"]])
