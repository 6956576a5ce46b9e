"""Types of layers for type checkers: their interfaces for rooms below them, and options of all layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypedDict


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


class _CommonOptions(TypedDict, total=False):
    trainable: bool
    dtype: Any
    autocast: bool
    input_shape: Any
    input_dim: int | None


class RegularizedOptions(_CommonOptions, total=False):
    """The options of layers that define `activity_regularizer` themselves."""

    name: str | None


class NamedOptions(_CommonOptions, total=False):
    """The options of layers that define `name` themselves."""

    activity_regularizer: Any


class LayerOptions(NamedOptions, total=False):
    """The keyword arguments that every layer accepts, as `Layer` documents them."""

    name: str | None


def open_signature(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the method unchanged, typed so that subclasses may override it with other parameters."""
    return method
