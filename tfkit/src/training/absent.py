"""Passes inputs that are `None`, for models with optional inputs, through data to the step.

Datasets and programs contain tensors only, and `None` is a leaf of a nest, like a tensor. It is replaced by
an empty tuple, which has no leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfkit.src.base import nests


class Absent(NamedTuple):
    """A placeholder for `None` in a batch."""


def without_none(data: Any) -> Any:
    """Returns a nest with each `None` replaced by `Absent`."""
    if all(leaf is not None for leaf in nests.leaves(data)):
        return data
    return _without_none(data)


def _without_none(data: Any) -> Any:
    if data is None:
        return Absent()
    return nests.mapped(_without_none, data) if nests.is_nested(data) else data


def with_none(data: Any) -> Any:
    """Returns the inverse of `without_none`."""
    if type(data) is Absent:
        return None
    return nests.mapped(with_none, data) if nests.is_nested(data) else data
