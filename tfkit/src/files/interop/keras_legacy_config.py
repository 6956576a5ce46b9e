"""Converts configurations of Keras 2, and of Keras 3's `.h5` files, to the form of Keras 3's archives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.graph_form import map_references
from tfkit.src.files.interop import keras_config, keras_ops
from tfkit.src.files.saving.errors import LoadError

_ANY = object()
# Arguments of Keras 2 that no longer exist, with the value at which they had no effect.
_GONE = {
    "batch_input_shape": _ANY,
    "implementation": _ANY,
    "input_length": _ANY,
    "key_shape": _ANY,
    "query_shape": _ANY,
    "value_shape": _ANY,
    "softmax_robust_masking": False,
    "time_major": False,
}
_LAYERS = ("layer", "cell", "backward_layer", "forward_layer")


def model_from_keras(document: dict[str, Any], old: bool) -> dict[str, Any]:
    """Returns the configuration of a model.

    Args:
        document: the document in the file.
        old: whether Keras 2 wrote it.

    Raises:
        LoadError: for an argument that has no counterpart.
    """
    return _layer(document, old)


def _is_of_keras2(config: dict[str, Any]) -> bool:
    """Whether the configuration of a functional model has its calls in the form of Keras 2, as lists."""
    nodes = [node for entry in config["layers"] for node in entry.get("inbound_nodes", ())]
    return bool(nodes) and all(isinstance(node, list) for node in nodes)


def graph_from_keras(config: dict[str, Any]) -> dict[str, Any]:
    """Returns a functional model's configuration from `get_config()`, of Keras 2 too, in tfkit's form."""
    if not _is_of_keras2(config):
        return config
    document = model_from_keras({"class_name": "Functional", "config": config}, old=True)
    converted: dict[str, Any] = keras_config.from_keras(document)["config"]
    return converted


def _layer(entry: dict[str, Any], old: bool) -> dict[str, Any]:
    if keras_ops.is_op(entry) and "inbound_nodes" in entry:
        return entry
    name, config = entry["class_name"], entry["config"]
    if name == "Sequential":
        config = _sequential(config if isinstance(config, dict) else {"layers": config}, old)
    elif "input_layers" in config:
        name = "Functional" if name == "Model" else name
        config = _graph(config, old)
    else:
        config = _arguments(name, config, old)
    module = "keras" if name in ("Functional", "Sequential") else "keras.layers"
    return {"module": module, **entry, "class_name": name, "config": config}


def _arguments(class_name: str, config: dict[str, Any], old: bool) -> dict[str, Any]:
    result = dict(config)
    if class_name == "InputLayer" and "batch_input_shape" in config:
        result["batch_shape"] = config["batch_input_shape"]
    for key in _GONE.keys() & result.keys():
        value = result.pop(key)
        if _GONE[key] is not _ANY and value is not _GONE[key]:
            raise LoadError(
                f"Layer {quoted(config.get('name'))} (of type {class_name}) has {key}={quoted(value)}, which "
                "Keras 3 and tfkit do not have."
            )
    for key, value in result.items():
        if key in _LAYERS and isinstance(value, dict):
            result[key] = _layer(value, old)
        elif key == "cells":
            result[key] = [_layer(cell, old) for cell in value]
        elif key.endswith("_initializer") and isinstance(value, dict):
            # Keras 3 passes the dtype when an initializer is called.
            inner = {k: v for k, v in value["config"].items() if k != "dtype"}
            result[key] = {**value, "config": inner}
        elif key == "dtype" and isinstance(value, dict) and value["class_name"] == "Policy":
            result[key] = value["config"]["name"]
        elif key == "axis" and isinstance(value, list) and len(value) == 1:
            result[key] = value[0]
    if class_name == "LeakyReLU" and "alpha" in result:
        result["negative_slope"] = result.pop("alpha")
    if class_name == "Lambda":
        result = _function(result)
    return result


def _function(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a Lambda layer, its function in Keras 3's form: as code, or by name."""
    gone = ("module", "function_type", "output_shape_type", "output_shape_module")
    result = {key: value for key, value in config.items() if key not in gone}
    # The bytecode of a lambda: marked as such, and refused where it is used.
    if isinstance(result["function"], list):
        result["function"] = {"class_name": "__lambda__", "config": {}}
    elif isinstance(result["function"], str):
        result["function"] = {"class_name": "function", "config": result["function"]}
    if config.get("output_shape_type") == "raw" and result.get("output_shape") is None:
        result.pop("output_shape")
    return result


def _sequential(config: dict[str, Any], old: bool) -> dict[str, Any]:
    layers = [_layer(entry, old) for entry in config["layers"]]
    first = config["layers"][0] if config["layers"] else {}
    shape = isinstance(first.get("config"), dict) and first["config"].get("batch_input_shape")
    if shape and first["class_name"] != "InputLayer":
        dtype = first["config"].get("dtype")
        arguments = {"batch_shape": shape, "dtype": dtype if isinstance(dtype, str) else None}
        layers.insert(
            0, {"class_name": "InputLayer", "config": arguments, "module": "keras.layers"}
        )
    return {**config, "layers": layers}


# --- Calls of layers on each other's outputs ------------------------------------------------------------


