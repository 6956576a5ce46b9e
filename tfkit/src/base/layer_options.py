"""Types for type checkers: options of all layers, and methods whose parameters subclasses may change."""

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
