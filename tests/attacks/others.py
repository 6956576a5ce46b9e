"""Attacks that are no HDF5 file of tfkit's: names of files, folders, indexes of shards, texts, graphs."""

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

import tfkit
from tests.attacks import configs, damage, files
from tests.attacks.configs import dense, graph, in_file, input_entry, stack, write
from tests.attacks.harness import Case
from tests.attacks.payloads import PAYLOADS, function, thing

# --- S5: names of files, and what is no path --------------------


def _named(name: str, payload: str, use: Callable[[Path], Any]) -> Case:
    def prepare(folder: Path) -> Path:
        return write(folder / name, stack(PAYLOADS[payload]()))

    return Case(prepare, use, name)


def s5() -> dict[str, Case]:
    found = {}
    for name in ("x.h5", "x.hdf5", "x.keras", "x", "x.weights.h5", "x.zip", "x.weights.json"):
        for payload in ("s1_lambda_of_keras_2", "s1_lambda_of_keras_3", "s2_class_os.system"):
            for entry, use in (*files.MODELS.items(), ("load_weights", files.load_weights)):
                found[f"s5_{name}_{payload}-{entry}"] = _named(name, payload, use)

    def opened(folder: Path) -> Any:
        return h5py.File(write(folder / "x.h5", stack(dense())), "r")

    def read(folder: Path) -> Any:
        return write(folder / "x.h5", stack(dense())).read_bytes()

    found["s5_open_file-load_model"] = Case(opened, tfkit.saving.load_model)
    found["s5_open_file-load_weights"] = Case(opened, lambda file: files.model().load_weights(file))
    found["s5_bytes-load_model"] = Case(read, tfkit.saving.load_model)
    return found


# --- S23, S24: folders, indexes, links --------------------


def _folder(folder: Path) -> Path:
    for name in ("_CHECKPOINT_METADATA", "_METADATA", "config.json", "saved_model.pb"):
        (folder / "model.h5" / "assets").mkdir(parents=True, exist_ok=True)
        (folder / "model.h5" / name).write_text("{}")
    return folder / "model.h5"


def _index(change: Callable[[dict[str, Any], Path], None]) -> Callable[[Path], Path]:
    """An index of shards with a change, under a checksum that is right."""

    def prepare(folder: Path) -> Path:
        path = folder / "big.weights.json"
        files.model().save_weights(path, max_shard_size=1)
        index = json.loads(path.read_text())
        del index["crc32"]
        change(index, folder)
        text = json.dumps(index, sort_keys=True, separators=(",", ":"))
        path.write_text(json.dumps(index | {"crc32": zlib.crc32(text.encode())}))
        return path

    return prepare


def _shard_named(make: Callable[[str, Path], str]) -> Callable[[Path], Path]:
    def change(index: dict[str, Any], folder: Path) -> None:
        (old,) = index["shards"]
        new = make(old, folder)
        index["shards"] = {new: index["shards"][old]}
        index["weight_map"] = dict.fromkeys(index["weight_map"], new)

    return _index(change)


def _moved(old: str, folder: Path) -> str:
    (folder / "sub").mkdir()
    os.rename(folder / old, folder / "sub" / old)
    return f"sub/{old}"


def _linked(old: str, folder: Path) -> str:
    os.rename(folder / old, folder / "elsewhere")
    (folder / old).symlink_to(folder / "elsewhere")
    return old


def _set(key: str, value: Any) -> Callable[[Path], Path]:
    return _index(lambda index, _: index.__setitem__(key, value))


INDEXES = {
    "s23_up": _shard_named(lambda old, folder: f"../{folder.name}/{old}"),
    "s23_absolute": _shard_named(lambda old, folder: str(folder / old)),
    "s23_below": _shard_named(_moved),
    "s23_backslash": _shard_named(lambda old, _: f"..\\{old}"),
    "s23_null_byte": _shard_named(lambda old, _: f"{old}\0.weights.h5"),
    "s23_itself": _shard_named(lambda old, _: "big.weights.json"),
    "s23_dots": _shard_named(lambda old, _: ".."),
    "s23_address": _shard_named(lambda old, _: "http://127.0.0.1/x.weights.h5"),
    "s23_number": _set("shards", {"7": "x"}),
    "s23_list": _set("shards", ["x"]),
    "s23_no_map": _set("weight_map", {}),
    "s23_map_of_lists": _set("weight_map", {"d/kernel": ["x"]}),
    "s23_names": _set("format", ["tfkit"]),
    "s24_link": _shard_named(_linked),
}


SHARD = "00000.weights.h5"


def s23() -> dict[str, Case]:
    found = {}
    for entry, use in (*files.WEIGHTS.items(), *files.MODELS.items(), *files.READERS.items()):
        found[f"s23_folder-{entry}"] = Case(_folder, use, "model.h5")
        found[f"s24_link_to_no_model-{entry}"] = Case(_link, use, "model.h5", also="secret")
    for name, prepare in INDEXES.items():
        for entry, use in (*files.WEIGHTS.items(), *files.READERS.items()):
            found[f"{name}-{entry}"] = Case(prepare, use, "big.weights.json", also=SHARD)
    return found


def _link(folder: Path) -> Path:
    (folder / "model.h5").symlink_to(damage.secret(folder))
    return folder / "model.h5"


# --- S27: texts, and nests that are no text --------------------


def _deep(depth: int, wrap: Callable[[Any], Any], value: Any) -> Any:
    for _ in range(depth):
        value = wrap(value)
    return value


def _nested_model(depth: int) -> Any:
    return _deep(
        depth, lambda model: thing("keras.models", "Sequential", {"layers": [model]}), dense()
    )


