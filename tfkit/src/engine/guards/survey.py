"""Finds the operations of a traced function that can refuse values, or update variables."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.borrowed.private import find_function, graph_of_function, op_def_registry
from tfkit.src.engine.function_defs import functions_in
from tfkit.src.engine.guards.bounds import Bounds, bound_of
from tfkit.src.engine.guards.known_values import KnownValues
from tfkit.src.engine.guards.predicates import Predicate, predicate_of
from tfkit.src.engine.guards.table import CHECKS, kind_of, refusal_of
from tfkit.src.engine.shared_programs import differs_in_xla
from tfkit.src.engine.tensorflow_faults import error_in_xla
from tfkit.src.engine.xla import LOOPS, OWN_LOOP

# Operations that call functions, and their attributes for functions that can return one more result. The
# condition of a loop cannot: its only result is whether the loop continues.
CALLS = {
    "PartitionedCall": ("f",),
    "StatefulPartitionedCall": ("f",),
    "If": ("then_branch", "else_branch"),
    "StatelessIf": ("then_branch", "else_branch"),
    "Case": ("branches",),
    "StatelessCase": ("branches",),
    "While": ("body",),
    "StatelessWhile": ("body",),
}
# These represent arguments and results, and compute nothing.
_STAND_INS = frozenset(("Placeholder", "_Arg", "_Retval"))
# By prefix: TensorFlow adds versions such as `ResourceApplyAdagradV2`.
_UPDATES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceStridedSliceAssign")


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference between XLA and TensorFlow's kernel for which there is no predicate.

    Attributes:
        operation: type of the operation.
        name: its name in the trace, whose scopes are layers.
        refusal: a description of the refused values; `None` if the result differs instead.
        error: a description of the error in XLA's result; `None` if XLA drops a check instead.
    """

    operation: str
    name: str
    refusal: str | None = None
    error: str | None = None

    def described(self, path_of: Callable[[list[str]], str | None]) -> str:
        """Returns a description; `path_of` returns the path of the layer that an operation belongs to."""
        path = path_of([self.name])
        place = f"the operation {self.operation} of " + (
            f"layer '{path}'" if path else f"'{self.name}'"
        )
        if self.error is not None:
            return f"computes {place} wrongly: {self.error}"
        return f"drops the check of {place} for {self.refusal}"

    def warn(self, path_of: Callable[[list[str]], str | None]) -> None:
        """Warns that XLA compiles the operation nevertheless."""
        way_out = "Pass `jit_compile='auto'` to `compile()`"
        if self.error is None:
            way_out = (
                "The model continues where TensorFlow's kernel would raise an error. "
                f"{way_out}, or check the values before"
            )
        warn(f"`jit_compile=True`, and XLA {self.described(path_of)}. {way_out}.")


class FunctionNotes:
    """The checks in one function.

    Args:
        values: its known values.

    Attributes:
        refusing: its nodes that can refuse values, calls among them.
        updating: its nodes that change variables, calls among them.
        led_out: the functions that it calls and whose results it can return.
    """

    def __init__(self, values: KnownValues) -> None:
        self.values = values
        self.refusing: list[str] = []
        self.updating: list[str] = []
        self.led_out: set[str] = set()
        self._checked: list[Any] = []

    def add(self, node: Any) -> None:
        """Adds a node for which the table has a check."""
        self._checked.append(node)

    @functools.cached_property
    def predicates(self) -> dict[str, Predicate]:
        """The predicates that must be computed when the function runs, by the names of nodes."""
        return {name: it for name, it in self._made.items() if not self._is_of_shapes(name, it)}

    @functools.cached_property
    def predicates_of_shapes(self) -> dict[str, Predicate]:
        """The predicates that depend only on shapes, whose results XLA knows when it compiles."""
        return {name: it for name, it in self._made.items() if self._is_of_shapes(name, it)}

    def _is_of_shapes(self, name: str, predicate: Predicate) -> bool:
        return self.values.are_of_shapes(name, predicate.places_by_value)

    @functools.cached_property
    def _made(self) -> dict[str, Predicate]:
        made = {node.name: self._predicate(node) for node in self._checked}
        return {name: predicate for name, predicate in made.items() if predicate is not None}

    def _predicate(self, node: Any) -> Predicate | None:
        """Returns a node's predicate; `None` if the trace shows that nothing is refused."""
        operation = op_def_registry.get(node.op)
        arguments = (operation.input_arg, operation.output_arg)
        specs = []
        for each, shapes in zip(arguments, self.values.shapes_of(node.name), strict=True):
            dtypes = dtypes_of(node, each)
            # Without the graph there are dtypes but no shapes.
            pairs = zip(shapes or [None] * len(dtypes), dtypes, strict=True)
            specs.append([tf.TensorSpec(*pair) for pair in pairs])
        inputs, outputs = specs
        return predicate_of(node, inputs, outputs, self.values.inputs_of(node.name))


