"""The stateless scopes of each thread, which are notified of changes of variables and of losses."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class Scope(Protocol):
    """A stateless scope that is notified of the changes inside of it."""

    def about_to_change(self, variable: Any) -> None:
        """Keeps the value that a variable had."""

    def loss_added(self, loss: Any) -> None:
        """Adds a loss of a layer."""


class _Open(threading.local):
    """The scopes of one thread, the innermost last, and the number of symbolic scopes around it."""

    scopes: tuple[Scope, ...] = ()
    symbolic: int = 0


open_scopes = _Open()


def is_open() -> bool:
    """Whether this thread is in a stateless scope, which will undo changes of variables."""
    return bool(open_scopes.scopes)


def about_to_change(variable: Any) -> None:
    """Notifies the innermost scope, which undoes the change when it ends."""
    if open_scopes.scopes:
        open_scopes.scopes[-1].about_to_change(variable)


def loss_added(loss: Any) -> None:
    """Adds a loss to the innermost scope, unless a symbolic one needs only shapes."""
    if open_scopes.scopes and not open_scopes.symbolic:
        open_scopes.scopes[-1].loss_added(loss)


class SymbolicScope:
    """A context in which computations are needed only for their shapes.

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
