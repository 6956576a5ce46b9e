"""Converts configurations of Keras 3 to configurations of tfkit, and back. Both are plain data."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.graph_form import check_graph, map_references
from tfkit.src.core.building import ADAPTED
from tfkit.src.files.interop import keras_ops
from tfkit.src.files.saving.errors import LoadError

# Keras ignores keys that it does not know. This one marks names that no user has given: paths of weights do
# not contain them, and weights of the model that was saved must fit the one that is loaded.
_AUTO_NAMED = "tfkit_auto_named"
Reference = list[Any]  # A tensor: name of a layer, index of its call, index of the output.


# --- From Keras ---------------------------------------------------------------------------------------


def from_keras(config: Any) -> Any:
    """Returns a configuration of Keras 3 in tfkit's form.

    Raises:
        LoadError: for a Lambda layer whose function is stored as code.
    """
    if isinstance(config, list):
        return [from_keras(item) for item in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "__slice__":
        parts = config["config"]
        return {**config, "config": [from_keras(parts[key]) for key in ("start", "stop", "step")]}
    if config.get("class_name") == "Lambda":
        config = {**config, "config": _without_code(config["config"])}
    if config.get("class_name") == "__lambda__":
        raise LoadError(
            "A function is stored as Python code (a lambda), which is never run. Write it with `def`, "
            "decorate it with `@tfkit.saving.register_keras_serializable()`, and save the model again."
        )
    result = {key: from_keras(value) for key, value in config.items() if key != "compile_config"}
    if _AUTO_NAMED in result:
        result["auto_named"] = result.pop(_AUTO_NAMED) is True
    if isinstance(config.get("compile_config"), dict) and config["compile_config"]:
        # Of a model in a model; if that is not compiled, it is empty or missing.
        result["compile_config"] = compile_from_keras(config["compile_config"])
    if _is_built_by_calls(config) and not _has_adapted_parts(config):
        result.pop("build_config", None)  # The calls around tfkit's own layers build them.
    if _is_graph(result.get("config")):
        result["config"] = _graph_from_keras(result["config"])
    for entry, layer in _built_alone(config, result):
        entry["build_config"] = from_keras(layer["build_config"])
    return result


def is_of_keras(config: Any) -> bool:
    """Whether the configuration of a functional or Sequential model is Keras's: tfkit's contains more."""
    inner = config.get("config") if isinstance(config, dict) else None
    layers = inner.get("layers") if isinstance(inner, dict) else None
    return isinstance(layers, list) and not any(
        isinstance(layer, dict) and "auto_named" in layer for layer in layers
    )


def _is_built_by_calls(config: dict[str, Any]) -> bool:
    """Whether an object is one of Keras's own, which are built without a build config.

    A feature space has one: in Keras, a build config means that it was adapted.
    """
    is_own = str(config.get("module")).partition(".")[0] == "keras"
    return is_own and config.get("class_name") != "FeatureSpace"


def _has_adapted_parts(config: dict[str, Any]) -> bool:
    """Whether a build config has entries for parts, such as integers in attention; Keras ignores them."""
    build_config = config.get("build_config")
    return isinstance(build_config, dict) and ADAPTED in build_config


def _built_alone(config: dict[str, Any], result: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Returns the layers in `result` that no call builds, each with its original configuration.

    They belong to a Sequential model that has no input yet.
    """
    inner = config.get("config")
    if config.get("class_name") != "Sequential" or not isinstance(inner, dict):
        return []
    layers = inner.get("layers")
    if "build_input_shape" in inner or not isinstance(layers, list):
        return []
    pairs = zip(result["config"]["layers"], layers, strict=True)
    return [pair for pair in pairs if isinstance(pair[1], dict) and "build_config" in pair[1]]


