"""`FunctionDef`s: what their nodes name, and how TensorFlow gets to know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfkit.src.borrowed.private import AtomicFunction, context


def functions_in(value: Any) -> Sequence[Any]:
    """The functions that an attribute of a node names, to be read or renamed: one, several or none."""
    return [value.func] if value.HasField("func") else value.list.func


def make_known(definition: Any) -> None:
    """Lets TensorFlow call a function by its name, unless it knows one of this name."""
    running = context.context()
    if not running.has_function(definition.signature.name):
        running.add_function_def(definition)


def registered(definition: Any) -> AtomicFunction:
    """A function that can be called in graphs, for as long as somebody holds it."""
    context.context().add_function_def(definition)
    return AtomicFunction(definition.signature.name, context.context(), None)
