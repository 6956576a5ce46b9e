"""What a file says of itself is cut and escaped in messages, in each reader, and in what led to an error."""

import json
import zipfile
import zlib

import h5py
import numpy as np
import pytest

import tfkit
from tests.attacks.files import command
from tests.attacks.payloads import thing
from tfkit.interop import keras as keras_files
from tfkit.src.base.quoting import cut_lines, quoted, shown
from tfkit.src.files.saving import checkpoint_file, hdf5_writing

ESCAPES = "\x1b]0;owned\x07\x1b[2J\r\u202e\x9b31m"
HOSTILE = {"escapes": ESCAPES, "long": "n" * 3_000 + ESCAPES, "lines": "a\n" * 500}


@pytest.fixture(scope="module")
def model():
    made = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="d")])
    made.compile("sgd", "mse")
    return made


def sequential(*layers):
    entry = thing("keras.layers", "InputLayer", {"batch_shape": [None, 3]})
    return thing("keras.models", "Sequential", {"layers": [entry, *layers]})


def configurations(name):
    dense = {"units": 2, "name": "d"}
    return {
        "class": sequential(thing("keras.layers", name, {})),
        "module": sequential(thing(name, "Dense", dense)),
        "registered": sequential(thing("x", "Mine", {}, name)),
        "layer": sequential(thing("keras.layers", "Dense", {**dense, "name": name})),
        "argument": sequential(thing("keras.layers", "Dense", {**dense, name: 1})),
        "value": sequential(thing("keras.layers", "Dense", {**dense, "units": name})),
        "activation": sequential(thing("keras.layers", "Dense", {**dense, "activation": name})),
        "dtype": sequential(thing("keras.layers", "Dense", {**dense, "dtype": name})),
        "lambda": sequential(thing("keras.layers", "Lambda", {"function": [name], "name": name})),
        "model": thing("keras.models", "Sequential", name),
        "list": sequential([name] * 1_000),
    }


def own(folder, name):
    """Files of tfkit's format that have the name somewhere."""
    value = np.zeros((3, 2), "float32")
    for place, config in configurations(name).items():
        hdf5_writing.write(
            folder / f"{place}.h5", {"config": config}, {"weights": {"d/kernel": value}}
        )
        yield folder / f"{place}.h5"
    path = name.replace("/", "")
    hdf5_writing.write(folder / "x.weights.h5", {}, {"weights": {path: value, f"x/{path}": value}})
    yield folder / "x.weights.h5"
    hdf5_writing.write(
        folder / "n.weights.h5", {"names": {name: name}}, {"weights": {"d/kernel": value}}
    )
    yield folder / "n.weights.h5"
    good = sequential(thing("keras.layers", "Dense", {"units": 2, "name": "d", "use_bias": False}))
    compiled = {"optimizer": name, "loss": name, "metrics": [name]}
    hdf5_writing.write(
        folder / "c.h5", {"config": good, "compile": compiled}, {"weights": {"d/kernel": value}}
    )
    yield folder / "c.h5"


def of_keras(folder, name, model):
    keras_files.save_weights(model, folder / "k.weights.h5")
    with h5py.File(folder / "k.weights.h5", "r+") as file:
        file[f"layers/{name}/vars/0"] = np.zeros(2)
        file["layers/dense/vars"].attrs["name"] = name
    yield folder / "k.weights.h5"
    for place, config in configurations(name).items():
        with zipfile.ZipFile(folder / f"{place}.keras", "w") as archive:
            archive.writestr("config.json", json.dumps(config))
            archive.writestr("model.weights.h5", (folder / "k.weights.h5").read_bytes())
        yield folder / f"{place}.keras"
    with zipfile.ZipFile(folder / "m.keras", "w") as archive:
        archive.writestr(name, "x")
    yield folder / "m.keras"
    with h5py.File(folder / "legacy.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(configurations(name)["class"])
        file["model_weights/d/w"] = np.zeros(2)
        file["model_weights"].attrs["layer_names"] = ["d", name]
        file["model_weights/d"].attrs["weight_names"] = ["w", name]
        file["model_weights"].attrs["keras_version"] = name
    yield folder / "legacy.h5"


def indexes(folder, name, model):
    path = folder / "big.weights.json"
    model.save_weights(path, max_shard_size=1)
    index = json.loads(path.read_text())
    for key, value in {
        "shards": {name: 1},
        "weight_map": {name: name},
        "format": name,
        "format_version": name,
        "names": {name: 1},
    }.items():
        changed = {**index, key: value}
        changed.pop("crc32")
        text = json.dumps(changed, sort_keys=True, separators=(",", ":"))
        path.write_text(json.dumps({**changed, "crc32": zlib.crc32(text.encode())}))
        yield path


def states(folder, name):
    document = {"description": {name: name}, "training": {name: name}, "callbacks": {name: 1}}
    checkpoint_file.write(folder / "state.h5", document, {})
    yield folder / "state.h5"


READERS = {
    "load_model": lambda path, model: tfkit.models.load_model(path),
    "load_weights": lambda path, model: model.load_weights(path),
    "by_name": lambda path, model: model.load_weights(path, by_name=True),
    "rename": lambda path, model: model.load_weights(path, rename={"x": "y"}),
    "resume": lambda path, model: model.fit(
        np.zeros((2, 3)), np.zeros((2, 2)), verbose=0, resume=path
    ),
    "inspect": lambda path, model: command("inspect", path),
    "verify": lambda path, model: command("verify", path),
    "diff": lambda path, model: command("diff", path, path),
}


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_message_obeys_a_file(kind, model, tmp_path, capsys):
    name = HOSTILE[kind]
    made = [
        *own(tmp_path, name),
        *of_keras(tmp_path, name, model),
        *states(tmp_path, name),
    ]
    told = 0
    for path in [*made, *indexes(tmp_path, name, model)]:
        for reader, read in READERS.items():
            try:
                read(path, model)
            except Exception as error:
                for one in chain(error):
                    text = str(one)
                    told += 1
                    assert len(text) < 6_000, (path.name, reader, len(text))
                    assert all(c.isprintable() or c == "\n" for c in text), (
                        path.name,
                        reader,
                        text,
                    )
    assert told > 150
    said = "".join(capsys.readouterr())
    assert all(c.isprintable() or c == "\n" for c in said)


def test_a_long_index_is_cut():
    assert shown("a" * 300) == "a" * 200 + "..."
    assert shown("\x1b" * 200).startswith("\\x1b\\x1b")
    assert quoted(["a" * 10] * 10**6).endswith("...")
    assert quoted(("a",)) == "('a',)"
    assert quoted({"a": [1, None, 2.5]}) == "{'a': [1, None, 2.5]}"
    assert quoted(10**5_000) == "<a number of 16,610 bits>"
    assert len(cut_lines("a\n" * 10**6)) < 1_000
    assert cut_lines("x\x1b\ny") == "x\\x1b\ny"