def _without_code(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration of a Lambda layer, with its function by name."""
    function = config.get("function")
    if not isinstance(function, dict) or function.get("class_name") != "__lambda__":
        return config
    name = str(config.get("name"))
    for candidate in (name, f"Custom>{name}"):
        if registry.get_registered_object(candidate) is not None:
            return {**config, "function": {"class_name": "function", "config": candidate}}
    raise LoadError(
        f"Lambda layer {quoted(name)} holds its function as marshalled Python code, which is never run. "
        "Write the function with `def`, and register it by the layer's name before loading: "
        f"`@tfkit.saving.register_keras_serializable(name={quoted(name)})`, or pass "
        f"`custom_objects={{{quoted(name)}: function}}`."
    )


def _is_graph(config: Any) -> bool:
    return isinstance(config, dict) and {"layers", "input_layers", "output_layers"} <= set(config)


def _graph_from_keras(config: dict[str, Any]) -> dict[str, Any]:
    check_graph(config)
    entries = []
    for entry in config["layers"]:
        calls = [
            {"args": call["args"], "kwargs": _without_defaults(call["kwargs"])}
            for call in entry["inbound_nodes"]
        ]
        entry = {**entry, "inbound_nodes": calls}
        entries.append(keras_ops.from_keras(entry) if keras_ops.is_op(entry) else entry)
    return {**config, "layers": entries, **_shifted(config, -1)}


def _without_defaults(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call without those that Keras adds to each, and sets at run time."""
    added = {"training": (None, False), "mask": (None,)}
    return {
        key: value
        for key, value in kwargs.items()
        if not (value is None and key.endswith("_mask"))
        and not any(value is default for default in added.get(key, ()))
    }


def _shifted(config: dict[str, Any], step: int) -> dict[str, Any]:
    """Returns inputs and outputs shifted, because Keras counts the calls of functional models from 1."""
    models = {entry["name"] for entry in config["layers"] if _is_graph(entry.get("config"))}

    def shift(reference: Reference) -> Reference:
        name, call, output = reference
        # A functional model has been called once when it was made: Keras counts this as call 0.
        return [name, call + step if name in models else call, output]

    return {key: map_references(config[key], shift) for key in ("input_layers", "output_layers")}


def compile_from_keras(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `compile` of Keras 3."""
    result = dict(from_keras(config))
    if result.get("jit_compile") is False:
        result["jit_compile"] = "auto"  # Keras makes False of it on CPU.
    return {"optimizer": None, **result}


# --- To Keras -----------------------------------------------------------------------------------------

_INTERNAL = {"Functional": "keras.src.models.functional"}


def to_keras(config: Any) -> Any:
    """Returns a configuration of tfkit in Keras 3's form.

    Raises:
        TypeError: for objects that have no form in Keras.
    """
    if isinstance(config, (list, tuple)):
        return [to_keras(item) for item in config]
    if not isinstance(config, dict):
        return config
    if not all(isinstance(key, str) for key in config):
        raise TypeError(
            "Cannot write a configuration with a dict whose keys are not all strings to a `.keras` file. "
            f"Received: {quoted(config)}. Save to `.h5`, or use strings."
        )
    class_name = config.get("class_name")
    if class_name == "__slice__":
        parts = dict(zip(("start", "stop", "step"), config["config"], strict=True))
        return {"class_name": "__slice__", "config": parts}
    result = {key: to_keras(value) for key, value in config.items() if key != "auto_named"}
    if config.get("auto_named") is True:
        result[_AUTO_NAMED] = True
    if class_name in _INTERNAL and str(config.get("module")).startswith("keras"):
        result |= {"module": _INTERNAL[class_name], "registered_name": class_name}
    if isinstance(config.get("compile_config"), dict):
        result["compile_config"] = compile_to_keras(config["compile_config"])
    if "build_config" in config:
        if _is_built_by_calls(config) and not _has_adapted_parts(config):
            result.pop("build_config")
        else:
            result["build_config"] = _build_config_to_keras(config["build_config"])
    if _is_graph(result.get("config")):
        result["config"] = _graph_to_keras(result["config"])
    for entry, layer in _built_alone(config, result):
        entry["build_config"] = _build_config_to_keras(layer["build_config"])
    return result


def _build_config_to_keras(build_config: dict[str, Any]) -> Any:
    """Returns the shapes that a layer was built with in Keras's form."""
    if "call" not in build_config:
        return to_keras(build_config)
    # Keras ignores it, and tfkit needs it: shapes do not show that inputs are strings.
    kept = {key: value for key, value in build_config.items() if key != "call"}
    if _has_strings(build_config["call"]):
        kept["call"] = to_keras(build_config["call"])
    shapes = {name: _shapes(spec) for name, spec in build_config["call"].items()}
    shapes = {name: shape for name, shape in shapes.items() if shape is not None}
    if len(shapes) == 1:
        return {"input_shape": next(iter(shapes.values())), **kept}
    return {**kept, "shapes_dict": {f"{name}_shape": shape for name, shape in shapes.items()}}


def _has_strings(spec: Any) -> bool:
    """Whether one of the specs of a call is a spec of strings."""
    if isinstance(spec, dict):
        return spec.get("dtype") == "string" or any(map(_has_strings, spec.values()))
    return isinstance(spec, (list, tuple)) and any(map(_has_strings, spec))


def _shapes(spec: Any) -> Any:
    if isinstance(spec, dict) and set(spec) == {"shape", "dtype"}:
        return to_keras(spec["shape"])
    if isinstance(spec, dict):
        return {key: _shapes(value) for key, value in spec.items()}
    return [_shapes(item) for item in spec] if isinstance(spec, (list, tuple)) else None


def _graph_to_keras(config: dict[str, Any]) -> dict[str, Any]:
    functions = [entry["class_name"] == "function" for entry in config["layers"]]
    entries = [
        keras_ops.to_keras(entry) if is_function else entry
        for entry, is_function in zip(config["layers"], functions, strict=True)
    ]
    for entry in entries:
        if entry["class_name"] == "InputLayer":
            # Keras records no call of an input; tfkit has one without arguments.
            entry["inbound_nodes"] = []
    return {**config, "layers": entries, **_shifted(config, 1)}


def compile_to_keras(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `compile` in Keras 3's form."""
    result = to_keras(config)
    if result.get("steps_per_execution", 0) is None:
        result["steps_per_execution"] = 1
    if result.get("auto_scale_loss"):
        result.pop("auto_scale_loss")  # It is the default, which Keras does not write.
    result.pop("engine", None)  # Keras chooses its backend elsewhere.
    return dict(result)
