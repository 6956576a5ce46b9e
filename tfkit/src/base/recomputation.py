"""Recomputes functions, as `remat` does for gradients, with the same random numbers and no effect twice.

Functions that draw, update or add losses read here whether it is the second time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.calls import loss_added
from tfkit.src.base.nests import brief


class HasLosses(Protocol):
    """The state of a layer, to which losses are added."""

    losses: list[Any]


class Recomputation:
    """The two computations of a function: state and draws read by the first are repeated in the second.

    Attributes:
        losses: the owners and values of the losses that the latest of them adds.
    """

    def __init__(self) -> None:
        self._read: list[Any] = []
        self._left: Iterator[Any] | None = None
        self._outer = context.current().recomputation
        self.losses: list[tuple[HasLosses, Any]] = []

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        """Context manager for the first computation."""
        self.losses = []
        with context.within(recomputation=self):
            yield

    @contextlib.contextmanager
    def second(self) -> Iterator[None]:
        """Context manager for a second computation."""
        self._left = iter(self._read)
        try:
            with self.first():
                yield
        finally:
            self._left = None

    def as_before(self, read: Callable[[], Any]) -> Any:
        """Returns the result of `read` in the first computation, in the order of such calls."""
        if self._left is not None:
            return next(self._left)
        self._read.append(read() if self._outer is None else self._outer.as_before(read))
        return self._read[-1]

    @property
    def is_second(self) -> bool:
        """Whether a second computation is in progress."""
        return self._left is not None or (self._outer is not None and self._outer.is_second)


def is_under_way() -> bool:
    """Whether a computation is in progress that may be repeated."""
    return context.current().recomputation is not None


def is_second() -> bool:
    """Whether a second computation is in progress: effects were made in the first."""
    recomputation = context.current().recomputation
    return recomputation is not None and recomputation.is_second


def summed(loss: Any) -> list[tf.Tensor]:
    """Returns the sum of each value of a nest of numbers and tensors, for `Layer.add_loss`.

    Raises:
        ValueError: for words, `None` and other objects.
    """
    values = tf.nest.flatten(loss)
    for value in values:
        dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
        if tf.as_dtype(dtype) in (tf.string, tf.bool):  # Objects of NumPy's are strings, too.
            raise ValueError(
                "`loss` of `add_loss` must be a tensor or a number, or a nest of these. "
                f"Received: {brief(value)}"
            )
    return [tf.reduce_sum(value) for value in values]


def add_losses(owner: HasLosses, values: list[Any]) -> None:
    """Adds to the losses of `owner`, directly or as results of the computation in progress."""
    recomputation = context.current().recomputation
    for value in values:
        loss_added(value)
        if recomputation is None:
            owner.losses.append(value)
        else:
            recomputation.losses.append((owner, value))


def as_before(read: Callable[[], Any]) -> Any:
    """Returns the result of `read` in the first computation, for a state that this computation changes."""
    recomputation = context.current().recomputation
    return read() if recomputation is None else recomputation.as_before(read)
