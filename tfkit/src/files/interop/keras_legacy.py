"""Weights in the `.h5` format of Keras 2, which Keras 3 still writes.

There is a group for each layer, with names that an attribute lists in order: the trained ones, then
the others. Layers are in the order of `model.layers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base.quoting import quoted, shown
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop import keras_legacy_order, keras_matching
from tfkit.src.files.interop.keras_hdf5 import KerasReader
from tfkit.src.files.interop.keras_matching import Plan
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.optimizers.base import Optimizer

OPTIMIZER = "optimizer_weights"
_TOP = "top_level_model_weights"
_NAMES = "weight_names"


def is_legacy(reader: KerasReader) -> bool:
    """Whether a file has layers by name, and their weights by lists of names."""
    return _root(reader) is not None


def is_old(reader: KerasReader) -> bool:
    """Whether Keras 2 or an older version wrote the file."""
    version = reader.attribute(group_of(reader), "keras_version")
    return not str(version).startswith("3")


def _root(reader: KerasReader) -> str | None:
    for group in ("model_weights", ""):
        # A list of names that is too long for one attribute begins in `layer_names0`.
        if any(reader.attribute(group, f"layer_names{part}") is not None for part in ("", 0)):
            return group
    return None


def group_of(reader: KerasReader) -> str:
    """Returns the group that has the weights."""
    return _root(reader) or ""


def plan(
    reader: KerasReader, model: ModelLike, rename: Mapping[str, str] | None, same_order: bool
) -> Plan:
    """Returns the datasets of all variables of a model.

    Args:
        reader: the file.
        model: the model.
        rename: paths in the model by name of a group, for layers that have a different name there.
        same_order: whether the model has its layers in the order of the file.

    Raises:
        LoadError: if layers do not match, or several orders fit.
    """
    root = group_of(reader)
    inside = f"{root}/" if root else ""
    stored = {
        name: reader.names(f"{inside}{name}", _NAMES) for name in reader.names(root, "layer_names")
    }
    stored = {name: names for name, names in stored.items() if names}
    layers = {
        id(layer): layer for layer in getattr(model, "layers", []) if tracking.named_state(layer)
    }
    layers = {key: layer for key, layer in layers.items() if layer.weights}
    matched = _matched_layers(
        reader, model, list(stored), list(layers.values()), rename, same_order
    )
    result = Plan()
    for name, layer in matched.items():
        group, labels = f"{inside}{name}", stored[name]
        ordered = keras_legacy_order.in_order(reader, group, labels, layer, same_order)
        _add(result, group, labels, ordered, reader)
    own = tracking.own_weights(model)
    top = reader.names(f"{inside}{_TOP}", _NAMES)
    if own or top:
        _add(result, f"{inside}{_TOP}", top, own, reader)
    return result


def _matched_layers(
    reader: KerasReader,
    model: ModelLike,
    names: list[str],
    layers: list[Layer],
    rename: Mapping[str, str] | None,
    same_order: bool,
) -> dict[str, Layer]:
    by_path = dict(tracking.named_layers(model))
    unknown = [path for path in (rename or {}).values() if path not in by_path]
    if unknown:
        raise LoadError(
            f"File {reader.path}: `rename` names {unknown[0]!r}, which is not a layer of the model. Expected "
            f"one of {[*filter(None, by_path)]}"
        )
    known = {name: by_path[path] for name, path in (rename or {}).items() if name in names}
    names = [name for name in names if name not in known]
    layers = [layer for layer in layers if all(layer is not other for other in known.values())]
    by_name = keras_matching.match_names(layers, {name: name for name in names})
    if by_name is not None and len(by_name) == len(names):
        return known | {by_name[id(layer)]: layer for layer in layers}
    if len(names) != len(layers):
        raise LoadError(
            f"File {reader.path} does not fit the model; nothing was loaded: it has {len(names)} layers with "
            f"weights, {quoted(names)}, and the model {len(layers)}: {[layer.name for layer in layers]}"
        )
    # The order of layers in a graph is fixed: equal shapes cannot be exchanged.
    in_graph = getattr(model, "_tfkit_graph", None) is not None
    pairs: list[tuple[str, Any]] = list(zip(names, layers, strict=True))
    unclear = []
    if not (in_graph or same_order):
        unclear = keras_matching.same_shapes(pairs, any_width=True)  # Because floats may be cast.
    if unclear:
        paths = {id(layer): path for path, layer in by_path.items()}
        raise LoadError(
            keras_matching.unclear_message(
                reader.path, [[(n, paths[id(v)]) for n, v in alike] for alike in unclear]
            )
        )
    return known | dict(pairs)


def _add(
    result: Plan, group: str, names: list[str], weights: list[tf.Variable], reader: KerasReader
) -> None:
    """Adds the weights of a layer: in the file's order, or by their names if these differ."""
    if len(names) != len(weights):
        raise LoadError(
            f"File {reader.path} does not fit the model; nothing was loaded: `{shown(group)}` has "
            f"{len(names)} "
            f"weights, {quoted(names)}, and the model {len(weights)}: {[_label(w) for w in weights]}"
        )
    # `dense/kernel:0` becomes `kernel`.
    stored = [name.rpartition("/")[2].partition(":")[0] for name in names]
    labels = [_label(weight) for weight in weights]
    # Versions of Keras made weights in different orders; names decide if they are the same set.
    if stored != labels and sorted(stored) == sorted(labels) and len(set(labels)) == len(labels):
        weights = [weights[labels.index(label)] for label in stored]
    for name, weight in zip(names, weights, strict=True):
        result.variables[f"{group}/{name}"] = weight


