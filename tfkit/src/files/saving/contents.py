"""The contents of a model file: weights, optimizer and metrics by path, and the names of layers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import members
from tfkit.src.base.names import escaped, free
from tfkit.src.base.protocols import Tracked
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving import entries, hdf5
from tfkit.src.layers.lora import Adaptable
from tfkit.src.metrics.named_variables import named_variables
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.optimizers.overwriting import is_overwritten

# The beginning of the paths of slots, and of what an optimizer stores itself.
_SLOTS = "slots/"
OWN_STORE = "vars/"


class Skipped:
    """Excluded objects that are neither saved nor loaded: layers with their contents, and single weights.

    Args:
        model: the model.
        objects: layers and weights, `None` for none.

    Raises:
        ValueError: for anything else.
    """

    def __init__(self, model: ModelLike | None, objects: Iterable[Any] | None) -> None:
        self._ids: set[int] = set()
        for item in objects or ():
            if isinstance(item, Layer):
                self._ids |= {id(layer) for layer in tracking.all_layers(item)}
                self._ids |= {id(weight) for weight, _ in tracking.variables_of(item, seeds=True)}
            elif isinstance(item, tf.Variable):
                self._ids.add(id(item))
            else:
                raise ValueError(
                    "`objects_to_skip` must be a list of layers and weights. Received: "
                    f"{item!r} (of type {type(item).__name__})"
                )
        layers = tracking.named_layers(model) if model is not None and self._ids else []
        self._below = tuple(f"{path}/".lstrip("/") for path, it in layers if id(it) in self._ids)

    def __contains__(self, item: Any) -> bool:
        return id(item) in self._ids

    def is_below(self, path: str) -> bool:
        """Whether a path is below one of the layers."""
        return path.startswith(self._below)


_NOTHING = Skipped(None, None)


def model_state(model: ModelLike, skipped: Skipped = _NOTHING) -> dict[str, Any]:
    """Returns weights, states of seeds, and the values that layers store themselves, by path."""
    state: dict[str, Any] = dict(plain_state(model, skipped))
    for prefix, layer in own_stores(model, skipped):
        store: dict[str, Any] = {}
        layer.save_own_variables(store)
        for key, value in store.items():
            array = np.asarray(value)
            path = f"{prefix}{escaped(key)}"
            if array.dtype.name not in hdf5.DTYPES or path in state:
                raise ValueError(
                    f"Layer '{prefix.removesuffix('/vars/')}' (of type {type(layer).__name__}) cannot store "
                    f"{key!r} in `save_own_variables()`. Expected an array of numbers, under a key that is "
                    f"not taken. Received: {value!r}"
                )
            state[path] = array
    return state


def plain_state(model: ModelLike, skipped: Skipped = _NOTHING) -> dict[str, tf.Variable]:
    """Returns the weights and seed states by path, without those that a layer stores itself."""
    own = {id(w) for _, layer in own_stores(model) for w in tracking.own_weights(layer)}
    state = tracking.named_state(model)
    return {path: it for path, it in state.items() if id(it) not in own and it not in skipped}


def own_stores(model: ModelLike, skipped: Skipped = _NOTHING) -> list[tuple[str, Layer]]:
    """Returns the layers that define what a file stores for them, by path prefix."""
    return [
        (f"{path}/vars/".lstrip("/"), layer)
        for path, layer in tracking.named_layers(model)
        if layer not in skipped and stores_itself(layer)
    ]


def stores_itself(layer: Layer) -> bool:
    """Whether a layer defines itself what a file stores of it."""
    return (
        type(layer).save_own_variables is not Layer.save_own_variables
        or type(layer).load_own_variables is not Layer.load_own_variables
    )


def optimizer_state(model: ModelLike, optimizer: Optimizer | None = None) -> dict[str, tf.Variable]:
    """Returns the variables of an optimizer, the model's unless given, by path; none if it is not built.

    Slots of weights that the model no longer has, such as those that became integers, are left out.
    """
    optimizer = optimizer or getattr(model, "optimizer", None)
    if optimizer is None or not optimizer.built:
        return {}
    # Slots of weights that are no longer in the model have no path.
    known = {id(weight) for weight in tracking.named_weights(model).values()}
    return {
        path: variable
        for path, variable in named_slots(optimizer, model).items()
        if (weight := weight_of(variable)) is None or id(weight) in known
    }


def stored_optimizer(model: ModelLike) -> dict[str, Any]:
    """Returns what a file stores for the model's optimizer, by path: variables, or its own store."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not optimizer.built or not optimizer._tfkit_stores_itself():
        return dict(optimizer_state(model))
    store: dict[str, Any] = {}
    optimizer.save_own_variables(store)
    return {f"{OWN_STORE}{escaped(key)}": np.asarray(value) for key, value in store.items()}


