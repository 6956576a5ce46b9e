"""Cuts the graph of a step in two: work on strings that depends on the batch alone, and the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import add_function, functions_of_graph, op_def_registry
from tfkit.src.engine import xla
from tfkit.src.engine.function_defs import functions_in
from tfkit.src.engine.guards.table import HARMLESS, is_listed
from tfkit.src.layers.preprocessing.tables import is_constant_table
from tfkit.src.training.step import StepTrace, trace_once

# Operations that TensorFlow counts as stateful, although equal inputs give equal results.
_REPEATABLE = ("LookupTableFindV2", "LookupTableSizeV2", "Assert")
# Calls count as stateful too, if the function may contain a stateful operation.
_CALLS = ("StatefulPartitionedCall", "If", "Case", "While")
# Numbers of rows for which shapes are inferred: two primes, which no other axis has, and 1. If the sizes of
# an axis differ and are not these numbers, as in `x[1:]`, in `concat([x, x], 0)`, or in `x[:4]` of one row,
# the size is not known.
_TRIED = (7919, 7907, 1)
# The size of an axis that has an entry for each row.
_ROWS = "rows"
# The sizes of a tensor: integers, `_ROWS`, and `None` for an unknown size; `None` alone for an unknown rank.
_Sizes = list[int | str | None] | None
# Operations that XLA cannot compile, or that have a guard, and whose kernel refuses no values here.
_ACCEPTING = """
    AsString DenseBincount LookupTableFindV2 LookupTableSizeV2 RaggedTensorToTensor ReduceJoin
    SparseCross SparseCrossV2 SparseCrossHashed StaticRegexFullMatch StaticRegexReplace StridedSlice
    StringJoin StringLength StringLower StringNGrams StringSplitV2 StringStrip StringToHashBucket
    StringToHashBucketFast StringToHashBucketStrong StringUpper
