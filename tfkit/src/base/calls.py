"""The calls of each thread: the innermost layer call, and the layers' parts in outermost calls.

They are not kept in a `ContextVar`. It is copied into tasks and callbacks that are made inside a call, and
these would run, after the call, as if they were inside. A frame belongs to the stack of one thread. Reading
it takes 38 ns, 19 more than reading a `ContextVar`; a direct call reads it four times and takes 50,000.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Protocol


class Frame(Protocol):
    """A layer call in progress, as rooms below `core` see it; the object is a `CallFrame` of `core`."""

    layer: Any
    training: Any
    autocast_dtype: str | None
    gives_mask: bool
    steps: dict[int, tuple[Any, str]]
    parent: Any
    number: int
    called: dict[int, Any]
    scope: Any


class Part:
    """A layer's part in an outermost call of one thread; other threads may be in other calls of the layer.

    Attributes:
        thread: the object that identifies the thread, `None` for none.
        call: the number of the outermost call that they belong to.
        losses: the values that `add_loss` got in it.
    """

    __slots__ = ("call", "losses", "thread")

    def __init__(self, thread: object) -> None:
        self.thread = thread
        self.call = 0
        self.losses: list[Any] = []


class _OfThread(threading.local):
    """The state of one thread: its calls, traces and scopes in progress.

    Attributes:
        frame: the innermost layer call in progress, or `None`.
        watches: the watches of the traces in progress, the innermost last, see `watching.py`.
        scopes: the stateless scopes, the innermost last, see `stateless.py`.
        symbolic: the number of symbolic scopes around them.
        assignments: the number of assignments in progress, which need the dtype of the stored value.
        thread: identifies the thread; its number may be given to another thread when it has ended.
        parts: the part of each layer in its latest outermost call in this thread.
    """

    frame: Frame | None = None
    watches: tuple[Any, ...] = ()
    scopes: tuple[Any, ...] = ()
    symbolic: int = 0
    assignments: int = 0

    def __init__(self) -> None:
        self.thread = object()
        self.parts: weakref.WeakKeyDictionary[Any, Part] = weakref.WeakKeyDictionary()


calls = _OfThread()
_clock = itertools.count(1)


def current_frame() -> Frame | None:
    """Returns the frame of the innermost layer call in progress in this thread, or `None`."""
    return calls.frame


def next_call() -> int:
    """Returns a number for a new outermost call, larger than all earlier ones."""
    return next(_clock)


@contextlib.contextmanager
def outside_calls() -> Iterator[None]:
    """Context manager in which this thread is in no layer call, for objects that no call uses."""
    frame, calls.frame = calls.frame, None
    try:
        yield
    finally:
        calls.frame = frame


@contextlib.contextmanager
def noted_apart() -> Iterator[dict[int, Any]]:
    """Context manager whose dict notes the layers that are called, in place of the outermost call's dict."""
    frame = calls.frame
    if frame is None:
        yield {}
        return
    around, frame.called = frame.called, {}
    try:
        yield frame.called
    finally:
        frame.called = around
