"""Casts floats of a file to the model's width if no value is lost, with a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors import frames
from tfkit.src.base.quoting import shown

FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
_MOST_NAMED = 3


def is_other_width(stored: str, expected: str) -> bool:
    """Whether both dtypes are floats, and differ."""
    return stored != expected and stored in FLOATS and expected in FLOATS


def cast(value: np.ndarray, dtype: str) -> np.ndarray:
    """Returns the values in a different float dtype, rounded to the nearest."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return value.astype(tf.as_dtype(dtype).as_numpy_dtype)


def why_lost(value: np.ndarray, dtype: str) -> str | None:
    """Returns why values cannot be cast: finite ones would become infinite. `None` if they can."""
    stored, expected = tf.as_dtype(value.dtype), tf.as_dtype(dtype)
    if value.size == 0 or stored.max <= expected.max:
        return None
    is_lost = np.isfinite(value) & ~np.isfinite(cast(value, dtype))
    if not is_lost.any():
        return None
    count, first = np.count_nonzero(is_lost), float(value[is_lost][0])
    return f"{count:,} of its values, such as {first:.6g}, are larger than {dtype} can hold"


def warn(file: Any, casts: dict[str, str]) -> None:
    """Warns once for a file about the weights that were cast.

    Args:
        file: the file.
        casts: dtype in the file and in the model, by path of the variable.
    """
    if not casts:
        return
    named = [f"{shown(path)} ({change})" for path, change in list(casts.items())[:_MOST_NAMED]]
    more = len(casts) - len(named)
    frames.warn(
        f"File {file} has {len(casts)} of its weights in a different float dtype than the model: "
        + ", ".join(named)
        + (f" and {more:,} more" if more else "")
        + ". They are cast to the dtype of the model, rounded where it is narrower."
    )
