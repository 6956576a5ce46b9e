"""The contents of a Keras file except the configuration: weights, the optimizer's state, seeds."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.names import free, to_snake_case
from tfkit.src.base.registry.configuration import is_ours, owner_of
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop import keras_adapted, keras_layout, keras_matching
from tfkit.src.files.interop.keras_hdf5 import KerasReader, Stored
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving.contents import weight_of
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.optimizers.overwriting import is_overwritten
from tfkit.src.weights.random import SeedGenerator

OPTIMIZER = "optimizer"
INNER = "inner_optimizer"
PARTS = "optimizers"
# Groups that Keras ignores, for data that its format does not have.
SEEDS = "tfkit/seeds"
HELD = "tfkit/optimizers"


def optimizer_variables(optimizer: Optimizer, group: str = OPTIMIZER) -> dict[str, Any]:
    """Returns an optimizer's variables by path; a wrapped one, or one of several, has its own group, too."""
    found = {f"{group}/vars/{index}": v for index, v in enumerate(optimizer.variables)}
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None:
        found |= optimizer_variables(inner, f"{group}/{INNER}")
    # Of two optimizers of one class the second is called `adam_1`.
    taken: set[str] = set()
    for part in getattr(optimizer, "optimizers", ()):
        name = free(to_snake_case(type(part).__name__), taken)
        taken.add(name)
        found |= optimizer_variables(part, f"{group}/{PARTS}/{name}")
    return found


def _stored(optimizer: Optimizer, group: str = OPTIMIZER) -> dict[str, Any]:
    """Returns what a file stores of an optimizer, by path: its variables, or what it stores itself."""
    if not optimizer._tfkit_stores_itself():
        return optimizer_variables(optimizer, group)
    store: dict[str, Any] = {}
    optimizer.save_own_variables(store)
    return {f"{group}/vars/{key}": value for key, value in store.items()}


def weights_of_held(optimizer: Optimizer, plan: keras_matching.Plan) -> np.ndarray | None:
    """Returns the weights that an optimizer updates, as indices of the sorted paths in a plan."""
    indices = {id(plan.variables[path]): index for index, path in enumerate(sorted(plan.variables))}
    found = [indices.get(id(weight)) for weight in optimizer._tfkit_untracked.variables]
    return None if not found or None in found else np.array(found, "int32")


def seeds(places: list[tuple[str, Layer]]) -> dict[str, Any]:
    """Returns the states of seed generators by path, in a group that Keras ignores."""
    return {
        f"{SEEDS}/{keras_layout.join(path, name)}": member.state
        for path, layer in places
        for name, member in layer._tfkit_members()
        if isinstance(member, SeedGenerator)
    }


def optimizers_inside(places: list[tuple[str, Layer]], variables: Iterable[str]) -> tuple[str, ...]:
    """Returns path prefixes of Keras's optimizers other than the optimizer of the outermost model.

    They belong to compiled inner models, or are in attributes, such as those of two adversaries.
    They are read with whole models alone.
    """
    groups = [f"{path}/" for path in keras_layout.held_optimizers(places)]
    for path, layer in places:
        if path and hasattr(layer, "compile_from_config"):
            groups.append(f"{path}/{OPTIMIZER}/")
    taken = tuple(variables)
    return tuple(group for group in groups if not any(name.startswith(group) for name in taken))


def optimizers_of_others(reader: KerasReader, plan: keras_matching.Plan) -> tuple[str, ...]:
    """Returns path prefixes of optimizers that the model does not hold, as its class gets them in `compile`.

    Their first variable is the number of steps; no layer of Keras begins with such a variable.
    """
    known = {path.rpartition("/")[0] for path in plan.variables} | plan.stores.keys()
    return tuple(
        f"{path.removesuffix('/0')}/"
        for path, stored in reader.datasets.items()
        if path.endswith("/vars/0")
        and stored == Stored((), "int64")
        and path.removesuffix("/0") not in known
    )


def compiled_inside(places: list[tuple[str, Layer]]) -> list[tuple[str, Any]]:
    """Returns inner models that have an optimizer, with the paths of the optimizers' groups."""
    return [
        (keras_layout.join(path, OPTIMIZER), layer)
        for path, layer in places
        if path
        and getattr(layer, "compiled", False)
        and isinstance(getattr(layer, "optimizer", None), Optimizer)
    ]


def _has_slots_of(optimizer: Optimizer, weights: list[Any]) -> bool:
    """Whether all slots of an optimizer are of these weights, and each has some; or there are none."""
    found = {id(weight) for it in optimizer.variables if (weight := weight_of(it)) is not None}
    updated = {id(weight) for weight in weights if not is_overwritten(weight)}
    return not found or updated <= found <= set(map(id, weights))


def contents(
    model: ModelLike, optimizer: Optimizer | None, inner_optimizers: bool = False
) -> tuple[dict[str, str], dict[str, Any]]:
    """Returns the names of layers by the path of their groups, and the variables by path."""
    places = keras_layout.places(model._tfkit.layer)
    placed = {id(layer) for _, layer in places}
    for path, layer in tracking.named_layers(model):
        if id(layer) not in placed and tracking.own_weights(layer):
            raise ValueError(
                f"Layer '{path}' cannot be written to a file of Keras, which finds layers in attributes, "
                "lists, tuples and dicts alone. Hold it in one of these, or save to `.h5`."
            )
    groups = {path: layer.name for path, layer in places}
    if len(groups) < len(places):
        # Of a class `Dense_1`, and of the second layer of a class `Dense`.
        twice, _ = collections.Counter(path for path, _ in places).most_common(1)[0]
        raise ValueError(
            f"Two layers of the model cannot be written to a file of Keras: their path there is {twice!r}, "
            "made of the names of their classes and numbers. Rename the class that ends in a number, or "
            "save to `.h5`."
        )
    plan = keras_matching.plan(places)
    values = keras_adapted.stored_values(plan.variables, keras_adapted.adapted(places))
    for group, layer in plan.stores.items():
        own = is_ours(owner_of(type(layer), "save_own_variables"))
        store = layer._tfkit_keras_variables() if own else layer._tfkit_stored()
        values |= {f"{group}/{key}": value for key, value in store.items()}
    held = keras_layout.held_optimizers(places) if inner_optimizers else {}
    for path, it in held.items():
        groups[path] = it.name
        values |= _stored(it, path)
        if (weights := weights_of_held(it, plan)) is not None:
            values[f"{HELD}/{path}"] = weights
    if optimizer is not None:
        if not _has_slots_of(optimizer, model.trainable_weights):
            warn(
                "The state of the optimizer is left out: it is of other weights than those that are trained "
                "now, as layers were frozen, unfrozen or changed after the last step, and files of Keras "
                "hold it by position. `compile` makes a new optimizer; an `.h5` file holds it by path."
            )
            optimizer = type(optimizer).from_config(optimizer.get_config())
        groups[OPTIMIZER] = optimizer.name
        values |= _stored(optimizer)
    for path, inner in compiled_inside(places) if inner_optimizers else ():
        used = inner.optimizer
        if not used.built:  # Keras cannot load a file without the state of an optimizer inside.
            used = type(used).from_config(used.get_config())
            used.build(inner.trainable_weights)
        groups[path] = used.name
        values |= optimizer_variables(used, path)
    return groups, values | seeds(places)