def weight_of(variable: Any) -> Any:
    """Returns the weight that a slot of an optimizer belongs to; `None` for its other variables."""
    slot = getattr(variable, "slot", None)
    return None if slot is None else slot.weight


def build_as_stored(optimizer: Optimizer, model: ModelLike, stored: Iterable[str]) -> list[str]:
    """Builds an optimizer for the trained weights, and for the weights for which a file has slots.

    They differ if layers were frozen, unfrozen or changed after the last step. An optimizer that the model is
    not compiled with is built for the latter alone.

    Args:
        optimizer: an optimizer of the model.
        model: the model.
        stored: the paths of the optimizer's variables in the file.

    Returns:
        The paths of trained weights for which the file has no slots, although it has slots for others.
    """
    used = {path[len(_SLOTS) :].rpartition("/")[0] for path in stored if path.startswith(_SLOTS)}
    weights = tracking.named_weights(model)
    known = [it for path, it in weights.items() if path in used]
    if optimizer is not getattr(model, "optimizer", None):
        optimizer.build(known)
        return []
    trained = {id(weight) for weight in model.trainable_weights}
    optimizer.build([*model.trainable_weights, *(it for it in known if id(it) not in trained)])
    new = [path for path, it in weights.items() if id(it) in trained and path not in used]
    return [path for path in new if not is_overwritten(weights[path])] if used else []


def slots_of(path: str) -> str:
    """Returns the beginning of the paths of the slots of a weight."""
    return f"{_SLOTS}{path}/"


def slots_of_overwritten(model: Tracked) -> list[str]:
    """Returns the beginnings of the paths of slots that older files have, and that are not needed."""
    return [
        slots_of(path) for path, it in tracking.named_weights(model).items() if is_overwritten(it)
    ]


def inner_optimizers(model: ModelLike) -> dict[str, tuple[Optimizer, Any]]:
    """Returns a model's optimizers besides its own, by path, each with the model that has its weights.

    They are the optimizers of compiled models inside, and those in attributes, such as of two adversaries.
    """
    layers = tracking.named_layers(model)
    found: dict[str, tuple[Optimizer, Any]] = {}
    seen: set[int] = set()
    for path, layer in layers:
        optimizer = getattr(layer, "optimizer", None) if getattr(layer, "compiled", False) else None
        if isinstance(optimizer, Optimizer):
            seen.add(id(optimizer))
            if path:
                found[path] = optimizer, layer
    for path, layer in layers:
        for place, held in held_optimizers(layer):
            if id(held) not in seen:
                seen.add(id(held))
                found[f"{path}/{place}".lstrip("/")] = held, model
    return found


def held_optimizers(layer: Layer) -> Iterator[tuple[str, Optimizer]]:
    """Yields the optimizers in attributes of a layer, and in containers there, with their paths."""
    for name, value in vars(layer).copy().items():
        if type(value) not in members.PLAIN and name not in members.BOOKKEEPING:
            for path, found in members.walk(name, value, _is_owner):
                if isinstance(found, Optimizer):
                    yield path, found


