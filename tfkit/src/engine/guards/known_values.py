"""Finds values that are known without running a trace: constants, and arithmetic on ranks and sizes.

TensorFlow's gradients compute shapes and axes with operations that can refuse values, a dozen in each
reduction. These values are known as soon as they are traced, so they need no check in the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.engine.guards.check import Check, Operation
from tfkit.src.engine.guards.sizes import Sizes
from tfkit.src.engine.guards.table import kind_of

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "AddV2": np.add,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "GatherV2": lambda values, indices, axis: np.take(values, indices, int(axis)),
    "Identity": lambda value: value,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Mul": np.multiply,
    "Prod": lambda values, axis: np.prod(values, axis=tuple(np.atleast_1d(axis))),
    "Range": np.arange,
    "Reshape": np.reshape,
    "Sub": np.subtract,
}
# Python's stack limits the depth of the search, and chains of arithmetic on sizes are shorter.
_DEPTH = 20  # How many operations are followed back from a value.
# Operations whose results depend only on shapes.
SHAPES = frozenset(("Rank", "Shape", "ShapeN", "Size", "TensorListLength", "VariableShape"))


class KnownValues:
    """The known values of one graph.

    Args:
        graph: a `FuncGraph`; `None` if it is not available, so that nothing is known.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._known: dict[Any, np.ndarray | None] = {}
        self._of_shapes: set[str] = set()
        self._sizes = Sizes(lambda tensor: self._value(tensor, _DEPTH))

    def settle(self, check: Check, node: Any) -> bool:
        """Whether known values show that an operation need not be checked."""
        if check.settled(node.attr, self.inputs_of(node.name)):
            return True
        operation = self._operation(node.name)
        if operation is None:
            return False
        return self._lies_in(check, operation) or check.settled_by_sizes(operation, self._sizes)

    def _lies_in(self, check: Check, operation: tf.Operation) -> bool:
        """Whether known values are within known bounds."""
        if check.bound is None:
            return False
        inputs, outputs = list(operation.inputs), list(operation.outputs)
        tensor, size = check.bound(Operation(inputs, outputs, operation.node_def.attr))
        values = None if size is None else self._value(tensor, _DEPTH)
        return values is not None and bool(((values >= 0) & (values < size)).all())

    def inputs_of(self, name: str) -> dict[int, np.ndarray]:
        """Returns the known inputs of an operation, by index."""
        operation = self._operation(name)
        inputs = () if operation is None else operation.inputs
        values = {index: self._value(tensor, _DEPTH) for index, tensor in enumerate(inputs)}
        return {index: value for index, value in values.items() if value is not None}

    def shapes_of(self, name: str) -> tuple[list[Any], list[Any]]:
        """Returns the static shapes of an operation's inputs and outputs; none without its graph."""
        operation = self._operation(name)
        if operation is None:
            return [], []
        return [each.shape for each in operation.inputs], [each.shape for each in operation.outputs]

    def are_of_shapes(self, name: str, places: Iterable[int]) -> bool:
        """Whether the inputs with these indices depend only on shapes, which XLA knows when it compiles."""
        operation = self._operation(name)
        inputs = () if operation is None else operation.inputs
        # Outputs have indices after the inputs; they depend on what XLA computes.
        return operation is not None and all(
            place < len(inputs) and self._is_of_shapes(inputs[place].op) for place in places
        )

    def _operation(self, name: str) -> tf.Operation | None:
        """Returns an operation of the graph; `None` if it or the graph is not available."""
        try:
            return self._graph.get_operation_by_name(name)
        except (AttributeError, KeyError, ValueError):
            return None

    def _is_of_shapes(self, operation: tf.Operation) -> bool:
        # The operations in `seen` depend only on shapes if none of them has any other source, which is known
        # at the end. So the common list is extended only then.
        pending, seen = [operation], set()
        while pending:
            each = pending.pop()
            if each.type in SHAPES or each.type == "Const":
                continue
            if each.name in seen or each.name in self._of_shapes:
                continue
            if not each.inputs or kind_of(each.type) == "unguarded" or each.op_def.is_stateful:
                return False
            seen.add(each.name)
            pending += [tensor.op for tensor in each.inputs]
        self._of_shapes |= seen
        return True

    def _value(self, tensor: tf.Tensor, depth: int) -> np.ndarray | None:
        # None of these dtypes holds sizes or indices.
        if tensor.dtype in (tf.resource, tf.variant, tf.string) or not depth:
            return None
        key = tensor.ref()
        # Kept even where the depth ended the search: a value is requested many times, and not knowing it
        # costs only a check.
        if key not in self._known:
            self._known[key] = self._computed(tensor, depth)
        return self._known[key]

    def _computed(self, tensor: tf.Tensor, depth: int) -> np.ndarray | None:
        operation = tensor.op
        if operation.type not in _ARITHMETIC:
            value = tf.get_static_value(tensor)
            return None if value is None else np.asarray(value)
        inputs = [self._value(each, depth - 1) for each in operation.inputs]
        if any(value is None for value in inputs):
            return None
        try:
            # A division by zero is an error here: NumPy's value for it must not count as known.
            with np.errstate(all="raise"):
                return np.asarray(_ARITHMETIC[operation.type](*inputs))
        except (ArithmeticError, IndexError, ValueError):
            return None  # TensorFlow's kernel refuses it.
