"""The settings of the model that is running: whether it is eager, and whether XLA may compile it.

A model that is compiled has one object that holds the arguments of `compile`. Its steps run inside
`governed_by(that object)`, so that everything they call, such as a single layer or an optimizer that two
models share, follows the model whose step it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tfkit.src.base import context, settings
from tfkit.src.base.calls import in_stateless_scope

# Returns the object that runs a traced call of a layer. `engine/plain_calls.py`, which is above, sets it.
plain_call: Callable[[Any], Any]
# Returns what tells the values that the calls of layers read now. `engine/surroundings.py` sets it.
surroundings_of: Callable[[Callable[[], Iterable[Any]]], Any]


class Execution(Protocol):
    """The settings of a model that are read here."""

    run_eagerly: bool
    jit_compile: bool | str
    model: Any  # A weak reference to the model; `None` for settings of no model.


def governed_by(own: Execution) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which the settings of one model apply."""
    return context.within(execution=own)


def governing() -> Any:
    """Returns the settings of the model whose step is in progress; `None` outside of steps."""
    return context.current().execution


def governing_model() -> Any:
    """Returns the model whose step is in progress; `None` outside of steps, and for settings of no model."""
    own = context.current().execution
    return None if own is None or own.model is None else own.model()


def is_eager(owners: Iterable[Execution] = ()) -> bool:
    """Whether a layer's computation should run eagerly.

    Args:
        owners: the settings of the layer, and of those that call it, as far as they are models.
    """
    governing = context.current().execution
    return (
        settings.functions_run_eagerly()
        # A change that a program makes is not seen, and could not be undone.
        or in_stateless_scope()
        or (governing is not None and governing.run_eagerly)
        or any(each.run_eagerly for each in owners)
    )


def may_use_xla(owners: Iterable[Execution]) -> bool:
    """Whether XLA may compile a part of a program that it does not compile as a whole.

    Inside a step that model decides; elsewhere none of the owners may object.

    Args:
        owners: the settings of the models that the part belongs to, none for a separate part.
    """
    governing = context.current().execution
    asked = owners if governing is None else [governing]
    return not is_eager() and not any(
        each.jit_compile is False or each.run_eagerly for each in asked
    )
