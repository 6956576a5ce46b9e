"""Compiles direct calls: `layer(x)` outside of any other compiled function.

The first call of a kind (same nest, dtypes, ranks, flags) runs eagerly: it builds the layer,
and an error in a user's `call` shows the user's line. From the second call on, a traced function
runs instead. Outputs, masks and `add_loss` values are its results.

A call that sets attributes (`self.steps += 1`, `self.scores = scores`) does on each call what a trace would
do only once, so it remains eager, like a call that cannot be traced; so does one that draws by NumPy, prints,
or reads what has changed since the previous call (`engine/surroundings.py`). A changed attribute
of any layer that took part (`layer.rate = 0.1`, `layer.trainable = False`) makes the trace stale.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base import context, execution
from tfkit.src.base.calls import next_call
from tfkit.src.base.errors import kernel_errors
from tfkit.src.base.watching import StateWatch, latest_change
from tfkit.src.borrowed.private import context as tensorflow
from tfkit.src.borrowed.private import could_possibly_record, pack_tangents
from tfkit.src.core import tracking
from tfkit.src.core.state import LayerState
from tfkit.src.symbolic import descriptions
from tfkit.src.symbolic.descriptions import Kind, LatestCall

_log = logging.getLogger("tfkit")


class DirectCalls:
    """The traces of one layer's direct calls.

    Args:
        state: the layer's bookkeeping.
    """

    def __init__(self, state: LayerState) -> None:
        self._state = state
        self._forward = state.layer._tfkit_call_in_phases
        # The settings passed to `compile`, for a model.
        self._settings: Any = state.layer._tfkit_settings
        self._kinds: dict[Any, Kind | None] = {}
        self._latest = LatestCall()
        find_layers = functools.partial(tracking.all_layers, state.layer)
        self._surroundings = execution.surroundings_of(find_layers)
        self._values: Any = None

    def repeated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Trace | None:
        """Returns the trace that ran last, if it is certain that it is the right one for this call, too."""
        return self._latest.trace_for(args, kwargs, self._conditions)

    def _conditions(self) -> tuple[int, bool, bool, Any, bool, Any]:
        """Returns all that the choice of a trace depends on, apart from the arguments."""
        has_effects, values = self._surroundings.now()
        uses_xla = self._settings is not None and self._settings.jit_compile is True
        recorded, seed = could_possibly_record(), tensorflow.global_seed()
        # Of no tensors: an item for each `ForwardAccumulator`. TensorFlow cannot differentiate a loop in a
        # trace forward after a tape has followed it.
        is_forward = recorded and bool(pack_tangents([]).indices)
        return latest_change(), uses_xla, recorded, seed, is_forward or has_effects, values

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns what `forward(args, kwargs)` returns."""
        tensors: list[tf.Tensor] = []
        conditions = _, uses_xla, recorded, seed, must_be_eager, values = self._conditions()
        # An array is like the latest tensor once it is converted.
        if latest := self._latest.trace_for(args, kwargs, lambda: conditions):
            return latest.run([*args], self._state)
        if values != self._values:
            # Not cleared: another thread may be looking in it.
            self._kinds, self._values = {}, values
        kinds = self._kinds
        if must_be_eager:
            return self._forward(args, kwargs)
        try:
            description = descriptions.describe_call(args, kwargs, tensors)
            kind_key = (uses_xla, description)
        except descriptions.NotDescribed:
            return self._forward(args, kwargs)
        if kind_key not in kinds:
            outputs = self._forward(args, kwargs)
            make_call = self._settings.xla_call if self._settings and uses_xla else _plain_call
            make_trace = functools.partial(_Trace, description, make_call, self._forward)
            made = Kind(make_trace, [tensor.shape for tensor in tensors])
            # Another thread may have made it in the meantime.
            kinds.setdefault(kind_key, made)
            return outputs
        kind = kinds[kind_key]
        # `None`: tracing failed once, and would fail again.
        if kind is None or kind.first_time(tensors):
            return self._forward(args, kwargs)
        try:
            # A tape cannot follow what only predicts, and XLA computes nothing by kernels.
            trace = kind.trace_for(tensors, uses_xla or recorded)
            # As in Keras, draws by TensorFlow's kernels follow each other from a seed on.
            if seed is not None and trace.call.has_draws:
                return self._forward(args, kwargs)
            outputs = trace.run(tensors, self._state)
        except Exception as error:
            # If XLA was requested, the user must see why it cannot be used. Otherwise the eager call computes
            # the same values, only more slowly: what cannot be traced, or differentiated, changed nothing.
            if uses_xla or isinstance(error, tf.errors.OpError):
                raise
            _log.debug("%s stays eager: %s", self._forward, error)
            kinds[kind_key] = None
            return self._forward(args, kwargs)
        self._latest.note(args, kwargs, conditions, trace)
        return outputs


def _plain_call(program: Any, path_of: Any) -> Any:
    return execution.plain_call(program)


class _Trace:
    """One traced call."""

    def __init__(
        self,
        description: Any,
        make_call: Callable[..., Any],
        forward: Callable[..., Any],
        shapes: list[tf.TensorShape],
        recorded: bool,
    ) -> None:
        self._shapes = shapes
        self._recorded = recorded
        self._loss_states: list[LayerState] = []

        def program(*tensors: tf.Tensor) -> list[tf.Tensor]:
            args, kwargs = descriptions.rebuild(description, iter(tensors))
            graph = None if recorded else tf.compat.v1.get_default_graph()
            settings = context.within(only_predicts=graph, direct=True)
            with StateWatch(frozen=True) as self.watch, settings:
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
        self.call = make_call(self._program, self.watch.path_of)

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
                return self.call.run_recorded(tensors)
            return self.call.run(tensors)
        except tf.errors.OpError as error:
            raise kernel_errors.in_layer(error, self.watch.path_of, self._program.graph) from None