def _graph(config: dict[str, Any], old: bool) -> dict[str, Any]:
    layers = [_layer(entry, old) for entry in config["layers"]]
    if not old:
        return {**config, "layers": layers}
    # In Keras 2 a model is called once when it is made.
    models = {entry["name"]: entry["class_name"] for entry in layers if _is_model(entry)}

    def tensor(reference: list[Any]) -> dict[str, Any]:
        name, call, output = reference[:3]
        history = [name, call - (name in models), output]
        return {"class_name": "__keras_tensor__", "config": {"keras_history": history}}

    def output(reference: list[Any]) -> list[Any]:
        name, call, position = reference[:3]
        return [name, call - (models.get(name) == "Sequential"), position]

    for entry in layers:
        entry["inbound_nodes"] = [_call(node, tensor) for node in entry["inbound_nodes"]]
    ends = {
        key: map_references(_single(config[key]), output)
        for key in ("input_layers", "output_layers")
    }
    return {**config, "layers": layers, **ends}


def _is_model(entry: dict[str, Any]) -> bool:
    return isinstance(entry["config"], dict) and "layers" in entry["config"]


def _single(references: Any) -> Any:
    return references[0] if isinstance(references, list) and len(references) == 1 else references


def _call(node: Any, tensor: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Returns one call of a layer: Keras 2 lists further arguments next to each tensor of the first one."""
    kwargs: dict[str, Any] = {}

    def note(reference: list[Any]) -> Any:
        if len(reference) > 3:
            kwargs.update({key: _tensors(value, tensor) for key, value in reference[3].items()})
        return tensor(reference)

    return {"args": [_single(map_references(node, note))], "kwargs": kwargs}


def _tensors(value: Any, tensor: Callable[[list[Any]], Any]) -> Any:
    if _is_reference(value):
        return tensor(value)
    if isinstance(value, list):
        return [_tensors(item, tensor) for item in value]
    return value


def _is_reference(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (3, 4)
        and isinstance(value[0], str)
        and all(type(part) is int for part in value[1:3])
    )


# --- Arguments of `compile` -----------------------------------------------------------------------------


def compile_from_keras(config: dict[str, Any], outputs: list[str] | None) -> dict[str, Any]:
    """Returns the arguments of `compile`.

    Args:
        config: the config in the file.
        outputs: the names of the outputs, which Keras 2 puts in front of names of metrics.

    Raises:
        LoadError: for a decay of the learning rate as in Keras 2.
    """
    result = {
        key: value
        for key, value in config.items()
        if key not in ("optimizer_config", "sample_weight_mode")
    }
    result["loss"] = _objects(config.get("loss"), "keras.losses")
    for key in ("metrics", "weighted_metrics"):
        metrics = _objects(config.get(key), "keras.metrics")
        if isinstance(metrics, list) and outputs is not None and len(metrics) == len(outputs) > 1:
            for metric_list, output in zip(metrics, outputs, strict=True):
                _strip_prefix(metric_list, f"{output}_")
        # Keras 2 wrote the metrics of a single output as a list of one list.
        nested = isinstance(metrics, list) and len(metrics) == 1 and isinstance(metrics[0], list)
        result[key] = metrics[0] if nested else metrics
    optimizer = config["optimizer_config"]
    arguments = {
        key: value
        for key, value in optimizer["config"].items()
        if key not in ("jit_compile", "is_legacy_optimizer", "decay")
    }
    if optimizer["config"].get("decay"):
        raise LoadError(
            f"The optimizer has decay={optimizer['config']['decay']}, which Keras 3 and tfkit do not have: "
            "load with `compile=False`, and compile with a learning rate schedule."
        )
    result["optimizer"] = {
        "module": "keras.optimizers",
        "class_name": _plain(optimizer["class_name"]),
        "config": arguments,
    }
    return result


def _plain(class_name: str) -> str:
    """Returns the name of a class of Keras's own, which Keras 2 writes as if it were registered."""
    known = registry.get_registered_object(class_name) is not None
    return class_name if known else class_name.removeprefix("Custom>")


def _objects(value: Any, module: str) -> Any:
    """Returns losses and metrics in a nest."""
    if isinstance(value, list):
        return [_objects(item, module) for item in value]
    if not isinstance(value, dict):
        return value
    if "class_name" not in value:
        return {key: _objects(item, module) for key, item in value.items()}
    config = dict(value["config"]) if isinstance(value["config"], dict) else value["config"]
    if value["class_name"] == "MeanMetricWrapper" and isinstance(config.get("fn"), str):
        config["fn"] = {"module": module, "class_name": "function", "config": config["fn"]}
    elif isinstance(config, dict):
        config.pop("fn", None)
        if config.get("reduction") == "auto":
            config["reduction"] = "sum_over_batch_size"
    return {"module": module, **value, "class_name": _plain(value["class_name"]), "config": config}


def _strip_prefix(metrics: Any, prefix: str) -> None:
    for metric in metrics if isinstance(metrics, list) else [metrics]:
        name = isinstance(metric, dict) and metric["config"].get("name")
        if isinstance(name, str):
            metric["config"]["name"] = name.removeprefix(prefix)
