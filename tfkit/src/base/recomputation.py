"""Computing something a second time, as `remat` does for gradients: the same numbers, and no effect twice.

What draws, updates or adds inside of it reads here whether it is the second time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol

from tfkit.src.base import stateless

_under_way: ContextVar[Recomputation | None] = ContextVar("recomputation", default=None)


class HasLosses(Protocol):
    """What losses are added to: the state of a layer."""

    losses: list[Any]


class Recomputation:
    """A function's two computations: what the first reads of a state, or draws, the second gets as well.

    Attributes:
        losses: what the latest of them adds to the losses: whose, and the value.
    """

    def __init__(self) -> None:
        self._read: list[Any] = []
        self._left: Iterator[Any] | None = None
        self._outer = _under_way.get()
        self.losses: list[tuple[HasLosses, Any]] = []

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        """Around the first computation."""
        self.losses = []
        token = _under_way.set(self)
        try:
            yield
        finally:
            _under_way.reset(token)

    @contextlib.contextmanager
    def second(self) -> Iterator[None]:
        """Around a second computation."""
        self._left = iter(self._read)
        try:
            with self.first():
                yield
        finally:
            self._left = None

    def as_before(self, read: Callable[[], Any]) -> Any:
        """What `read` returns the first time, in the order of such calls."""
        if self._left is not None:
            return next(self._left)
        self._read.append(read() if self._outer is None else self._outer.as_before(read))
        return self._read[-1]

    @property
    def is_second(self) -> bool:
        """Whether a second computation is under way."""
        return self._left is not None or (self._outer is not None and self._outer.is_second)


def is_under_way() -> bool:
    """Whether something is computed that may be computed twice."""
    return _under_way.get() is not None


def is_second() -> bool:
    """Whether something is computed the second time: effects were made the first time."""
    recomputation = _under_way.get()
    return recomputation is not None and recomputation.is_second


def add_loss(owner: HasLosses, value: Any) -> None:
    """Adds to the losses of `owner`: at once, or as a result of what is under way, with a gradient then."""
    stateless.loss_added(value)
    recomputation = _under_way.get()
    if recomputation is None:
        owner.losses.append(value)
    else:
        recomputation.losses.append((owner, value))


def as_before(read: Callable[[], Any]) -> Any:
    """Returns what `read` returned the first time, of a state that the first computation changes."""
    recomputation = _under_way.get()
    return read() if recomputation is None else recomputation.as_before(read)
