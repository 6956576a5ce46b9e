"""Calls of traced functions that tapes record, as direct as calls that no tape follows."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import (
    GradientFunctions,
    could_possibly_record,
    possible_gradients,
    record_operation,
    variable_accessed,
)
from tfkit.src.engine.function_defs import results_of
from tfkit.src.engine.shared_programs import SharedProgram


class RecordedCalls:
    """The calls of a function that tapes record.

    TensorFlow makes a function that also returns what the gradient needs, and a function of the gradient. It
    takes 200 microseconds to call each of them, and a program 20 to 60.

    Args:
        function: a `ConcreteFunction` from tensors to a list of tensors.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
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
        return pair.run(arguments)


class _Pair:
    """A function that also returns what its gradient needs, and the function of the gradient."""

    def __init__(self, function: Any, arguments: list[tf.Tensor], kind: int) -> None:
        self._made = made = GradientFunctions(function, arguments, kind)
        outputs, backward = made.outputs, made.backward
        self._forward = _program(
            made.forward.cached_definition, function.graph, function.inputs, outputs
        )
        self._backward = _program(
            backward.function_def, backward.graph, backward.inputs, backward.outputs
        )
        self._name = made.forward.name.decode()
        places = {id(it): index for index, it in enumerate(outputs)}
        # What the gradient reads of the forward call, or of other tensors.
        self._needed = [places.get(id(it), it) for it in backward.captured_inputs]
        self._gradients_of = made.trainable[: len(backward.inputs) - len(self._needed)]
        self._num_recorded = self._gradients_of[-1] + 1 if self._gradients_of else 0
        self._num_results = len(results_of(function))
        self._structure = backward.structured_outputs

    def run(self, arguments: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results, and puts the call on the tapes."""
        outputs = self._forward.run_flat(arguments)

        def backward(*gradients: Any) -> Any:
            return self._gradients(gradients, outputs)

        record_operation(self._name, outputs[: self._num_recorded], arguments, backward)
        return outputs[: self._num_results]

    def _gradients(self, gradients: Sequence[Any], outputs: list[tf.Tensor]) -> Any:
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
        results = iter(self._backward.run_flat(inputs))
        return [_packed(it, results) for it in self._structure]


def _program(
    definition: Any, graph: Any, inputs: list[tf.Tensor], outputs: list[tf.Tensor]
) -> SharedProgram:
    """Returns the program of a function whose captured tensors are passed."""
    parts = {"function_def": definition, "graph": graph, "inputs": inputs, "outputs": outputs}
    return SharedProgram(SimpleNamespace(**parts, captured_inputs=[], structured_outputs=outputs))


def _packed(structure: Any, results: Any) -> Any:
    """Returns the next tensor, in the form of an `IndexedSlices` if it is one, or `None`."""
    if structure is None:
        return None
    if isinstance(structure, tf.Tensor):
        return next(results)
    parts = [next(results) for _ in tf.nest.flatten(structure, expand_composites=True)]
    return tf.nest.pack_sequence_as(structure, parts, expand_composites=True)
