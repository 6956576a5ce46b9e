"""Recognizes plain data: numbers, strings and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

_SCALARS = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, tf.Tensor)


def is_data(value: Any) -> bool:
    """Whether a value consists only of numbers, strings and arrays."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(is_data, value))
    if isinstance(value, dict):
        return all(map(is_data, value.keys())) and all(map(is_data, value.values()))
    is_symbolic = isinstance(value, tf.Tensor) and not hasattr(value, "numpy")
    return isinstance(value, _SCALARS) and not is_symbolic


def same_data(one: Any, other: Any) -> bool:
    """Whether two values have one type and are equal; values that cannot be compared are not."""
    if type(one) is not type(other):
        return False
    if isinstance(other, (np.ndarray, tf.Tensor)):
        return np.array_equal(one, other)
    try:
        return bool(one == other)
    except ValueError:  # They are arrays in nests.
        return False
