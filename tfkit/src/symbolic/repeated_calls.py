"""Which trace serves a direct call: those of one kind, and the one of the latest call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.base.context import Lock
from tfkit.src.base.watching import StateWatch
from tfkit.src.engine.autograph import converted_if_needed
from tfkit.src.symbolic.masking import get_mask


class Trace(Protocol):
    """The trace of a call, as far as the choice of one is concerned."""

    watch: StateWatch

    def serves(self, recorded: bool) -> bool:
        """Whether the trace is for calls that a tape follows, or that no tape follows."""

    def accepts(self, shapes: list[tf.TensorShape]) -> bool:
        """Whether the trace accepts tensors of these shapes."""


class Kind:
    """Direct calls that differ only in shapes: one trace for the first shapes, one for all others.

    Where it makes a difference whether a tape follows a call, there are two more for calls that it does.

    Args:
        make_trace: function that returns a `Trace`, given shapes and whether a tape follows it.
        shapes: the shapes of the first call's tensors.
    """

    def __init__(self, make_trace: Callable[..., Any], shapes: list[tf.TensorShape]) -> None:
        self._make_trace = make_trace
        self._relaxed = shapes
        self._traces: list[Trace] = []
        self._lock = Lock()
        self._sizes = {tuple(tuple(shape)[1:] for shape in shapes)}

    def first_time(self, tensors: list[tf.Tensor]) -> bool:
        """Whether sizes other than the batch size are new: the call then runs eagerly, and is checked."""
        sizes = tuple(tuple(tensor.shape)[1:] for tensor in tensors)
        if sizes in self._sizes:
            return False
        self._sizes.add(sizes)
        return True

    def trace_for(self, tensors: list[tf.Tensor], recorded: bool) -> Any:
        """Returns a trace that accepts these tensors, and that a tape can follow if it is `recorded`."""
        shapes = [tensor.shape for tensor in tensors]
        trace = self._known(shapes, recorded)
        if trace is None:
            with self._lock:  # Threads that need the same trace do not make it twice.
                trace = self._known(shapes, recorded) or self._new_trace(shapes, recorded)
        return trace

    def _known(self, shapes: list[tf.TensorShape], recorded: bool) -> Trace | None:
        for trace in self._traces:
            if trace.watch.unchanged() and trace.serves(recorded) and trace.accepts(shapes):
                return trace
        return None

    def _new_trace(self, shapes: list[tf.TensorShape], recorded: bool) -> Trace:
        # At most two traces, one for the first shapes and one for all others so far: if sizes never repeat, a
        # trace for each of them would cost more than it saves.
        valid = [trace for trace in self._traces if trace.watch.unchanged()]
        others = [trace for trace in valid if not trace.serves(recorded)]
        valid = [trace for trace in valid if trace.serves(recorded)]
        relaxed = map(tf.TensorShape.most_specific_compatible_shape, self._relaxed, shapes)
        self._relaxed = list(relaxed)
        trace: Trace = converted_if_needed(self._make_trace, self._relaxed, recorded)
        self._traces = [*others, *valid[:1], trace]
        return trace


class LatestCall:
    """The trace of the latest call, for calls that differ only in the values of their only tensor."""

    def __init__(self) -> None:
        self._known: Any = None

    def note(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        given: tuple[Any, ...],
        conditions: Any,
        trace: Any,
    ) -> None:
        """Records a call, unless its arguments are more than one tensor, or had to be converted.

        Args:
            args: the arguments, converted.
            kwargs: the keyword arguments.
            given: the arguments before that.
            conditions: all else that the choice of a trace depends on.
            trace: the trace that serves it.
        """
        is_one = len(args) == 1 and not kwargs and args[0] is given[0]
        if is_one and isinstance(args[0], tf.Tensor) and get_mask(args[0]) is None:
            self._known = type(args[0]), args[0].dtype, args[0].shape, conditions, trace

    def trace_for(self, args: tuple[Any, ...], kwargs: dict[str, Any], conditions: Any) -> Any:
        """Returns the trace, if it serves a call with these arguments as they are; `None` otherwise."""
        known = self._known
        if known is None or kwargs or len(args) != 1:
            return None
        kind, dtype, shape, same, trace = known
        (x,) = args
        # The type comes first: it tells whether the argument is a tensor with values.
        is_alike = type(x) is kind and x.dtype is dtype and x.shape == shape and same == conditions
        return trace if is_alike and get_mask(x) is None else None
