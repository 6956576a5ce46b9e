"""Calls of traced functions that tapes record, as direct as calls that no tape follows."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import (
    GradientFunctions,
    call_in_this_thread,
    context,
    could_possibly_record,
    possible_gradients,
    record_operation,
    variable_accessed,
)
from tfkit.src.engine.function_defs import results_of
from tfkit.src.engine.small_calls import CallSize, SmallCalls


class RecordedCalls:
    """The calls of a function that tapes record.

    TensorFlow makes a function that also returns what the gradient needs, and a function of the gradient. It
    takes 200 microseconds to call each of them; here they are called by name, in the calling thread if they
    are small.

    Args:
        function: a `ConcreteFunction` from tensors to a list of tensors.
        only_reads: whether a call changes nothing.
    """

    def __init__(self, function: Any, only_reads: bool) -> None:
        self._function = function
        self._small = SmallCalls(function, CallSize(function)) if only_reads else None
        self._pairs: dict[int, _Pair] = {}

    def run(self, tensors: list[tf.Tensor]) -> list[tf.Tensor] | None:
        """Returns the results; `None` if no tape watches an argument or a variable."""
        function = self._function
        for variable in function.graph.variables:
            variable_accessed(variable)
        arguments = [*tensors, *function.captured_inputs]
        kind = possible_gradients(arguments)
        if not kind:
            return None
        pair = self._pairs.get(kind)
        if pair is None:
            self._pairs[kind] = pair = _Pair(function, arguments, kind)
        if self._small is not None and self._small.include(tensors):
            # An error does not say which operation raised it. That of the call below does.
            with contextlib.suppress(tf.errors.OpError):
                return pair.record(pair.forward.in_this_thread(arguments), arguments, True)
        return pair.record(pair.forward.in_pool(arguments), arguments, False)


class _Named:
    """A function that is registered in TensorFlow."""

    def __init__(
        self, name: bytes, inputs: Sequence[tf.Tensor], outputs: Sequence[tf.Tensor]
    ) -> None:
        self._name, self._num_outputs = name, len(outputs)
        self._dtypes = [[it.dtype.as_datatype_enum for it in each] for each in (inputs, outputs)]

    def in_this_thread(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        return call_in_this_thread(self._name, tensors, *self._dtypes)

    def in_pool(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        return context.context().call_function(self._name, tensors, self._num_outputs) or []


class _Pair:
    """A function that also returns what its gradient needs, and the function of the gradient."""

    def __init__(self, function: Any, arguments: list[tf.Tensor], kind: int) -> None:
        self._made = made = GradientFunctions(function, arguments, kind)
        outputs, backward = made.outputs, made.backward
        self.forward = _Named(made.forward.name, function.inputs, outputs)
        self._backward = _Named(backward.name, backward.inputs, backward.outputs)
        self._name = made.forward.name.decode()
        places = {id(it): index for index, it in enumerate(outputs)}
        # What the gradient reads of the forward call, or of other tensors.
        self._needed = [places.get(id(it), it) for it in backward.captured_inputs]
        self._gradients_of = made.trainable[: len(backward.inputs) - len(self._needed)]
        self._num_recorded = self._gradients_of[-1] + 1 if self._gradients_of else 0
        self._num_results = len(results_of(function))
        self._structure = backward.structured_outputs

    def record(
        self, outputs: list[tf.Tensor], arguments: list[tf.Tensor], is_small: bool
    ) -> list[tf.Tensor]:
        def backward(*gradients: Any) -> Any:
            return self._gradients(gradients, outputs, is_small)

        record_operation(self._name, outputs[: self._num_recorded], arguments, backward)
        return outputs[: self._num_results]

    def _gradients(self, gradients: Sequence[Any], outputs: list[tf.Tensor], is_small: bool) -> Any:
        """Returns the gradient of each argument, given those of the outputs."""
        # Gradients of a higher order, or of many values at once.
        if could_possibly_record() or not tf.executing_eagerly():
            return self._made.wrapped(outputs)(*gradients)
        inputs = [
            tf.zeros_like(outputs[index])
            if gradients[index] is None
            else tf.convert_to_tensor(gradients[index])
            for index in self._gradients_of
        ]
        inputs += [outputs[it] if isinstance(it, int) else it for it in self._needed]
        run = self._backward.in_this_thread if is_small else self._backward.in_pool
        results = iter(run(inputs))
        return [_packed(it, results) for it in self._structure]


def _packed(structure: Any, results: Any) -> Any:
    if structure is None:
        return None
    if isinstance(structure, tf.IndexedSlices):
        return tf.nest.pack_sequence_as(
            structure,
            [next(results) for _ in tf.nest.flatten(structure, expand_composites=True)],
            expand_composites=True,
        )
    return next(results)
