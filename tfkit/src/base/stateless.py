"""The stateless scopes of each thread: who is told when a variable is about to change, or a loss is added."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class Scope(Protocol):
    """A stateless scope, as far as what happens inside of it is told."""

    def about_to_change(self, variable: Any) -> None:
        """Keeps the value that a variable had."""

    def loss_added(self, loss: Any) -> None:
        """Notes a loss that a layer adds."""


class _Open(threading.local):
    """Those of one thread, the innermost last; and how many symbolic scopes it is in."""

    scopes: tuple[Scope, ...] = ()
    symbolic: int = 0


open_scopes = _Open()


def is_open() -> bool:
    """Whether this thread is in a stateless scope: changes of variables will be undone."""
    return bool(open_scopes.scopes)


def about_to_change(variable: Any) -> None:
    """Tells the innermost scope, which undoes the change when it ends."""
    if open_scopes.scopes:
        open_scopes.scopes[-1].about_to_change(variable)


def loss_added(loss: Any) -> None:
    """Tells the innermost scope, unless a symbolic one says that only shapes are asked for."""
    if open_scopes.scopes and not open_scopes.symbolic:
        open_scopes.scopes[-1].loss_added(loss)


class SymbolicScope:
    """Says that what is computed in its `with` block is wanted for its shapes alone.

    A `StatelessScope(collect_losses=True)` collects no losses in it. Values are computed as everywhere.

    Example:
        >>> layer = tfkit.layers.Dense(1, activity_regularizer="l2")
        >>> with tfkit.StatelessScope(collect_losses=True) as scope, SymbolicScope():
        ...     y = layer(tf.ones((2, 3)))
        >>> scope.losses
        []
    """

    def __enter__(self) -> SymbolicScope:
        open_scopes.symbolic += 1
        return self

    def __exit__(self, *exception: object) -> None:
        open_scopes.symbolic -= 1
