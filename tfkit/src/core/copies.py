"""Copies and pickles of layers: configuration, values of variables by path, and what was set afterwards."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.generators import drawing_aside
from tfkit.src.core import tracking
from tfkit.src.losses.base import Loss
from tfkit.src.metrics.base import Metric
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.registry import serialization
from tfkit.src.registry.plain_data import is_data, same_data

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer
    from tfkit.src.core.state import LayerState

_NOT_SET_BY_USERS = ("_self_", "_tfkit", "_name", "_auto_named", "_trainable")
# Not found again by the constructor, where the program has set them later.
_HELPERS = (Loss, Metric, Optimizer)
# What a layer was called with; files keep what building needs of it.
_SEEN = ("given", "output_shapes", "specs")


class Copied:
    """A layer that can be copied and pickled, mixed into `Layer`."""

    _tfkit: LayerState

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is made of the configuration and of the values of the variables."""
        return from_state, (state_of(self._tfkit.layer),)

    def __copy__(self) -> Any:
        """A copy of a layer has weights and settings of its own, as a deep copy has."""
        return copy.deepcopy(self)


def state_of(layer: Layer) -> dict[str, Any]:
    """A layer as data: its configuration, what it refers to, its variables, what was set afterwards.

    Raises:
        TypeError: for a layer whose configuration cannot be made.
    """
    layer._tfkit.check_initialized()
    references = serialization.References()
    with references.written():
        config = serialization.serialize_keras_object(layer)
    return {
        "config": config,
        "references": references.objects,
        "variables": {path: v.numpy() for path, v in _variables(layer).items()},
        "stores": {path: each._stored() for path, each in _own_stores(layer)},
        "layers": {path: _traits(each) for path, each in tracking.named_layers(layer)},
    }


def from_state(state: dict[str, Any]) -> Any:
    """The layer that `state_of` described: it shares nothing with the other one.

    Raises:
        ValueError: where its class makes other variables than those of the other one.
    """
    with drawing_aside(), serialization.References(state["references"]).read():
        layer = serialization.deserialize_keras_object(state["config"])
    for path, each in tracking.named_layers(layer):
        _set_traits(each, state["layers"].get(path, {}))
    for path, each in _own_stores(layer):
        each.load_own_variables(dict(state["stores"][path]))
    variables, values = _variables(layer), state["variables"]
    made = {path: tuple(variable.shape) for path, variable in variables.items()}
    held = {path: value.shape for path, value in values.items()}
    differ = sorted(path for path in made.keys() | held.keys() if made.get(path) != held.get(path))
    if differ:
        raise ValueError(
            f"{layer!r} cannot be copied: made again from its configuration, it has not the same variables. "
            f"They differ at {differ}. Make all layers in the constructor and all weights in `build()`, or "
            "give them to the constructor."
        )
    for path, variable in variables.items():
        variable.assign(values[path])
    return layer


def _variables(layer: Layer) -> dict[str, tf.Variable]:
    """Weights, seed states, and states that stay between batches, by path."""
    variables = dict(tracking.named_state(layer))
    for path, each in tracking.named_layers(layer):
        states = tf.nest.flatten(getattr(each, "_tfkit_states", None) or ())
        variables.update({f"{path}/states/{i}": state for i, state in enumerate(states)})
    return variables


def _own_stores(layer: Layer) -> list[tuple[str, Layer]]:
    """The layers that say themselves what a file keeps of them."""
    return [
        (path, each)
        for path, each in tracking.named_layers(layer)
        if each._overrides("save_own_variables")
    ]


def _traits(layer: Layer) -> dict[str, Any]:
    """What a layer is beside its configuration and its weights."""
    state = layer._tfkit
    return {
        "name": (layer._name, layer._auto_named),
        "trainable": layer._trainable,
        "built": state.built,
        "seen": {name: getattr(state, name) for name in _SEEN},
        "attributes": {
            name: value
            for name, value in vars(layer).items()
            if not name.startswith(_NOT_SET_BY_USERS)
            and (isinstance(value, _HELPERS) or is_data(value))
        },
    }


def _set_traits(layer: Layer, traits: dict[str, Any]) -> None:
    if not traits:
        return
    layer._name, layer._auto_named = traits["name"]
    layer._trainable = traits["trainable"]
    layer._tfkit.built = traits["built"]
    for name, value in traits["seen"].items():
        setattr(layer._tfkit, name, value)
    for name, value in traits["attributes"].items():
        if name not in vars(layer) or not _same(vars(layer)[name], value):
            setattr(layer, name, value)


def _same(made: Any, value: Any) -> bool:
    """Whether the attribute that the constructor has set will do."""
    if isinstance(value, _HELPERS):
        return isinstance(made, (Loss, Metric))  # An optimizer's values came with it.
    return same_data(made, value)
