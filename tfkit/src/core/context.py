"""The frame of one layer call in progress: its mode, and the dtype in which it reads weights."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.calls import Frame, calls, current_frame, next_call
from tfkit.src.base.names import operation_name

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer
    from tfkit.src.core.state import LayerState


@dataclasses.dataclass(slots=True, eq=False)
class CallFrame:
    """One layer call in progress; use it as a context manager."""

    layer: Layer
    training: Any = None  # The mode of the call; `None` for the caller's mode.
    autocast_dtype: str | None = None  # Weights are read in this dtype; `None` for their own.
    gives_mask: bool = True  # `call` sets it to False if the outputs of this call have no mask.
    # The members of the layer with their paths, by id, once they have been looked up.
    steps: dict[int, tuple[Any, str]] = field(default_factory=dict)
    parent: Frame | None = field(init=False)
    number: int = field(init=False)
    # The layers called in this outermost call, by the time of their creation; shared with the frames inside.
    called: dict[int, LayerState] = field(init=False)
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
