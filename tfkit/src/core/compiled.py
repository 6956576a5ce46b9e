"""Compiles direct calls: `layer(x)` outside of any other compiled function.

The first call of a kind (same nest, dtypes, ranks, flags) runs eagerly: it builds the layer,
and an error in a user's `call` shows the user's line. From the second call on, a traced function
runs instead. Outputs, masks and `add_loss` values are its results.

A call that sets attributes (`self.steps += 1`, `self.scores = scores`) does on each call what a trace would
do only once, so it remains eager, like a call that cannot be traced. A changed attribute
of any layer that took part (`layer.rate = 0.1`, `layer.trainable = False`) makes the trace stale.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base import context, execution
from tfkit.src.base.calls import next_call
from tfkit.src.base.context import Lock
from tfkit.src.base.errors import kernel_errors
from tfkit.src.base.watching import StateWatch
from tfkit.src.borrowed.private import could_possibly_record
from tfkit.src.core.state import LayerState
from tfkit.src.engine.autograph import converted_if_needed
from tfkit.src.symbolic import descriptions

_log = logging.getLogger("tfkit")


class DirectCalls:
    """The traces of one layer's direct calls.

    Args:
        state: the layer's bookkeeping.
    """

    def __init__(self, state: LayerState) -> None:
        self._state = state
        self._tfkit_call_in_phases = state.layer._tfkit_call_in_phases
        # The settings passed to `compile`, for a model.
        self._settings: Any = state.layer._tfkit_settings
        self._kinds: dict[Any, _Kind | None] = {}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns what `forward(args, kwargs)` returns."""
        tensors: list[tf.Tensor] = []
        try:
            uses_xla = self._settings is not None and self._settings.jit_compile is True
            description = descriptions.describe_call(args, kwargs, tensors)
            kind_key = (uses_xla, description)
        except descriptions.NotDescribed:
            return self._tfkit_call_in_phases(args, kwargs)
        if kind_key not in self._kinds:
            outputs = self._tfkit_call_in_phases(args, kwargs)
            make_call = self._settings.xla_call if self._settings and uses_xla else _plain_call
            made = _Kind(description, [tensor.shape for tensor in tensors], make_call)
            # Another thread may have made it in the meantime.
            self._kinds.setdefault(kind_key, made)
            return outputs
        kind = self._kinds[kind_key]
        # `None`: tracing failed once, and would fail again.
        if kind is None or kind.first_time(tensors):
            return self._tfkit_call_in_phases(args, kwargs)
        try:
            # A tape cannot follow what only predicts, and XLA computes nothing by kernels.
            recorded = uses_xla or could_possibly_record()
            trace = kind.trace_for(tensors, self._tfkit_call_in_phases, recorded)
        except Exception as error:
            # If XLA was requested, the user must see why it cannot be used. Otherwise the eager call computes
            # the same values, only more slowly: the failed trace changed nothing, since attributes cannot be
            # set in it.
            if uses_xla:
                raise
            _log.debug("%s stays eager: %s", self._tfkit_call_in_phases, error)
            self._kinds[kind_key] = None
            return self._tfkit_call_in_phases(args, kwargs)
        return trace.run(tensors, self._state)


def _plain_call(program: Any, path_of: Any) -> Any:
    return execution.plain_call(program)


