"""1.3: what a sealed file may ask for: work, memory and time without end, from a few KB."""

import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import tfkit
from tests.attacks import configs, files
from tests.attacks.configs import graph, in_file, input_entry
from tests.attacks.harness import Case
from tests.attacks.payloads import function, thing

LONG = "\x1b[2J" + "n" * 60_000


def tensor(name: str, call: int = 0) -> Any:
    config = {"shape": [None, 3], "dtype": "float32", "keras_history": [name, call, 0]}
    return {"class_name": "__keras_tensor__", "config": config}


def levels(count: int, shape: Callable[[int], list]) -> Any:
    """Models each of which calls the one below twice."""
    model = {
        **thing("keras.layers", "Activation", {"activation": "relu", "name": "a"}),
        "name": "a",
    }
    for level in range(count):
        name = model["name"]
        entry = thing("keras.layers", "InputLayer", {"batch_shape": shape(level), "name": "i"})
        calls = [{"args": [it], "kwargs": {}} for it in (tensor("i"), tensor(name))]
        config = {
            "name": f"m{level}",
            "layers": [
                {**entry, "name": "i", "inbound_nodes": []},
                {**model, "inbound_nodes": calls},
            ],
            "input_layers": [["i", 0, 0]],
            "output_layers": [[name, 1, 0]],
        }
        model = {**thing("keras.models", "Functional", config), "name": f"m{level}"}
    return model


def op(name: str, shape: list, args: list, **kwargs: Any) -> Any:
    """A functional model that calls a function of `ops` on its input."""
    config = graph(function("builtins", name))["config"]
    config["layers"][0]["config"]["batch_shape"] = shape
    config["layers"][1]["inbound_nodes"] = [{"args": [tensor("i"), *args], "kwargs": kwargs}]
    return thing("keras.models", "Functional", config)


def layer(name: str, shape: list, **config: Any) -> Any:
    entry = thing("keras.layers", "InputLayer", {"batch_shape": shape})
    layers = [entry, thing("keras.layers", name, config)]
    return thing("keras.models", "Sequential", {"layers": layers})


def convolution(**config: Any) -> Any:
    return layer("Conv2D", [None, 9, 9, 3], **{"filters": 2, "kernel_size": 2, **config})


def stack(*layers: Any) -> Any:
    return thing("keras.models", "Sequential", {"layers": [input_entry(), *layers]})


