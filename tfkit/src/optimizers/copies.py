"""Copies and pickles of optimizers: configuration and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfkit.src.base.registry import serialization
from tfkit.src.optimizers.slots import SlotOwner, Values

if TYPE_CHECKING:
    from tfkit.src.optimizers.base import Optimizer


def state_of(optimizer: Optimizer) -> dict[str, Any]:
    """Returns an optimizer as data: its configuration, referenced objects, and values."""
    references = serialization.References()
    with references.written():
        config = serialization.serialize_keras_object(optimizer)
    return {"config": config, "references": references.objects, "values": _values(optimizer)}


def from_state(state: dict[str, Any]) -> Optimizer:
    """Returns the optimizer that `state_of` described; its slots are made when it gets its weights."""
    with serialization.References(state["references"]).read():
        optimizer = serialization.deserialize_keras_object(state["config"])
    _set_values(optimizer, state["values"])
    return optimizer


def _inner(optimizer: Optimizer) -> dict[str, Any]:
    """Returns the optimizers in an optimizer's attributes, and the inner ones of a `MultiOptimizer`."""
    parts = {str(index): each for index, each in enumerate(getattr(optimizer, "optimizers", ()))}
    held = {name: each for name, each in vars(optimizer).items() if isinstance(each, SlotOwner)}
    return held | parts


def _values(optimizer: Optimizer) -> dict[str, Any]:
    made = [variable.numpy() for variable in optimizer._tfkit_own_variables]
    return {
        "own": made + optimizer._tfkit_restored.rest(),
        "spared": _spared(optimizer),
        "inner": {name: _values(each) for name, each in _inner(optimizer).items()},
    }


def _spared(optimizer: Optimizer) -> tuple[Any, str | None]:
    known = optimizer._tfkit_untracked
    variables = known.variables if optimizer.built else None
    return known.exclusions.state(variables, optimizer.name)


def _set_values(optimizer: Optimizer, values: dict[str, Any]) -> None:
    own = optimizer._tfkit_own_variables
    # `strict=False`: the copy has its first variables only, and slots follow when it is built.
    for variable, value in zip(own, values["own"], strict=False):
        variable.assign(value)
    optimizer._tfkit_restored = Values(values["own"][len(own) :])
    optimizer._tfkit_untracked.exclusions.restore(values["spared"])
    for name, each in _inner(optimizer).items():
        _set_values(each, values["inner"][name])
