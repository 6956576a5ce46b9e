"""Whether a loop may collect tensors in a `tf.TensorArray`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_AVOIDED: ContextVar[bool] = ContextVar("tensor_arrays_avoided", default=False)


@contextlib.contextmanager
def avoid() -> Iterator[None]:
    """Traces loops whose results grow by concatenation: LiteRT has arrays only where all sizes are known.

    Such a loop copies what it has at each step, and its gradient is slow: for inference elsewhere only.
    """
    token = _AVOIDED.set(True)
    try:
        yield
    finally:
        _AVOIDED.reset(token)


def avoided() -> bool:
    """Whether the present trace is to have no `tf.TensorArray`."""
    return _AVOIDED.get()
