"""Each payload through each entry point that takes a configuration, or a file that holds one."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import tfkit
from tests.attacks.harness import Case
from tests.attacks.payloads import PAYLOADS, thing
from tfkit.src.files.saving import hdf5_writing

DENSE = {"kernel": np.zeros((3, 2), "float32"), "bias": np.zeros(2, "float32")}
SGD = thing("keras.optimizers", "SGD", {"learning_rate": 0.1})


class Fields(tfkit.layers.Layer):
    """A layer whose configuration is what the attack says."""

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config

    def get_config(self):
        return self.config

    @classmethod
    def from_config(cls, config):
        return tfkit.layers.Dense.from_config(config)


@tfkit.saving.register_keras_serializable("attacks")
class Registered(tfkit.layers.Layer):
    """A class that a user has registered."""


# --- Where a configuration can stand --------------------


def layer_entry(payload: Any) -> Any:
    return payload if isinstance(payload, dict) else thing("keras.layers", "Activation", payload)


def input_entry() -> dict[str, Any]:
    return thing("keras.layers", "InputLayer", {"batch_shape": [None, 3], "name": "i"})


def stack(payload: Any) -> dict[str, Any]:
    """A `Sequential` model that has the payload as its second layer."""
    return thing("keras.models", "Sequential", {"layers": [input_entry(), layer_entry(payload)]})


def stack_after_setter(payload: Any) -> dict[str, Any]:
    """S4: first a call that would loosen the rules, then the payload."""
    setter = thing("tfkit.config", "enable_unsafe_deserialization", {})
    return thing("keras.models", "Sequential", {"layers": [setter, layer_entry(payload)]})


def graph(payload: Any, args: Any = None, kwargs: Any = None) -> dict[str, Any]:
    """A functional model that calls the payload as a layer."""
    reference = {"shape": [None, 3], "dtype": "float32", "keras_history": ["i", 0, 0]}
    tensor = {"class_name": "__keras_tensor__", "config": reference}
    call = {"args": [tensor, *(args or [])], "kwargs": kwargs or {}}
    layers = [
        {**input_entry(), "name": "i", "inbound_nodes": []},
        {**layer_entry(payload), "name": "p", "inbound_nodes": [call]},
    ]
    config = {"layers": layers, "input_layers": [["i", 0, 0]], "output_layers": [["p", 0, 0]]}
    return thing("keras.models", "Functional", config)


def dense(**fields: Any) -> dict[str, Any]:
    return thing("keras.layers", "Dense", {"units": 2, "name": "dense", **fields})


def cell(payload: Any) -> dict[str, Any]:
    return thing("keras.layers", "RNN", {"cell": payload})


def write(path: Path, config: Any, compiled: Any = None) -> Path:
    """A file of tfkit's format with these texts, and the weights of one `Dense`."""
    texts = {"config": config} | ({} if compiled is None else {"compile": compiled})
    hdf5_writing.write(path, texts, {"weights": {f"dense/{k}": v for k, v in DENSE.items()}})
    return path


# --- Entry points --------------------

_KINDS = {
    "activations": tfkit.activations,
    "constraints": tfkit.constraints,
    "dtype_policies": tfkit.dtype_policies,
    "initializers": tfkit.initializers,
    "layers": tfkit.layers,
    "losses": tfkit.losses,
    "metrics": tfkit.metrics,
    "optimizers": tfkit.optimizers,
    "regularizers": tfkit.regularizers,
    "schedules": tfkit.optimizers.schedules,
}
_FIELDS = ["activation", "kernel_initializer", "kernel_regularizer", "kernel_constraint", "dtype"]


def direct() -> dict[str, Any]:
    """Entry points that take the payload itself."""
    found: dict[str, Any] = {
        "deserialize": tfkit.saving.deserialize_keras_object,
        "Sequential": lambda p: tfkit.Sequential.from_config(stack(p)["config"]),
        "Sequential.after_setter": lambda p: tfkit.Sequential.from_config(
            stack_after_setter(p)["config"]
        ),
        "Functional": lambda p: tfkit.Model.from_config(graph(p)["config"]),
        "Functional.args": lambda p: tfkit.saving.deserialize_keras_object(
            graph(dense(), args=[p])
        ),
        "Functional.kwargs": lambda p: tfkit.saving.deserialize_keras_object(
            graph(dense(), kwargs={"training": p})
        ),
        "TimeDistributed": lambda p: tfkit.layers.TimeDistributed.from_config({"layer": p}),
        "RNN": lambda p: tfkit.layers.RNN.from_config({"cell": p}),
        "Lambda": lambda p: tfkit.layers.Lambda.from_config({"function": p}),
        "SGD": lambda p: tfkit.optimizers.SGD.from_config({"learning_rate": p}),
        "MeanMetricWrapper": lambda p: tfkit.metrics.MeanMetricWrapper.from_config({"fn": p}),
        "clone_model": lambda p: tfkit.models.clone_model(
            tfkit.Sequential([Fields({"units": 2, "activation": p})])
        ),
        "compile_from_config": lambda p: tfkit.Sequential([]).compile_from_config(
            {"optimizer": "sgd", "loss": p}
        ),
    }
    for kind, module in _KINDS.items():
        found[f"{kind}.deserialize"] = module.deserialize
        if hasattr(module, "get"):
            found[f"{kind}.get"] = module.get
    for name in _FIELDS:
        found[f"Dense.{name}"] = lambda p, name=name: tfkit.layers.Dense.from_config(
            {"units": 2, name: p}
        )
    return found


def load(path: Path) -> Any:
    return tfkit.saving.load_model(path)


FILES = {
    "stack": lambda p: (stack(p), None),
    "graph": lambda p: (graph(p), None),
    "model": lambda p: (p, None),
    "field": lambda p: (stack(dense(activation=p)), None),
    "optimizer": lambda p: (stack(dense()), {"optimizer": p, "loss": "mse"}),
    "loss": lambda p: (stack(dense()), {"optimizer": SGD, "loss": p}),
    "metrics": lambda p: (stack(dense()), {"optimizer": SGD, "loss": "mse", "metrics": [p]}),
}


def in_file(made: Any, attempt: Any = load, harmless: bool = False) -> Case:
    """A file with the texts that `made()` gives, loaded."""
    return Case(lambda folder: write(folder / "model.h5", *made()), attempt, "model.h5", harmless)


def warm_up(folder: Path) -> None:
    """Everything that loads lazily, before the guard is on."""
    path = write(folder / "model.h5", stack(dense()), {"optimizer": SGD, "loss": "mse"})
    tfkit.models.clone_model(load(path))
    write(folder / "model.h5", graph(dense()))
    load(path)
    for use in direct().values():
        with contextlib.suppress(Exception):
            use(thing("os", "system", {}))
    tfkit.layers.LSTM(2)(np.zeros((1, 2, 3)))


def cases() -> dict[str, Case]:
    """Each payload through each entry point."""
    found = {}
    for name, make in PAYLOADS.items():
        for entry, use in direct().items():
            found[f"{name}-{entry}"] = Case(lambda folder, make=make: make(), use)
        found[f"{name}-model_from_json"] = Case(
            lambda folder, make=make: json.dumps(stack(make())), tfkit.models.model_from_json
        )
        for where, made in FILES.items():
            found[f"{name}-load_model.{where}"] = in_file(lambda make=make, made=made: made(make()))
    return found