"""


class Cut:
    """A cut through the graph of a step.

    Args:
        trace: the step.

    Attributes:
        inputs: the components of a batch, in the graph.
        moved: the operations of the preparation.
        left: the operations of the rest.
        crossing: the tensors of the preparation, or of the batch, that the rest reads.
        is_even: whether each of them has as many rows as the batch, or a static size.
    """

    def __init__(self, trace: StepTrace) -> None:
        function = trace.function
        self._graph = function.graph
        self._definitions = {node.name: node for node in trace.definition.node}
        self._library = {it.signature.name: it.node_def for it in trace.definition.library.function}
        count = len(function.inputs) - len(function.captured_inputs)
        self.inputs = function.inputs[:count]
        # The components of ragged and sparse tensors do not have as many entries as the batch has rows.
        parts = [tf.nest.flatten(spec, expand_composites=True) for spec in trace.specs]
        have_rows = [
            part is spec for spec, own in zip(trace.specs, parts, strict=True) for part in own
        ]
        self._with_rows = {it.name for it, has in zip(self.inputs, have_rows, strict=True) if has}
        self._captured = dict(
            zip(
                (it.op.name for it in function.inputs[count:]),
                function.captured_inputs,
                strict=True,
            )
        )
        self._outputs = {tensor.ref() for tensor in function.outputs}
        self._operations = self._graph.get_operations()
        effects = [op for op in self._operations if op.op_def.is_stateful]
        needed = self._with_inputs([*effects, *(tensor.op for tensor in function.outputs)])
        self._needed = needed
        self._operations = [
            op for op in self._operations if op.name in needed or op.type == "Placeholder"
        ]
        self._movable = self._find_movable()
        self._moved = self._with_inputs(
            op
            for op in self._movable.values()
            if op.type not in ("Const", "Placeholder")
            and (_has_strings(op) or self.needs_kernel(op))
        )

    @classmethod
    def of(cls, trace: StepTrace) -> Cut | None:
        """Returns the cut of a step; `None` if no work on strings can be moved."""
        if not any(_has_strings(op) for op in trace.function.graph.get_operations()):
            return None
        cut = cls(trace)
        moved = [op for op in cut._moved.values() if op.type != "Const"]
        if not (any(map(_has_strings, moved)) and any(map(cut.needs_kernel, moved))):
            return None
        cut._settle(trace.known_size)
        return cut

    def _find_movable(self) -> dict[str, Any]:
        """Returns the operations that depend on the batch and on constants alone, by name."""
        # A graph lists an operation after its inputs, so one pass is enough.
        given = {tensor.op.name for tensor in self.inputs}
        found: dict[str, Any] = {}
        for op in self._operations:
            if op.type == "Placeholder":
                captured = self._captured.get(op.name)
                if op.name in given or (captured is not None and _is_constant(captured)):
                    found[op.name] = op
                continue
            needed = (*(tensor.op for tensor in op.inputs), *op.control_inputs)
            if all(it.name in found for it in needed) and all(map(_is_repeatable, self._kinds(op))):
                found[op.name] = op
        return found

    def needs_kernel(self, op: Any) -> bool:
        """Whether XLA cannot compile an operation."""
        return any(not is_listed(kind) and xla.not_compilable(kind) for kind in self._kinds(op))

    def may_refuse(self, op: Any) -> bool:
        """Whether TensorFlow's kernel may refuse a value."""
        return any(
            kind not in HARMLESS and kind not in _ACCEPTING.split() for kind in self._kinds(op)
        )

    def type_of(self, name: str) -> str | None:
        """Returns the type of an operation, if it is one of the step's own graph."""
        node = self._definitions.get(name)
        return None if node is None else node.op

    def _kinds(self, op: Any) -> set[str]:
        """Returns the types of an operation and of the operations in functions that it calls."""
        kinds, left, seen = {op.type}, [self._definitions[op.name]], set()
        while left:
            node = left.pop()
            called = [
                node.op,
                *(it.name for value in node.attr.values() for it in functions_in(value)),
            ]
            for name in called:
                if name in self._library and name not in seen:
                    seen.add(name)
                    left += self._library[name]
                    kinds.update(it.op for it in self._library[name])
        return kinds - self._library.keys()

    def _with_inputs(self, operations: Iterable[Any]) -> dict[str, Any]:
        """Returns operations and all operations that they depend on, except placeholders."""
        found: dict[str, Any] = {}
        left = list(operations)
        while left:
            op = left.pop()
            if op.name not in found and op.type != "Placeholder":
                found[op.name] = op
                left += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        return found

    def _settle(self, known_size: int | None) -> None:
        """Moves the operations behind tensors of unknown size as well, as far as possible."""
        self._sizes_of = self._inferred_sizes(known_size)
        # Whether the rest of the step can see the number of rows in one of the other tensors.
        self._has_rows = any(
            self._begins_with_rows(tensor) for tensor in self.inputs if self._is_read(tensor)
        )
        while True:
            crossing = self._crossing()
            uneven = [tensor for tensor in crossing if not self._has_known_size(tensor)]
            behind = [
                op
                for tensor in uneven
                for op in tensor.consumers()
                if op.name in self._movable and op.name not in self._moved
            ]
            if not behind:
                break
            self._moved |= self._with_inputs(behind)
        self.crossing, self.is_even = crossing, not uneven
        self._sizes = [tensor for tensor in self._read_by_rest() if self._is_size(tensor)]
        self.moved = [op for op in self._operations if op.name in self._moved]
        self.left = [
            op
            for op in self._operations
            if op.type != "Placeholder"
            and (
                op.name not in self._moved
                or (op.type == "Const" and any(map(self._is_read, op.outputs)))
            )
        ]

    def _is_read(self, tensor: Any) -> bool:
        """Whether the rest of the step reads a tensor."""
        return tensor.ref() in self._outputs or any(
            op.name in self._needed and op.name not in self._moved for op in tensor.consumers()
        )

    def _read_by_rest(self) -> list[Any]:
        """Returns the tensors of the batch and of the preparation that the rest of the step reads."""
        moved = [op for op in self._operations if op.name in self._moved and op.type != "Const"]
        tensors = [*self.inputs, *(tensor for op in moved for tensor in op.outputs)]
        return [tensor for tensor in tensors if self._is_read(tensor)]

    def _crossing(self) -> list[Any]:
        return [tensor for tensor in self._read_by_rest() if not self._is_size(tensor)]

    def _is_size(self, tensor: Any) -> bool:
        """Whether a tensor is a shape of which only the number of rows is not known."""
        if tensor.op.type != "Shape" or not self._has_rows:
            return False
        sizes = self._sizes_of[tensor.op.inputs[0].name]
        return sizes is not None and None not in sizes

    def _begins_with_rows(self, tensor: Any) -> bool:
        return (self._sizes_of[tensor.name] or [None])[0] == _ROWS

    def sizes(self, tensors: Iterable[Any]) -> dict[str, Any]:
        """Returns the shapes that the rest of the step reads, for values of the crossing tensors.

        They are made from the shape of a different tensor, since XLA must know them when it compiles.
        """
        rows = next(
            (
                tf.shape(value)[0]
                for tensor, value in zip(self.crossing, tensors, strict=True)
                if self._begins_with_rows(tensor)
            ),
            None,
        )
        found = {}
        for tensor in self._sizes:
            of_tensor = self._sizes_of[tensor.op.inputs[0].name] or []
            sizes = [rows if size == _ROWS else size for size in of_tensor]
            found[tensor.name] = tf.cast(tf.stack(sizes), tensor.dtype)
        return found

    def _inferred_sizes(self, known_size: int | None) -> dict[str, _Sizes]:
        """Returns the sizes of all that can be moved.

        Args:
            known_size: rows of every batch, `None` for any number of rows.
        """
        operations = [op for op in self._movable.values() if op.type != "Placeholder"]
        tensors = [*self.inputs, *(tensor for op in operations for tensor in op.outputs)]
        tried = _TRIED if known_size is None else (known_size,)
        try:
            shapes = [self._inferred_shapes(operations, tensors, rows) for rows in tried]
        except ValueError:  # The step cannot have this number of rows.
            return {tensor.name: _as_list(tensor.shape) for tensor in tensors}
        found: dict[str, _Sizes] = {}
        for tensor, *tried_shapes in zip(tensors, *shapes, strict=True):
            ranks = {shape.rank for shape in tried_shapes}
            if len(ranks) > 1 or None in ranks:
                found[tensor.name] = _as_list(tensor.shape)
                continue
            found[tensor.name] = [
                _as_size(sizes, tried if known_size is None or not axis else ())
                for axis, sizes in enumerate(zip(*tried_shapes, strict=True))
            ]
        return found

    def _inferred_shapes(self, operations: list[Any], tensors: list[Any], rows: int) -> list[Any]:
        """Returns the shapes of tensors, for a number of rows."""
        shapes: list[tf.TensorShape] = []

        def infer(*inputs: tf.Tensor) -> None:
            given = self.by_name(self.inputs, inputs)
            shapes.extend(copy.shape for copy in self.run(operations, given, tensors))

        trace_once(infer, [self._sized(tensor, rows) for tensor in self.inputs])
        return shapes

    def _sized(self, tensor: Any, rows: int) -> tf.TensorSpec:
        shape = tensor.shape
        if tensor.name in self._with_rows and shape.rank and shape[0] is None:
            shape = [rows, *shape[1:]]
        return tf.TensorSpec(shape, tensor.dtype)

    def _has_known_size(self, tensor: Any) -> bool:
        sizes = self._sizes_of[tensor.name]
        return sizes is not None and (not sizes or sizes[0] is not None)

    def shape(self, tensor: Any) -> tf.TensorShape:
        """Returns the shape of a crossing tensor, for any number of rows."""
        sizes = self._sizes_of[tensor.name]
        if sizes is None:
            return tensor.shape
        free = tf.TensorShape([None if size == _ROWS else size for size in sizes])
        return tensor.shape.merge_with(free)

    def by_name(self, tensors: Iterable[Any], values: Iterable[Any]) -> dict[str, Any]:
        """Returns values by the names of the tensors of the step that they replace."""
        return {tensor.name: value for tensor, value in zip(tensors, values, strict=True)}

    def run(self, operations: list[Any], given: dict[str, Any], wanted: Iterable[Any]) -> list[Any]:
        """Adds copies of operations to the current trace.

        Args:
            operations: of the step's graph.
            given: tensors of the current trace that replace tensors of the step, by name.
            wanted: tensors of the step's graph.

        Returns:
            The copies of the tensors that are wanted.
        """
        graph = tf.compat.v1.get_default_graph()
        for function in functions_of_graph(self._graph):
            add_function(graph, function)
        names = {op.name for op in operations}
        definition = tf.compat.v1.GraphDef()
        definition.versions.CopyFrom(self._graph.graph_def_versions)
        read: set[str] = set()
        for op in operations:
            node = definition.node.add()
            node.CopyFrom(self._definitions[op.name])
            # It names operations that this one must share a device with, which may not be copied.
            node.attr.pop("_class", None)
            # A control input from the other side of the cut is dropped: what is moved has no effects to
            # wait for.
            kept = [it for it in node.input if not it.startswith("^") or it[1:] in names]
            node.input[:] = kept
            read.update(tensor.name for tensor in op.inputs)
        places = {name: value for name, value in given.items() if name in read}
        for name, held in self._captured.items():
            if f"{name}:0" in read and f"{name}:0" not in places:
                places[f"{name}:0"] = graph.capture(held)
        wanted = list(wanted)
        made = [tensor for tensor in wanted if tensor.name not in given]
        copies = tf.graph_util.import_graph_def(
            definition, places, [tensor.name for tensor in made], name=""
        )
        found = dict(zip((tensor.name for tensor in made), copies, strict=True))
        return [given.get(tensor.name, found.get(tensor.name)) for tensor in wanted]


def _as_list(shape: tf.TensorShape) -> _Sizes:
    return None if shape.rank is None else list(shape)


def _as_size(sizes: tuple[int | None, ...], rows: tuple[int, ...]) -> int | str | None:
    """Returns the size of an axis for any number of rows, from its sizes for some numbers of rows."""
    if sizes == rows:
        return _ROWS
    return sizes[0] if len(set(sizes)) == 1 else None


def _is_repeatable(kind: str) -> bool:
    """Whether equal inputs give equal results for a type of operation, and nothing is changed."""
    definition = op_def_registry.get(kind)
    if definition is None:
        return False
    return not definition.is_stateful or kind in _REPEATABLE or kind in _CALLS


def _has_strings(op: Any) -> bool:
    return any(tensor.dtype == tf.string for tensor in (*op.inputs, *op.outputs))


def _is_constant(captured: Any) -> bool:
    """Whether a tensor that a step has captured never changes."""
    return captured.dtype not in (tf.resource, tf.variant) or is_constant_table(captured)
