"""How much memory variables may take while a model is made from a file.

A configuration of 200 bytes can demand a terabyte of weights. Whoever reads a file says how many bytes
of weights it holds, and every place that makes a variable spends from that before it allocates.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Literal

import tensorflow as tf

# What a file does not store, such as the state of a metric, may take this much, or as much as what it does.
_OTHER = 1 << 26
_LARGEST = 1 << 40

_left: ContextVar[dict[str, int] | None] = ContextVar("bytes left for variables", default=None)


@contextlib.contextmanager
def limited(stored: int) -> Iterator[None]:
    """Within the `with` block variables may take this many bytes."""
    token = _left.set({"stored": stored, "other": max(stored, _OTHER)})
    try:
        yield
    finally:
        _left.reset(token)


@contextlib.contextmanager
def given_back() -> Iterator[None]:
    """What is spent within the `with` block, on variables that it drops, does not count after it."""
    left = _left.get()
    token = _left.set(left and dict(left))
    try:
        yield
    finally:
        _left.reset(token)


def spend(shape: Any, dtype: str, what: str, kind: Literal["stored", "other"] = "stored") -> None:
    """Counts a variable that is about to be made.

    Args:
        shape: its sizes.
        dtype: name of its dtype.
        what: what it is, for the message.
        kind: whether a file stores it.

    Raises:
        ValueError: where it needs more than is left, and for a TiB and more wherever it is made.
    """
    left = _left.get()
    needed = math.prod(shape) * tf.as_dtype(dtype).size
    if needed > _LARGEST:  # TensorFlow would look for the memory for seconds.
        raise ValueError(
            f"{what} would take {needed:,} bytes (shape {tuple(shape)}, {dtype}), more than any machine has."
        )
    if left is None:
        return
    if needed > left[kind]:
        raise ValueError(
            f"{what} would take {needed:,} bytes (shape {tuple(shape)}, {dtype}), but the file accounts for "
            f"no more than {left[kind]:,}. Its configuration asks for more memory than its weights need: "
            "it is damaged, or was made to do harm."
        )
    left[kind] -= needed