TEXTS = {
    "s27_lists": lambda: "[" * 100_000 + "]" * 100_000,
    "s27_dicts": lambda: '{"a":' * 100_000 + "1" + "}" * 100_000,
    "s27_digits": lambda: "1" * 10_000_000,
    "s27_digits_of_a_float": lambda: "0." + "1" * 1_000_000,
    "s27_long": lambda: '"' + "a" * (1 << 26) + '"',
    "s27_million_layers": lambda: damage._MANY,
    "s27_key_twice": lambda: '{"class_name": "Dense", "class_name": "Flatten", "config": {}}',
    "s27_empty": lambda: "",
    "s27_number": lambda: "3",
    "s27_null": lambda: "null",
    "s27_units": lambda: json.dumps(stack(dense(units=2**40))),
    "s27_two_to_the_70": lambda: json.dumps(stack(dense(units=2**70))),
    "s27_nan": lambda: json.dumps(stack(dense(units=float("nan")))),
}

NESTS = {
    "s27_deep_argument": lambda: dense(units=_deep(100_000, lambda value: [value], 1)),
    "s27_deep_dict": lambda: dense(units=_deep(100_000, lambda value: {"a": value}, 1)),
    "s27_deep_wrappers": lambda: _deep(
        2_000, lambda layer: thing("keras.layers", "TimeDistributed", {"layer": layer}), dense()
    ),
    "s27_deep_models": lambda: _nested_model(2_000),
    "s27_states": lambda: stack_of(
        thing("keras.layers", "InputLayer", {"batch_shape": [2**40, 4, 3]}),
        thing("keras.layers", "LSTM", {"units": 2, "stateful": True}),
    ),
    "s27_unrolled": lambda: stack_of(
        thing("keras.layers", "InputLayer", {"batch_shape": [None, 10**9, 3]}),
        thing("keras.layers", "SimpleRNN", {"units": 1, "unroll": True}),
    ),
    "s27_function_without_tensors": lambda: calls("zeros", [[2**14, 2**14]]),
    "s27_function_without_arguments": lambda: calls("zeros", []),
    "s27_calls_in_a_circle": lambda: calls("relu", [reference("p")]),
    "s27_no_such_output": lambda: calls("relu", [reference("i", 0, 7)]),
    "s27_setter_in_a_graph": lambda: calls("set_floatx", ["float16"]),
}


def stack_of(*layers: Any) -> Any:
    return thing("keras.models", "Sequential", {"layers": list(layers)})


def reference(name: str, call: int = 0, output: int = 0) -> Any:
    config = {"shape": [None, 3], "dtype": "float32", "keras_history": [name, call, output]}
    return {"class_name": "__keras_tensor__", "config": config}


def calls(name: str, args: list[Any]) -> Any:
    """A functional model that calls a function with these arguments, and nothing else."""
    config = graph(function("builtins", name))["config"]
    config["layers"][1]["inbound_nodes"] = [{"args": args, "kwargs": {}}]
    return thing("keras.models", "Functional", config)


def s27() -> dict[str, Case]:
    found = {}
    for name, make in TEXTS.items():
        found[f"{name}-model_from_json"] = Case(
            lambda _, make=make: make(), tfkit.models.model_from_json
        )
    for name, make in NESTS.items():
        found[f"{name}-deserialize"] = Case(
            lambda _, make=make: make(), tfkit.saving.deserialize_keras_object
        )
        if "deep" not in name:
            found[f"{name}-load_model"] = in_file(lambda make=make: (make(), None))
    metrics = {
        "MeanIoU": {"num_classes": 10_000},
        "AUC": {"num_thresholds": 10**6, "multi_label": True, "num_labels": 100},
    }
    for name, config in metrics.items():
        metric = thing("keras.metrics", name, config)
        compiled = {"optimizer": configs.SGD, "loss": "mse", "metrics": [metric]}
        found[f"s27_{name}-load_model"] = in_file(
            lambda compiled=compiled: (stack(dense()), compiled)
        )
    return found


# --- Names of layers in a file that are read --------------------


def s22() -> dict[str, Case]:
    def prepare(folder: Path, names: Any) -> Path:
        path = files.saved(folder / "model.h5")
        with h5py.File(path, "r+") as file:
            damage.json_text(file, json.dumps(names), "names")
        with open(path, "r+b", buffering=0) as raw:
            damage.seal.write(raw, [])
        return path

    found = {}
    for name, names in {"list": [1], "numbers": {"d": 7}, "up": {"../../d": "../x"}}.items():
        found[f"s22_names_{name}-by_name"] = Case(
            lambda folder, names=names: prepare(folder, names),
            lambda path: files.load_weights(path, by_name=True),
            "model.h5",
        )
    return found


def warm_up(folder: Path) -> None:
    """Everything that loads lazily, before the guard is on."""
    configs.warm_up(folder)
    files.warm_up(folder)
    path = folder / "big.weights.json"
    files.model().save_weights(path, max_shard_size=1)
    for use in (*files.WEIGHTS.values(), *files.READERS.values()):
        use(path)
    batch = thing("keras.layers", "InputLayer", {"batch_shape": [2, 4, 3]})
    recurrent = {"units": 2, "stateful": True, "unroll": True}
    for kind in ("LSTM", "SimpleRNN"):
        tfkit.saving.deserialize_keras_object(
            stack_of(batch, thing("keras.layers", kind, recurrent))
        )
    tfkit.models.model_from_json(json.dumps(stack_of(input_entry(), dense())))


def cases() -> dict[str, Case]:
    """All of them."""
    return s5() | s23() | s27() | s22()
