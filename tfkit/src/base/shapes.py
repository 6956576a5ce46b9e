"""Sizes of axes as integers of Python."""

import operator
from collections.abc import Iterable
from typing import Any


def as_sizes(shape: Iterable[Any]) -> tuple[Any, ...]:
    """Returns a shape with integers of NumPy and tensors that hold one as Python's; the rest is unchanged."""
    return tuple(map(_as_size, shape))


def _as_size(size: Any) -> Any:
    if size is None or type(size) is int:
        return size
    try:
        return operator.index(size)
    except (TypeError, AttributeError):  # An `AttributeError` for a tensor of floats.
        return size