class _Kind:
    """Direct calls that differ only in shapes: one trace for the first shapes, one for all others."""

    def __init__(
        self, description: Any, shapes: list[tf.TensorShape], make_call: Callable[..., Any]
    ) -> None:
        self._description = description
        self._make_call = make_call
        self._relaxed = shapes
        self._traces: list[_Trace] = []
        self._lock = Lock()
        self._sizes = {tuple(tuple(shape)[1:] for shape in shapes)}

    def first_time(self, tensors: list[tf.Tensor]) -> bool:
        """Whether sizes other than the batch size are new: the call then runs eagerly, and is checked."""
        sizes = tuple(tuple(tensor.shape)[1:] for tensor in tensors)
        if sizes in self._sizes:
            return False
        self._sizes.add(sizes)
        return True

    def trace_for(
        self, tensors: list[tf.Tensor], forward: Callable[..., Any], recorded: bool
    ) -> _Trace:
        """Returns a trace that accepts these tensors, and that a tape can follow if it is `recorded`."""
        shapes = [tensor.shape for tensor in tensors]
        trace = self._known(shapes, recorded)
        if trace is None:
            with self._lock:  # Threads that need the same trace do not make it twice.
                trace = self._known(shapes, recorded) or self._new_trace(shapes, forward, recorded)
        return trace

    def _known(self, shapes: list[tf.TensorShape], recorded: bool) -> _Trace | None:
        for trace in self._traces:
            if trace.watch.unchanged() and trace.serves(recorded) and trace.accepts(shapes):
                return trace
        return None

    def _new_trace(
        self, shapes: list[tf.TensorShape], forward: Callable[..., Any], recorded: bool
    ) -> _Trace:
        # At most two traces, one for the first shapes and one for all others so far: if sizes never repeat, a
        # trace for each of them would cost more than it saves.
        valid = [trace for trace in self._traces if trace.watch.unchanged()]
        others = [trace for trace in valid if not trace.serves(recorded)]
        valid = [trace for trace in valid if trace.serves(recorded)]
        relaxed = map(tf.TensorShape.most_specific_compatible_shape, self._relaxed, shapes)
        self._relaxed = list(relaxed)
        arguments = self._description, self._relaxed, forward, self._make_call, recorded
        trace = converted_if_needed(_Trace, *arguments)
        self._traces = [*others, *valid[:1], trace]
        return trace


class _Trace:
    """One traced call."""

    def __init__(
        self,
        description: Any,
        shapes: list[tf.TensorShape],
        forward: Callable[..., Any],
        make_call: Callable[..., Any],
        recorded: bool,
    ) -> None:
        self._shapes = shapes
        self._recorded = recorded
        self._loss_states: list[LayerState] = []

        def program(*tensors: tf.Tensor) -> list[tf.Tensor]:
            args, kwargs = descriptions.rebuild(description, iter(tensors))
            graph = None if recorded else tf.compat.v1.get_default_graph()
            with StateWatch(frozen=True) as self.watch, context.within(only_predicts=graph):
                outputs = forward(args, kwargs)
            results: list[tf.Tensor] = []
            self._outputs = descriptions.describe(outputs, results)
            # Losses are returned like outputs: a tensor of the trace has no value outside of it.
            for below in [it for it in self.watch.noted if isinstance(it, LayerState)]:
                self._loss_states += [below] * len(below.losses)
                results += below.losses
                below.losses = []
            # A loss of the outputs is exact with the logits that they were made of.
            self._logits = descriptions.append_logits(results)
            return results

        self._program = tf.function(program, autograph=False).get_concrete_function(
            *descriptions.specs_of(description, shapes)
        )
        self._call = make_call(self._program, self.watch.path_of)

    def serves(self, recorded: bool) -> bool:
        """Whether the trace is for calls that a tape follows, or that no tape follows."""
        return self._recorded == recorded or not self.watch.depends_on_tapes

    def accepts(self, shapes: list[tf.TensorShape]) -> bool:
        """Whether the trace accepts tensors of these shapes."""
        return all(
            mine.is_compatible_with(given) for mine, given in zip(self._shapes, shapes, strict=True)
        )

    def run(self, tensors: list[tf.Tensor], state: LayerState) -> Any:
        """Returns the outputs for these tensors, and passes losses to the layers that added them."""
        results = iter(descriptions.with_logits(self._results(tensors), self._logits))
        outputs = descriptions.rebuild(self._outputs, results)
        state.begin_call(next_call())
        for below, loss in zip(self._loss_states, results, strict=True):
            below.begin_call(state.part_here().call)
            below.losses.append(loss)
        return outputs

    def _results(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        try:
            # A tape cannot follow a program that is called by its name.
            if could_possibly_record():
                return self._call.run_recorded(tensors)
            return self._call.run(tensors)
        except tf.errors.OpError as error:
            raise kernel_errors.in_layer(error, self.watch.path_of, self._program.graph) from None