CONFIGS: dict[str, Callable[[], Any]] = {
    "levels": lambda: levels(40, lambda level: [None, 3]),
    "levels_of_other_shapes": lambda: levels(40, lambda level: [level + 1, 3]),
    "levels_of_other_shapes_15": lambda: levels(15, lambda level: [level + 1, 3]),
    "split": lambda: op("split", [None, 10**7], [10**7], axis=1),
    "split_at_places": lambda: op("split", [None, 10**6], [list(range(100_000))], axis=1),
    "array_split": lambda: op("array_split", [None, 10**9], [10**9], axis=1),
    "unstack": lambda: op("unstack", [None, 10**7], [], axis=1),
    "stack": lambda: op("stack", [10**7, 3], []),
    "diff": lambda: op("diff", [None, 10**9], [10**8]),
    "diff_of_unknown": lambda: op("diff", [None, None], [10**8]),
    "pools": lambda: op("adaptive_max_pool", [None, 10**7, 3], [10**7]),
    "unrolled": lambda: layer("SimpleRNN", [None, 10**7, 3], units=1, unroll=True),
    "strides": lambda: convolution(strides=10**7, padding="same"),
    "dilation": lambda: convolution(dilation_rate=10**7),
    "kernel": lambda: convolution(kernel_size=10**6),
    "filters": lambda: convolution(filters=10**9),
    "pool": lambda: layer("MaxPooling2D", [None, 9, 9, 3], pool_size=10**7, padding="same"),
    "padding": lambda: layer("ZeroPadding2D", [None, 9, 9, 3], padding=10**9),
    "up": lambda: layer("UpSampling2D", [None, 9, 9, 3], size=10**9),
    "repeat": lambda: layer("RepeatVector", [None, 3], n=10**9),
    "all_outputs": lambda: layer("GRU", [None, 4, 3], units=1, return_sequences=10**8),
    "units": lambda: layer("LSTM", [None, 4, 3], units=10**9),
    "layers": lambda: stack(*[thing("keras.layers", "Flatten", {})] * 30_000),
    "long_class": lambda: stack(thing("keras.layers", LONG, {})),
    "long_name": lambda: stack(thing("keras.layers", "Flatten", {"name": LONG})),
    "long_activation": lambda: stack(configs.dense(activation="a" * 5_000_000)),
    "unknown_tokens": lambda: layer(
        "StringLookup", [None], num_oov_indices=10**8, vocabulary=["a"]
    ),
    "unknown_integers": lambda: layer(
        "IntegerLookup", [None], num_oov_indices=2**62, vocabulary=[1]
    ),
    # Python would look for a module of this name.
    "encoding": lambda: layer("StringLookup", [None], encoding="punycode", vocabulary=["a"]),
    "encoding_of_texts": lambda: layer(
        "TextVectorization", [None, 1], encoding=LONG, vocabulary=["a"]
    ),
    "long_equation": lambda: stack(
        thing("keras.layers", "EinsumDense", {"equation": "a" * 500_000, "output_shape": 3})
    ),
}
TEXTS = {
    "digits": lambda: '{"class_name": "Dense", "config": {"units": ' + "9" * 4_000 + "}}",
    "lists": lambda: "[" + "[]," * 5_000_000 + "1]",
    "floats": lambda: "[" + "1.5," * 5_000_000 + "1]",
    "long_key": lambda: json.dumps({LONG: 1}),
    "key_twice": lambda: "{" + "".join(f'"{n}":1,' for n in range(400_000)) + '"399999":2}',
    "long_text": lambda: '"' + "\x1b" + "a" * 20_000_000 + '"',
}


def _holes(name: str, write: Callable[[Path], None]) -> Callable[[Path], Path]:
    def prepare(folder: Path) -> Path:
        write(folder / name)
        os.truncate(folder / name, 512 << 20)
        return folder / name

    return prepare


def _keras_h5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["layers/d/vars/0"] = np.zeros((3, 2), "float32")


def _archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")


def _directory(folder: Path) -> Path:
    """An archive of 500,000 members, of which only the directory is there."""
    entry = b"PK\1\2" + bytes(24) + struct.pack("<H", 1) + bytes(16) + b"a"
    count = 500_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, 47 * count, 0, 0)
    (folder / "x.keras").write_bytes(b"PK\3\4" + entry * count + end)
    return folder / "x.keras"


FILES = {
    "holes_own": ("x.h5", _holes("x.h5", files.saved)),
    "holes_keras": ("x.keras", _holes("x.keras", _archive)),
    "holes_hdf5": ("x.h5", _holes("x.h5", _keras_h5)),
    "directory": ("x.keras", _directory),
}


def warm_up(folder: Path) -> None:
    """Everything that loads lazily, before the guard is on."""
    configs.warm_up(folder)
    for make in (
        lambda: op("split", [None, 4], [2], axis=1),
        lambda: levels(2, lambda _: [None, 3]),
    ):
        tfkit.models.model_from_json(json.dumps(make()))
    for make in (convolution, lambda: layer("MaxPooling2D", [None, 9, 9, 3])):
        tfkit.models.model_from_json(json.dumps(make()))
    tfkit.models.model_from_json(json.dumps(layer("SimpleRNN", [None, 2, 3], units=1, unroll=True)))


def cases() -> dict[str, Case]:
    """Each in a file and as a text."""
    found = {}
    for name, make in CONFIGS.items():
        found[f"{name}-load_model"] = in_file(lambda make=make: (make(), None))
    for name, make in TEXTS.items():
        found[f"{name}-model_from_json"] = Case(
            lambda _, make=make: make(), tfkit.models.model_from_json
        )
    for name, (file, prepare) in FILES.items():
        found[f"{name}-load_model"] = Case(prepare, tfkit.saving.load_model, file)
        found[f"{name}-inspect"] = Case(prepare, lambda p: files.command("inspect", p), file)
    return found
