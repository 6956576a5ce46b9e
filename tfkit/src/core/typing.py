"""What type checkers are told: which options all layers take, and what subclasses may define otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict


class _CommonOptions(TypedDict, total=False):
    trainable: bool
    dtype: Any
    autocast: bool
    input_shape: Any
    input_dim: int | None


class RegularizedOptions(_CommonOptions, total=False):
    """What a layer takes beside an `activity_regularizer` of its own."""

    name: str | None


class NamedOptions(_CommonOptions, total=False):
    """What a layer takes beside a `name` of its own."""

    activity_regularizer: Any


class LayerOptions(NamedOptions, total=False):
    """The keyword arguments that every layer takes, as `Layer` documents them."""

    name: str | None


def open_signature(method: Callable[..., Any]) -> Callable[..., Any]:
    """Lets subclasses override a method with arguments of their own: it is given back as it is."""
    return method
