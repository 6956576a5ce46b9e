"""Assignments to a layer's attributes: some are refused, some settings are passed on to existing weights."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

from tfkit.src.base.calls import current_frame
from tfkit.src.base.errors import other_keras
from tfkit.src.base.members import RESERVED, Alias, check_settable, holds_members
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.configuration import is_ours
from tfkit.src.base.registry.serialization import resolve
from tfkit.src.core import tracking
from tfkit.src.weights.variables.variables import Variable

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer
    from tfkit.src.core.stateful import Stateful

# Settings that built-in layers resolve in their constructors: by the ends of their names, the public modules.
_KINDS = {end: f"{end.strip('_')}s" for end in ("activation", "_regularizer", "_constraint")}
_OF_WEIGHTS = ("_regularizer", "_constraint")


def calling_layer() -> weakref.ref[Layer] | None:
    """Returns a reference to the layer whose `call` is running; `None` outside of calls and in a `build`."""
    frame = current_frame()
    return None if frame is None or frame.layer._tfkit.builds else weakref.ref(frame.layer)


def check_trainable(trainable: Any) -> None:
    """Raises an error unless `trainable` is a boolean."""
    if not isinstance(trainable, bool):
        raise ValueError(
            "Expected `trainable` to be a boolean. "
            f"Received: trainable={trainable} (of type {type(trainable).__name__})"
        )


def check_name(layer: Stateful, name: str, value: Any) -> None:
    """Raises an error if a layer, variable or metric would not be found under this name, or breaks the layer.

    Raises:
        AttributeError: if the name is one of TensorFlow's or tfkit's own.
    """
    check_settable(type(layer), name, value)
    if not holds_members(value) or not _is_taken(type(layer), name):
        return
    for _, member in tracking.walk(name, value):
        kind = type(member).__name__
        raise AttributeError(
            f"Attribute `{name}` of {type(layer).__name__} cannot hold a {kind}: tfkit or TensorFlow uses "
            f"the name for something else, so the {kind} would be neither trained nor saved. Choose a "
            f"different name, such as `my_{name.lstrip('_')}`."
        )


def _is_taken(cls: type[Stateful], name: str) -> bool:
    """Whether an attribute is bookkeeping, or a property or private method of tfkit or TensorFlow."""
    if name in RESERVED or name in cls._tfkit_own_settings:
        return True
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    if owner is None or not (is_ours(owner) or owner.__module__.startswith("tensorflow.")):
        return False
    defined = vars(owner)[name]
    if isinstance(defined, Alias):
        return False  # It sets an attribute of the layer, whose own name is checked then.
    return isinstance(defined, property) or (name.startswith("_") and callable(defined))


def check_may_set(layer: Stateful, name: str, value: Any) -> None:
    """Raises an error if the assignment would lose a weight, or would add state at each call.

    Raises:
        AttributeError: if the attribute holds a weight of the layer, and the layer is complete.
        ValueError: inside `call`, for a new layer or a variable.
    """
    state = layer._tfkit
    other_keras.warn_of_lost_weights(state, name, value)
    old = vars(layer).get(name)
    is_weight = isinstance(old, Variable) and any(old is weight for weight in state.weights)
    if is_weight and state.locked and not state.builds and value is not old:
        raise AttributeError(
            f"Attribute `{name}` of layer {state.title} holds a weight, which cannot be replaced. Received: "
            f"a value of type {type(value).__name__}. To change the values of the weight, use "
            f"`layer.{name}.assign(value)`."
        )
    caller = calling_layer()
    if caller and caller() is layer and holds_members(value):
        for _, member in tracking.walk(name, value):
            added = getattr(getattr(member, "_tfkit", None), "made_in", None) is not None
            if isinstance(member, Variable):
                added = not any(member is weight for weight in tracking.own_weights(state.layer))
            if added:
                raise ValueError(
                    "You cannot add new elements of state (variables or sub-layers) to a layer inside its "
                    f"`call()`. Layer {state.title} sets attribute `{name}` to a {type(member).__name__}. "
                    "Create all state in `__init__()` or `build()`."
                )


def resolved(layer: Stateful, name: str, value: Any) -> Any:
    """Returns a setting as the constructor of a built-in layer stores it: a function for `"relu"`."""
    # In the constructor itself the attribute does not exist yet, and the value has been resolved.
    for end, kind in _KINDS.items():
        is_setting = name.endswith(end) and name in vars(layer)
        if is_setting and _has_built_in_settings(type(layer).__mro__):
            return resolve("linear" if value is None and end == "activation" else value, kind)
    return value


@functools.cache
def _has_built_in_settings(bases: tuple[type, ...]) -> bool:
    return any(map(registry.is_builtin, bases))


def hand_to_weight(layer: Stateful, name: str, value: Any) -> None:
    """Passes a setting like `kernel_regularizer` of a built layer on to the weight `kernel`.

    Raises:
        AttributeError: if the layer keeps the weight elsewhere, in a layer inside it.
    """
    kind = next((end for end in _OF_WEIGHTS if name.endswith(end)), None)
    if kind is None or not layer._tfkit.locked or not _has_built_in_settings(type(layer).__mro__):
        return
    prefix = name.removesuffix(kind)
    if prefix == "activity" or name not in vars(layer):
        return
    for attribute in (prefix, f"{prefix}_kernel"):
        if attribute in vars(layer):
            weight = vars(layer)[attribute]
            if isinstance(weight, Variable):
                setattr(weight, kind.removeprefix("_"), value)
            return
    raise AttributeError(
        f"`{name}` of layer {layer._tfkit.title} cannot be set once the layer is built, as its weights "
        "exist. Set it before, or pass it to the constructor."
    )
