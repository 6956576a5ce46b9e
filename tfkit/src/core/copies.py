"""Copies and pickles of layers: configuration, values of variables by path, and attributes set later."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.generators import drawing_aside
from tfkit.src.base.members import BOOKKEEPING, Helper, Owner
from tfkit.src.base.registry import serialization
from tfkit.src.core import tracking

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer
    from tfkit.src.core.state import LayerState

_NOT_SET_BY_USERS = BOOKKEEPING | {"_trainable"}
# The specs of a layer's calls; files keep only the part that building needs.
_SEEN = ("given", "output_shapes", "specs", "thawed")


class Copied:
    """A layer that can be copied and pickled, mixed into `Layer`."""

    _tfkit: LayerState

    @shortened
    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what `pickle` and `copy` need: the layer's configuration and its variables' values."""
        return from_state, (state_of(self._tfkit.layer),)

    def __copy__(self) -> Any:
        """Returns a copy with its own weights and settings, like a deep copy."""
        return copy.deepcopy(self)


def state_of(layer: Layer) -> dict[str, Any]:
    """Returns a layer as data: configuration, referenced objects, variables, and attributes set later.

    Raises:
        TypeError: for a layer whose configuration cannot be made.
    """
    layer._tfkit.check_initialized()
    references = serialization.References()
    with references.written():
        # Objects that several parts of the layer share are written once, and shared in the copy too.
        config = serialization.serialize_uncompiled(layer)
    return {
        "config": config,
        "references": references.objects,
        "variables": {path: v.numpy() for path, v in _variables(layer).items()},
        "stores": {path: each._tfkit_stored() for path, each in _own_stores(layer)},
        "layers": {path: _traits(each) for path, each in tracking.named_layers(layer)},
    }


def from_state(state: dict[str, Any]) -> Any:
    """Returns the layer that `state_of` described, which shares nothing with the original.

    Raises:
        ValueError: if the class makes variables that differ from the original's.
    """
    with drawing_aside(), serialization.References(state["references"]).read():
        layer = serialization.deserialize_keras_object(state["config"])
    for path, each in tracking.named_layers(layer):
        _set_traits(each, state["layers"].get(path, {}))
    for path, each in _own_stores(layer):
        each.load_own_variables(dict(state["stores"][path]))
    variables, values = _variables(layer), state["variables"]
    made = {path: tuple(variable.shape) for path, variable in variables.items()}
    stored = {path: value.shape for path, value in values.items()}
    differ = sorted(
        path for path in made.keys() | stored.keys() if made.get(path) != stored.get(path)
    )
    if differ:
        raise ValueError(
            f"{layer!r} cannot be copied: made again from its configuration, its variables differ. "
            f"They differ at {differ}. Make all layers in the constructor and all weights in `build()`, or "
            "give them to the constructor."
        )
    for path, variable in variables.items():
        variable.assign(values[path])
    return layer


def _variables(layer: Layer) -> dict[str, tf.Variable]:
    """Returns weights, states of seeds, and states that are kept between batches, by path."""
    variables = dict(tracking.named_state(layer))
    for path, each in tracking.named_layers(layer):
        states = tf.nest.flatten(getattr(each, "_tfkit_states", None) or ())
        variables.update({f"{path}/states/{i}": state for i, state in enumerate(states)})
    return variables


def _own_stores(layer: Layer) -> list[tuple[str, Layer]]:
    """Returns the layers that define what a file stores for them."""
    return [
        (path, each)
        for path, each in tracking.named_layers(layer)
        if each._tfkit_overrides("save_own_variables")
    ]


def _traits(layer: Layer) -> dict[str, Any]:
    """Returns the properties of a layer that are neither its configuration nor its weights."""
    state = layer._tfkit
    return {
        "name": (layer._name, layer._tfkit_auto_named),
        "trainable": layer._trainable,
        "built": state.built,
        "seen": {name: getattr(state, name) for name in _SEEN},
        "attributes": {
            name: value
            for name, value in vars(layer).items()
            if name not in _NOT_SET_BY_USERS and (isinstance(value, Helper) or _is_data(value))
        },
    }


def _set_traits(layer: Layer, traits: dict[str, Any]) -> None:
    if not traits:
        return
    layer._name, layer._tfkit_auto_named = traits["name"]
    layer._trainable = traits["trainable"]
    layer._tfkit.built = traits["built"]
    for name, value in traits["seen"].items():
        setattr(layer._tfkit, name, value)
    for name, value in traits["attributes"].items():
        if name not in vars(layer) or not _same(vars(layer)[name], value):
            setattr(layer, name, value)


def _same(made: Any, value: Any) -> bool:
    """Whether the attribute can stay as the constructor has set it."""
    if isinstance(value, Helper):  # An optimizer that is made has no values yet.
        return isinstance(made, Helper) and not isinstance(made, Owner)
    return _same_data(made, value)


# --- Plain data: numbers, strings and arrays ----------------------------------------------------------

_SCALARS = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, tf.Tensor)


def _is_data(value: Any) -> bool:
    """Whether a value consists only of numbers, strings and arrays."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_is_data, value))
    if isinstance(value, dict):
        return all(map(_is_data, value.keys())) and all(map(_is_data, value.values()))
    is_symbolic = isinstance(value, tf.Tensor) and not hasattr(value, "numpy")
    return isinstance(value, _SCALARS) and not is_symbolic


def _same_data(one: Any, other: Any) -> bool:
    """Whether two values have one type and are equal; values that cannot be compared are not."""
    if type(one) is not type(other):
        return False
    if isinstance(other, (np.ndarray, tf.Tensor)):
        return np.array_equal(one, other)
    try:
        return bool(one == other)
    except ValueError:  # They are arrays in nests.
        return False