class Survey:
    """The operations of a traced function, and of the functions inside it, whose kernels can refuse values.

    Args:
        function: a `ConcreteFunction`.
        definition: the `GraphDef` of its graph.

    Attributes:
        name: the name of the function.
        definitions: the `FunctionDef` of each function by name.
        bounds: the checks that need only arguments.
        differences: the differences of XLA for which there is no predicate.
    """

    def __init__(self, function: Any, definition: Any) -> None:
        self.name = function.function_def.signature.name
        num_arguments = len(function.inputs) - len(function.captured_inputs)
        self._arguments = {
            tensor.ref(): index for index, tensor in enumerate(function.inputs[:num_arguments])
        }
        self._sizes: dict[int, int] = {}
        # The library does not contain the trace itself.
        self.definitions = {it.signature.name: it for it in definition.library.function}
        self.definitions[self.name] = function.function_def
        self.differences: list[Difference] = []
        self._notes: dict[str, FunctionNotes] = {}
        # The program itself returns its results to the caller: it is led out by definition.
        self._look(self.name, function.graph, is_led_out=True)
        self.bounds = Bounds(self._sizes)

    def notes(self, name: str) -> FunctionNotes:
        """Returns the checks in a function."""
        return self._notes[name]

    def asks(self, name: str) -> bool:
        """Whether a function, or one that it calls, has a predicate that is computed at run time."""
        return self._any(name, lambda notes: notes.predicates)

    def asserts_shapes(self, name: str) -> bool:
        """Whether a function, or one that it calls, has a predicate of shapes."""
        return self._any(name, lambda notes: notes.predicates_of_shapes)

    def _any(self, name: str, predicates: Callable[[FunctionNotes], dict[str, Predicate]]) -> bool:
        notes = self._notes.get(name)
        return notes is not None and (
            bool(predicates(notes)) or any(self._any(it, predicates) for it in notes.led_out)
        )

    def _look(self, name: str, graph: Any, is_led_out: bool) -> FunctionNotes:
        """Surveys a function.

        Args:
            name: its name.
            graph: its `FuncGraph`, if it is available.
            is_led_out: whether a predicate's result can be passed out of it to the program's results.
        """
        if name in self._notes:
            return self._notes[name]
        # Noted before its nodes are examined, so that each function is surveyed once.
        notes = self._notes[name] = FunctionNotes(KnownValues(graph))
        for node in self.definitions[name].node_def:
            if node.op in LOOPS and OWN_LOOP in node.attr:
                continue  # Its indices count its iterations, and are never outside.
            # Such functions refuse nothing, by contract.
            if any(map(differs_in_xla, called_functions(node))):
                continue
            # A result leaves a function only if each call on the way returns it, up to the program.
            led_out = (
                set(led_out_functions(node)) & self.definitions.keys() if is_led_out else set()
            )
            notes.led_out |= led_out
            for called in called_functions(node):
                if called in self.definitions:
                    inner = self._look(called, _graph_of(graph, called), called in led_out)
                    # A call counts once, however many operations inside it refuse or update.
                    notes.refusing += [node.name] * bool(inner.refusing)
                    notes.updating += [node.name] * bool(inner.updating)
            # A call itself refuses nothing.
            if node.op in CALLS or node.op in self.definitions:
                continue
            if node.op.startswith(_UPDATES):
                notes.updating.append(node.name)
            error = error_in_xla(node)
            if error is not None:
                self.differences.append(Difference(node.op, node.name, error=error))
            kind = kind_of(node.op)
            if kind == "harmless" or node.op in _STAND_INS:
                continue
            # It cannot refuse what it will get, so that no update waits for it either.
            if kind == "guarded" and notes.values.settle(CHECKS[node.op], node):
                continue
            # Even where no predicate can be computed: in TensorFlow's kernels, updates wait for it.
            notes.refusing.append(node.name)
            # Only in the outermost function, whose arguments are the step's.
            if kind == "guarded" and name == self.name and self._bounds(graph, node.name):
                continue
            if kind == "guarded" and is_led_out:
                notes.add(node)
            else:
                refusal = refusal_of(node.op)
                self.differences.append(Difference(node.op, node.name, refusal))
        return notes

    def _bounds(self, graph: Any, name: str) -> bool:
        """Whether the only check of a node is that an argument is within bounds, which are added."""
        bound = bound_of(graph.get_operation_by_name(name), self._arguments)
        if bound is not None:
            # One argument may be an index into several tables: the smallest decides.
            index, size = bound
            self._sizes[index] = min(size, self._sizes.get(index, size))
        return bound is not None


def dtypes_of(node: Any, arguments: Any) -> list[tf.DType]:
    """Returns the dtypes of some of an operation's arguments or results, one by one."""
    # An argument is one tensor, `number_attr` tensors of one dtype, or a list with a dtype for each tensor.
    # Its dtype is fixed, or an attribute of the node.
    dtypes: list[int] = []
    for argument in arguments:
        if argument.type_list_attr:
            dtypes += node.attr[argument.type_list_attr].list.type
            continue
        dtype = node.attr[argument.type_attr].type if argument.type_attr else argument.type
        dtypes += [dtype] * (node.attr[argument.number_attr].i if argument.number_attr else 1)
    return [tf.as_dtype(dtype) for dtype in dtypes]


def led_out_functions(node: Any) -> Iterator[str]:
    """Yields the functions that a node calls and whose results it returns."""
    for attribute in CALLS.get(node.op, ()):
        for called in functions_in(node.attr[attribute]):
            yield called.name


def called_functions(node: Any) -> Iterator[str]:
    """Yields all functions that a node names: its type may be one."""
    yield node.op
    for value in node.attr.values():
        for called in functions_in(value):
            yield called.name


def _graph_of(graph: Any, name: str) -> Any:
    """Returns the `FuncGraph` of a function that is called in a graph; `None` if it is not available."""
    return None if graph is None else graph_of_function(find_function(graph, name))
