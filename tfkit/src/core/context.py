"""The call context: what this thread is calling.

It is no `ContextVar`: those are copied into tasks and callbacks that are made inside a call, and these would
run, after the call, as if they were inside. A frame belongs to the stack of one thread. Reading it takes 38
ns, which is 19 more than a `ContextVar` takes; a direct call reads it four times and takes 50,000.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from types import TracebackType
from typing import Any

import tensorflow as tf

from tfkit.src.base import watching
from tfkit.src.base.names import operation_name

_clock = itertools.count(1)


class _CallContext(threading.local):
    """What one thread is doing.

    Attributes:
        frame: the innermost layer call in progress, or `None`.
        thread: stands for the thread; another one may get its number when it has ended.
        parts: what each layer did in its latest outermost call in this thread.
    """

    frame: CallFrame | None = None

    def __init__(self) -> None:
        self.thread = object()
        self.parts: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


call_context = _CallContext()


class CallFrame:
    """One layer call in progress; use it as a context manager.

    Args:
        layer: the layer that is called.
        training: the mode of the call, or `None` for what the caller's is.
        autocast_dtype: float dtype as which weights are read in the call, `None` for their own.
    """

    __slots__ = ("autocast_dtype", "gives_mask", "layer", "parent", "record", "scope", "training")

    def __init__(self, layer: Any, training: Any = None, autocast_dtype: str | None = None) -> None:
        self.layer = layer
        self.training = training
        self.autocast_dtype = autocast_dtype
        self.gives_mask = True  # `call` sets it to False where its outputs have no mask this time.
        self.parent = current_frame()
        # All calls below one outermost call belong to one record: its losses replace the older ones.
        self.record: int = self.parent.record if self.parent else next_record()

        # Names the operations of a trace after the layer, for errors and for readers of a graph.
        self.scope = (
            None if tf.executing_eagerly() else tf.name_scope(operation_name(layer.name, "layer"))
        )

    def __enter__(self) -> CallFrame:
        if self.scope is not None:
            scope = self.scope.__enter__()
            for watch in watching.thread.watches:
                watch.note_scope(scope, self.layer)
        call_context.frame = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        call_context.frame = self.parent
        if self.scope is not None:
            self.scope.__exit__(kind, error, trace)
        if isinstance(error, Exception) and not hasattr(error, "__notes__"):
            self._say_where(error)

    def _say_where(self, error: Exception) -> None:
        """Adds the innermost layer's path to an error that does not name it."""
        where = f"'{self.layer.path}'"
        if where not in str(error):
            error.add_note(
                f"Raised in the call of layer {where} (of type {type(self.layer).__name__})."
            )


def current_frame() -> CallFrame | None:
    """The frame of the innermost layer call in progress in this thread, or `None`."""
    return call_context.frame


def next_record() -> int:
    """A number for a new outermost call, larger than all before."""
    return next(_clock)
