"""HDF5 files that ask for other files, for memory, or for time: refused before anything is read."""

import json
import zlib

import h5py
import numpy as np
import pytest

import tfkit as keras
from tfkit.saving import seal


@pytest.fixture
def model():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="d")])


@pytest.fixture
def path(model, tmp_path):
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    model.save(tmp_path / "model.h5")
    return tmp_path / "model.h5"


def first_dataset(group):
    found = []
    group.visititems(
        lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None
    )
    return found[0]


def kernel(file):
    return f"weights/{first_dataset(file['weights'])}"


def soft_link(file, tmp_path):
    name = kernel(file)
    del file[name]
    file[name] = h5py.SoftLink("/config")


def external_link(file, tmp_path):
    name = kernel(file)
    del file[name]
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.ones((3, 2), "float32")
    file[name] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")


def external_group(file, tmp_path):
    del file["weights"]
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other.create_group("weights")
    file["weights"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/weights")


def external_storage(file, tmp_path):
    (tmp_path / "secret").write_bytes(b"x" * 24)
    name = kernel(file)
    del file[name]
    storage = [(str(tmp_path / "secret"), 0, 24)]
    file.create_dataset(name, (3, 2), "float32", external=storage).attrs["dtype"] = "float32"


def virtual_storage(file, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.ones((3, 2), "float32")
    layout = h5py.VirtualLayout((3, 2), "float32")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (3, 2))
    name = kernel(file)
    del file[name]
    file.create_virtual_dataset(name, layout).attrs["dtype"] = "float32"


def never_written(file, tmp_path):
    file.create_dataset("weights/huge", (2**20, 2**20), "float32").attrs["dtype"] = "float32"


def compressed(file, tmp_path):
    name = kernel(file)
    del file[name]
    file.create_dataset(name, data=np.zeros((3, 2), "float32"), compression="gzip")


def two_names(file, tmp_path):
    file["weights/again"] = file[kernel(file)]


def circle(file, tmp_path):
    file["weights/self"] = file["weights"]


def deep_groups(file, tmp_path):
    file.create_group("weights/" + "/".join("a" * 300))


def named_type(file, tmp_path):
    file["weights/type"] = np.dtype("float32")


def objects(file, tmp_path):
    text = h5py.string_dtype()
    file.create_dataset("weights/text", data="x" * 100, dtype=text).attrs["dtype"] = "float32"


def no_group(file, tmp_path):
    del file["weights"]
    file["weights"] = np.zeros(3, "float32")


def config_is_a_group(file, tmp_path):
    del file["config"]
    file.create_group("config")


def json_text(file, text):
    del file["config"]
    data = np.frombuffer(text.encode(), np.uint8)
    dataset = file.create_dataset("config", data=data)
    dataset.attrs["dtype"] = "json"
    dataset.attrs["crc32"] = np.uint32(zlib.crc32(text.encode()))


def deep_json(file, tmp_path):
    json_text(file, "[" * 100_000 + "]" * 100_000)


def no_json(file, tmp_path):
    json_text(file, "{")


def json_of_something_else(file, tmp_path):
    json_text(file, json.dumps([1, 2]))


def flipped_bit(file, tmp_path):
    file[kernel(file)][0] = 7.0


ATTACKS = [
    soft_link,
    external_link,
    external_group,
    external_storage,
    virtual_storage,
    never_written,
    compressed,
    two_names,
    circle,
    deep_groups,
    named_type,
    objects,
    no_group,
    config_is_a_group,
    deep_json,
    no_json,
    json_of_something_else,
    flipped_bit,
]
ABOUT_THE_CONFIG = {config_is_a_group, deep_json, no_json, json_of_something_else}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_files_that_attack_are_refused(attack, model, path, tmp_path):
    with h5py.File(path, "r+") as file:
        attack(file, tmp_path)
    with open(path, "r+b", buffering=0) as file:
        seal.write(file, [])
    with pytest.raises(keras.saving.LoadError, match=r"model\.h5"):
        keras.models.load_model(path)
    if attack in ABOUT_THE_CONFIG:
        return
    before = [variable.numpy() for variable in model.variables]
    with pytest.raises(keras.saving.LoadError, match=r"model\.h5"):
        model.load_weights(path)
    for variable, expected in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable, expected)
