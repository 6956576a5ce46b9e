"""`FunctionDef`s: the functions that their nodes name, and their registration in TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfkit.src.borrowed.private import AtomicFunction, context


def functions_in(value: Any) -> Sequence[Any]:
    """Returns the functions named by an attribute of a node, to be read or renamed: one, several or none."""
    return [value.func] if value.HasField("func") else value.list.func


def make_known(definition: Any) -> None:
    """Registers a function in TensorFlow by its name, unless there is one of this name."""
    running = context.context()
    if not running.has_function(definition.signature.name):
        running.add_function_def(definition)


def registered(definition: Any) -> AtomicFunction:
    """Returns a function that can be called in graphs as long as a reference to it exists."""
    context.context().add_function_def(definition)
    return AtomicFunction(definition.signature.name, context.context(), None)
