"""The calls of each thread: the innermost layer call, the layers' parts in outermost calls, stateless scopes.

They are not kept in a `ContextVar`. It is copied into tasks and callbacks that are made inside a call, and
these would run, after the call, as if they were inside. A frame belongs to the stack of one thread. Reading
it takes 38 ns, 19 more than reading a `ContextVar`; a direct call reads it four times and takes 50,000.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType, TracebackType
from typing import Any

import tensorflow as tf

from tfkit.src.base.names import operation_name


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
        scopes: the stateless scopes, the innermost last, which are notified below.
        given: the values that are read in place of variables, by id of the variable, see `given_values.py`.
        symbolic: the number of symbolic scopes around them.
        assignments: the number of assignments in progress, which need the dtype of the stored value.
        thread: identifies the thread; its number may be given to another thread when it has ended.
        parts: the part of each layer in its latest outermost call in this thread.
    """

    frame: CallFrame | None = None
    watches: tuple[Any, ...] = ()
    scopes: tuple[Any, ...] = ()
    given: Mapping[int, Any] = MappingProxyType({})
    symbolic: int = 0
    assignments: int = 0

    def __init__(self) -> None:
        self.thread = object()
        self.parts: weakref.WeakKeyDictionary[Any, Part] = weakref.WeakKeyDictionary()


calls = _OfThread()
_clock = itertools.count(1)


def current_frame() -> CallFrame | None:
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


@dataclasses.dataclass(slots=True, eq=False)
class CallFrame:
    """One layer call in progress; use it as a context manager."""

    layer: Any
    training: Any = None  # The mode of the call; `None` for the caller's mode.
    autocast_dtype: str | None = None  # Weights are read in this dtype; `None` for their own.
    gives_mask: bool = True  # `call` sets it to False if the outputs of this call have no mask.
    # The members of the layer with their paths, by id, once they have been looked up.
    steps: dict[int, tuple[Any, str]] = field(default_factory=dict)
    parent: CallFrame | None = field(init=False)
    number: int = field(init=False)
    # The layers called in this outermost call, by the time of their creation; shared with the frames inside.
    called: dict[int, Any] = field(init=False)
    scope: Any = field(init=False)

    def __post_init__(self) -> None:
        self.parent = current_frame()
        # All calls below an outermost call share its number: its losses replace older ones.
        self.number = self.parent.number if self.parent else next_call()
        self.called = self.parent.called if self.parent else {}
        # Operations of a trace are named after the layer, for errors and for readers of a graph.
        self.scope = None
        if not tf.executing_eagerly():
            self.scope = tf.name_scope(operation_name(self.layer.name, "layer"))

    def __enter__(self) -> CallFrame:
        if self.scope is not None:
            scope = self.scope.__enter__()
            for watch in calls.watches:
                watch.note_scope(scope, self.layer._tfkit)
        calls.frame = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        calls.frame = self.parent
        if self.scope is not None:
            self.scope.__exit__(kind, error, trace)
        # The innermost layer adds its path, unless the message contains it already.
        is_first = isinstance(error, Exception) and not hasattr(error, "__notes__")
        if error is not None and is_first and f"'{self.layer.path}'" not in str(error):
            error.add_note(f"Raised in the call of layer {self.layer._tfkit.title}.")


# --- Stateless scopes, which are notified of changes of variables and of losses -----------------------


def in_stateless_scope() -> bool:
    """Whether this thread is in a stateless scope, which will undo changes of variables."""
    return bool(calls.scopes)


def about_to_change(variable: Any) -> None:
    """Notifies the innermost scope, which undoes the change when it ends."""
    if calls.scopes:
        calls.scopes[-1].about_to_change(variable)


def loss_added(loss: Any) -> None:
    """Adds a loss to the innermost scope, unless a symbolic one needs only shapes."""
    if calls.scopes and not calls.symbolic:
        calls.scopes[-1].loss_added(loss)


class SymbolicScope:
    """A context in which computations are needed only for their shapes.

    A `StatelessScope(collect_losses=True)` collects no losses in it. Values are computed as everywhere.

    Example:
        >>> layer = tfkit.layers.Dense(1, activity_regularizer="l2")
        >>> with tfkit.StatelessScope(collect_losses=True) as scope, SymbolicScope():
        ...     y = layer(tf.ones((2, 3)))
        >>> scope.losses
        []
    """

    def __enter__(self) -> SymbolicScope:
        calls.symbolic += 1
        return self

    def __exit__(self, *exception: object) -> None:
        calls.symbolic -= 1