def _label(weight: tf.Variable) -> str:
    return getattr(weight, "label", "")


# --- The optimizer --------------------------------------------------------------------------------------


def optimizer_variables(reader: KerasReader, optimizer: Optimizer) -> dict[str, tf.Variable]:
    """Returns an optimizer's variables by path.

    Raises:
        LoadError: for an optimizer of an old Keras whose variables have a different meaning.
    """
    names = reader.names(OPTIMIZER, _NAMES)
    variables = list(optimizer.variables)
    if is_old(reader):
        # In Keras 2 the learning rate is not a variable.
        variables = [v for v in variables if v is not getattr(optimizer, "_learning_rate", None)]
        names = names[:1] if _has_idle_slots(optimizer) else _interleaved(names)
    if len(names) != len(variables):
        raise LoadError(
            f"File {reader.path}: its optimizer has {len(names)} variables, {quoted(names)}. Expected "
            f"{len(variables)}, as {type(optimizer).__name__} has them."
        )
    return {f"{OPTIMIZER}/{name}": v for name, v in zip(names, variables, strict=True)}


def unused(reader: KerasReader, optimizer: Optimizer) -> tuple[str, ...]:
    """Returns path prefixes of state that has no meaning."""
    old = is_old(reader) and _has_idle_slots(optimizer)
    return (f"{OPTIMIZER}/{optimizer.name}/m/",) if old else ()


def _has_idle_slots(optimizer: Optimizer) -> bool:
    """Whether Keras 2 has a momentum for each weight, which is always zero."""
    return type(optimizer).__name__ == "SGD" and not optimizer.momentum


def _interleaved(names: list[str]) -> list[str]:
    """Returns names of slots grouped by weight.

    Before Keras 2.11 the two slots of Adam, `Adam/dense/kernel/m:0`, were sorted by kind.
    """
    slots = [name.rpartition("/")[2] for name in names[1:]]
    half = len(slots) // 2
    if slots[:half] != ["m:0"] * half or slots[half:] != ["v:0"] * half:
        return names
    pairs = zip(names[1 : 1 + half], names[1 + half :], strict=True)
    return [names[0], *(name for pair in pairs for name in pair)]
