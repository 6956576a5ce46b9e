"""The list of a model's layers that `model.layers` returns, and the names of layers in paths and files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.names import to_snake_case
from tfkit.src.core.layer import Layer


def _warns(name: str) -> Callable[..., Any]:
    change = getattr(list, name)

    @functools.wraps(change)
    def method(self: list[Layer], *args: Any) -> Any:
        # As in Keras: programs remove layers from the list, and go on with the rest, or with the model.
        warn(
            "`model.layers` is a copy: a change of it does not change the model. Use `add()` and `pop()` of "
            "a Sequential model, or make a new model of the layers: `Sequential(model.layers[:-1])`. To "
            "change only the list, copy it: `list(model.layers)`."
        )
        return change(self, *args)

    return method


class LayerList(list[Layer]):
    """A list that warns of changes: they change a copy, and not the model.

    Its parts, sums and copies are usual lists.
    """

    append, clear, extend = map(_warns, ("append", "clear", "extend"))
    insert, pop, remove = map(_warns, ("insert", "pop", "remove"))
    __setitem__, __delitem__ = map(_warns, ("__setitem__", "__delitem__"))
    __iadd__, __imul__ = map(_warns, ("__iadd__", "__imul__"))

    def copy(self) -> list[Layer]:
        """Returns a usual list."""
        return list(self)

    def __copy__(self) -> list[Layer]:
        return list(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Returns what makes a usual list of the same layers."""
        return list, (), None, iter(self)


_base_name = functools.cache(to_snake_case)


def local_names(layers: list[Any]) -> list[tuple[str, Any]]:
    """Returns the layers with their names in paths and files.

    A layer that its user has named keeps that name. Others are numbered by class within this model, so
    that other objects in the process do not matter: `dense`, `dense_1`.
    """
    taken = {layer._name for layer in layers if not layer._tfkit_auto_named}
    counts: dict[str, int] = {}  # For each base name; all lower numbers are taken.
    named = []
    for layer in layers:
        name = layer._name
        if layer._tfkit_auto_named:
            base = name = _base_name(type(layer).__name__)
            count = counts.get(base, 0)
            if count:
                name = f"{base}_{count}"
            while name in taken:
                count += 1
                name = f"{base}_{count}"
            taken.add(name)
            counts[base] = count + 1
        named.append((name.replace("/", "%2F"), layer))
    return named
