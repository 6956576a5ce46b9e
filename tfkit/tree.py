"""Nests of lists, tuples and dicts: visiting, flattening, rebuilding. Dicts go by sorted key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def flatten(structure: Any) -> list[Any]:
    """The leaves of `structure`, in order; dicts in the order of their sorted keys."""
    return tf.nest.flatten(structure)


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """A nest of the same form with `function` applied to the leaves of all `structures` at once."""
    return tf.nest.map_structure(function, *structures)


def pack_sequence_as(structure: Any, flat_sequence: list[Any]) -> Any:
    """The leaves of `flat_sequence` in the form of `structure`: the inverse of `flatten`."""
    return tf.nest.pack_sequence_as(structure, flat_sequence)


def is_nested(structure: Any) -> bool:
    """Whether `structure` is a list, tuple or dict (and not a leaf)."""
    return tf.nest.is_nested(structure)


def assert_same_structure(a: Any, b: Any) -> None:
    """Raises `ValueError` or `TypeError` unless both nests have one form."""
    tf.nest.assert_same_structure(a, b)