def _is_owner(value: Any) -> bool:
    return isinstance(value, (Layer, members.Owner))


def inner_optimizer_states(model: ModelLike) -> dict[str, tf.Variable]:
    """Returns the variables of a model's optimizers besides its own, by path."""
    return {
        f"{path}/{name}": variable
        for path, (optimizer, owner) in inner_optimizers(model).items()
        for name, variable in optimizer_state(owner, optimizer).items()
    }


def named_slots(optimizer: Optimizer, model: Tracked) -> dict[str, tf.Variable]:
    """Returns an optimizer's variables: slots by the path of the weight that they belong to.

    `slots/dense/kernel/momentum` belongs to the weight at `dense/kernel`; a variable without a weight has
    a path like `own/iteration`, with a number if two have the same name.
    """
    paths = {id(weight): path for path, weight in tracking.named_weights(model).items()}
    state: dict[str, tf.Variable] = {}
    for variable in optimizer.variables:
        weight = paths.get(id(weight_of(variable)))
        if weight is not None:
            path = f"{slots_of(weight)}{escaped(variable.slot.name)}"
        else:
            path = f"own/{escaped(getattr(variable, 'label', 'variable'))}"
        state[free(path, state)] = variable
    return state


def metrics_state(model: ModelLike) -> dict[str, tf.Variable]:
    """Returns the variables of the metrics in attributes of layers, by path.

    Metrics that `compile` makes are not state of the model: each epoch and evaluation resets them.
    """
    state: dict[str, tf.Variable] = {}
    for path, metric in tracking.named_metrics(model):
        variables = named_variables(metric)
        state |= {f"{path}/{name}": variable for name, variable in variables.items()}
    return state


def texts(model: ModelLike) -> dict[str, dict[str, Any]]:
    """Returns what a file stores about its layers: their names, and the `lora_alpha` of layers with LoRA."""
    alphas = {
        path: layer.lora_alpha
        for path, layer in tracking.named_layers(model)
        if isinstance(layer, Adaptable) and layer.lora_enabled
    }
    return {entries.NAMES: layer_names(model), **({entries.LORA: alphas} if alphas else {})}


def layer_names(model: ModelLike) -> dict[str, str]:
    """Returns the names that users have given to sublayers, by path; names that tfkit made are left out."""
    return {
        path: layer.name
        for path, layer in tracking.named_layers(model)
        if path and not layer._tfkit_auto_named
    }


def moved_by_properties(model: ModelLike, stored: Iterable[str]) -> dict[str, str]:
    """Returns paths in the model by beginnings of stored paths, for layers whose attribute was renamed.

    A class that renames an attribute often keeps the old name as a property, `dense` for `self.encoder`. Only
    properties of users' classes are read, and only those that return a layer of the model.
    """
    layers = dict(tracking.named_layers(model._tfkit.layer))
    paths = {id(layer): path for path, layer in layers.items()}
    deepest = max(path.count("/") for path in layers) + 1
    moved: dict[str, str] = {}
    for path in stored:
        steps = path.split("/", deepest + 1)  # A path in a file may have any number of steps.
        depth = next(n for n in range(len(steps) - 1, -1, -1) if "/".join(steps[:n]) in layers)
        owner, beginning = layers["/".join(steps[:depth])], "/".join(steps[: depth + 1])
        if beginning not in moved and _is_own_property(type(owner), steps[depth]):
            with contextlib.suppress(Exception):  # The property may raise any error.
                if target := paths.get(id(getattr(owner, steps[depth]))):
                    moved[beginning] = target
    return moved


def _is_own_property(owner: type, name: str) -> bool:
    """Whether a class has a property of this name that does not come from a class of tfkit."""
    definer = next((base for base in owner.__mro__ if name in vars(base)), None)
    if definer is None or not isinstance(vars(definer)[name], property):
        return False
    return definer.__module__.partition(".")[0] not in ("tfkit", "tensorflow")
