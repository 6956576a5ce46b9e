"""The stateless scopes of each thread, which are notified of changes of variables and of losses."""

from __future__ import annotations

from typing import Any, Protocol

from tfkit.src.base.calls import calls


class Scope(Protocol):
    """A stateless scope that is notified of the changes inside of it."""

    def about_to_change(self, variable: Any) -> None:
        """Keeps the value of a variable before it changes."""

    def loss_added(self, loss: Any) -> None:
        """Adds a loss of a layer."""


def is_open() -> bool:
    """Whether this thread is in a stateless scope, which will undo changes of variables."""
    return bool(calls.scopes)


def about_to_change(variable: Any) -> None:
    """Notifies the innermost scope, which undoes the change when it ends."""
    if calls.scopes:
        calls.scopes[-1].about_to_change(variable)


def loss_added(loss: Any) -> None:
    """Adds a loss to the innermost scope, unless a symbolic one needs only shapes."""
    if calls.scopes and not calls.symbolic:
        calls.scopes[-1].loss_added(loss)


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
        calls.symbolic += 1
        return self

    def __exit__(self, *exception: object) -> None:
        calls.symbolic -= 1
