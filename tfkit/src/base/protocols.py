"""The interfaces of layers for rooms on the floors below them."""

from __future__ import annotations

from typing import Any, Protocol


class HasPath(Protocol):
    """A layer for messages."""

    @property
    def path(self) -> str:
        """The names of the calling layers from the outermost to this one: `encoder/dense_proj`."""


class Tracked(Protocol):
    """An object that holds layers and weights: a layer, a model, or a class that is mixed into them."""

    _tfkit: Any  # A `core.state.LayerState`.

    @property
    def name(self) -> str:
        """The name."""

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights."""

    def _tfkit_members(self) -> list[tuple[str, Any]]: ...
