"""Counters taken out of programs: integer variables, such as the positions of streams of seeds.

A function that changes nothing else, and adds constants to them, follows from their values, which are known
for each of several calls before the first one. So these calls need not wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.engine.function_defs import results_of, traced_apart
from tfkit.src.engine.shared_programs import SharedProgram
from tfkit.src.engine.small_calls import CallSize

_READ, _ADD = "ReadVariableOp", "AssignAddVariableOp"
_lock = threading.Lock()  # Two threads must not take the same values.


class Counters:
    """The counters of a function, and the function without them.

    Args:
        function: a `ConcreteFunction`.
        added: for the argument that is the resource of a counter, the constants that are added to it.

    Attributes:
        original: the function.
        function: a function of the same arguments and a value of each counter, which changes no counter.
        values: the specs of these values.
        steps: by how much each counter moves in a call.
    """

    def __init__(self, function: Any, added: dict[str, list[Any]]) -> None:
        self.original = function
        count = len(function.inputs) - len(function.captured_inputs)
        self._arguments = function.inputs[:count]
        captured = zip(function.inputs[count:], function.captured_inputs, strict=True)
        self._captured = {inside.name: outside for inside, outside in captured}
        self._counters = {inside: self._captured[inside] for inside in added}
        self.steps = [tf.constant(sum(values)) for values in added.values()]
        specs = [
            tf.TensorSpec(it.shape, it.dtype, f"counters_argument_{index}")
            for index, it in enumerate([*self._arguments, *self.steps])
        ]
        self.values = specs[count:]
        self.function = traced_apart(self._run_from, *specs)

    def take(self, num_calls: int = 1) -> list[tf.Tensor]:
        """Returns the values for the first of the next calls; the counters move on past all of them."""
        values = []
        with _lock:
            for resource, step in zip(self._counters.values(), self.steps, strict=True):
                values.append(tf.raw_ops.ReadVariableOp(resource=resource, dtype=step.dtype))
                # Past the values of calls that an error may prevent: no other call draws the same.
                moved = step if num_calls == 1 else step * num_calls
                tf.raw_ops.AssignAddVariableOp(resource=resource, value=moved)
        return values

    def call(self, batch: list[tf.Tensor], values: Sequence[tf.Tensor], index: tf.Tensor) -> Any:
        """Returns the results of a call; in a trace.

        Args:
            batch: the arguments.
            values: the values for the first of several calls.
            index: the number of calls before this one.
        """
        passed = [
            value + step * tf.cast(index, step.dtype)
            for value, step in zip(values, self.steps, strict=True)
        ]
        return self.function(*batch, *passed)

    def _run_from(self, *tensors: tf.Tensor) -> list[tf.Tensor]:
        """Returns the results of the function, for its arguments and the values of the counters."""
        count, graph = len(self._arguments), tf.compat.v1.get_default_graph()
        values = dict(zip(self._counters, tensors[count:], strict=True))
        given = dict(zip([it.name for it in self._arguments], tensors[:count], strict=True))
        for index, (inside, outside) in enumerate(self._captured.items()):
            if inside not in values:
                # The names of the function's operations are kept, for messages: these must differ.
                given[inside] = graph.capture(outside, name=f"counters_captured_{index}")
        # What reads and changes them is left out of the graph, and so are the variables themselves.
        absent = {it.partition(":")[0] for it in values}
        for op in self.original.graph.get_operations():
            if op.type in (_READ, _ADD) and op.inputs[0].name in values:
                absent.add(op.name)
                if op.type == _ADD:
                    values[op.inputs[0].name] += tf.get_static_value(op.inputs[1])
                elif op.outputs[0].consumers():
                    given[op.outputs[0].name] = values[op.inputs[0].name]
        definition = self.original.graph.as_graph_def()
        nodes = [node for node in definition.node if node.name not in absent]
        for node in nodes:
            # Nothing is left to be waited for.
            node.input[:] = [it for it in node.input if it[0] != "^" or it[1:] not in absent]
        del definition.node[:]
        definition.node.extend(nodes)
        results = [it.name for it in results_of(self.original)]
        return tf.graph_util.import_graph_def(definition, given, results, name="")


class CountingProgram:
    """A program that changes only counters, called with the values that it finds.

    Args:
        counters: the counters of the function.
        program: the program of the function without them.
    """

    def __init__(self, counters: Counters, program: SharedProgram) -> None:
        self.counters = counters
        self._program = program

    def __call__(self, *tensors: Any) -> Any:
        """Returns the results for tensors in the form that the function was traced for."""
        outputs = self.run_flat(list(tensors))
        return tf.nest.pack_sequence_as(self.counters.original.structured_outputs, outputs)

    def run_flat(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the flat results for flat arguments."""
        return self._program.run_flat([*tensors, *self.counters.take()])


def program_of(function: Any, size: CallSize | None = None) -> SharedProgram | CountingProgram:
    """Returns a program that runs a traced function without gradients.

    Args:
        function: a `ConcreteFunction` whose results are a nest of dense tensors.
        size: the size of its calls, if it has been computed.
    """
    program = SharedProgram(function, size=size)
    captures = function.inputs[len(function.inputs) - len(function.captured_inputs) :]
    added = {it.name: values for it in captures if (values := _added(it))}
    if program.only_reads or not added:
        return program
    counters = Counters(function, added)
    without = SharedProgram(counters.function, size=size)
    # It may change other variables, too.
    return CountingProgram(counters, without) if without.only_reads else program


def _added(resource: tf.Tensor) -> list[Any]:
    """Returns the integers that a function adds to a variable; none if it does anything else with it."""
    uses = resource.consumers()
    if resource.dtype != tf.resource or any(op.type not in (_READ, _ADD) for op in uses):
        return []
    # Sums of floats would depend on the number of calls at a time.
    added = [op.inputs[1] for op in uses if op.type == _ADD]
    values = [tf.get_static_value(it) if it.dtype.is_integer else None for it in added]
    return [] if any(it is None for it in values) else values
