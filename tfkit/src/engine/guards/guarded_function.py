"""A traced step in the forms that programs run."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import (
    AtomicFunction,
    add_function,
    data_of_handle,
    functions_of_graph,
    get_read_only_resource_input_indices_graph,
)
from tfkit.src.engine.function_defs import copy_of, functions_in, registered, results_of
from tfkit.src.engine.guards.ordering import hold_back
from tfkit.src.engine.guards.rewriting import Rewriter
from tfkit.src.engine.guards.survey import Difference, Survey


class GuardedFunction:
    """A traced function that changes all its variables or, if a kernel refuses a value, none of them.

    Args:
        function: a `ConcreteFunction`.
        definition: the `GraphDef` of its graph, if it is available.
    """

    def __init__(self, function: Any, definition: Any = None) -> None:
        self._function = function
        self._definition = definition

    @functools.cached_property
    def _survey(self) -> Survey:
        return Survey(self._function, self._definition or self._function.graph.as_graph_def())

    @property
    def differences(self) -> list[Difference]:
        """The differences between XLA and TensorFlow's kernels for which there is no predicate."""
        return self._survey.differences

    @functools.cached_property
    def is_needed(self) -> bool:
        """Whether the function has a check that XLA would drop, and that must be computed at run time."""
        return bool(self._survey.bounds) or self._has_predicates

    @functools.cached_property
    def _has_predicates(self) -> bool:
        return self._survey.asks(self._survey.name)

    def run_accepted(self, tensors: list[tf.Tensor]) -> Any:
        """Adds the function to the XLA program being traced, for values that `ahead` has accepted."""
        # Checks of shapes remain: XLA knows their results only when it compiles.
        if not self._survey.asserts_shapes(self._survey.name):
            return self._function(*tensors)
        return self._run_in_xla(tensors)[1]

    def run_plain(self, tensors: list[tf.Tensor]) -> Any:
        """Adds the function to the current trace, to be run by TensorFlow's kernels."""
        if not self._plain:
            return self._function(*tensors)
        # The outermost function was made last.
        *_, function = functions = list(self._plain.values())
        dtypes = [output.dtype for output in results_of(self._function)]
        return self._pack(self._call(function, functions, tensors, dtypes))

    @functools.cached_property
    def _plain(self) -> dict[str, AtomicFunction]:
        """The function with updates after all possible refusals, and such functions inside it, by name."""
        made: dict[str, AtomicFunction] = {}
        if self._variables:
            self._hold_back(self._survey.name, made)
        return made

    def _hold_back(self, name: str, made: dict[str, AtomicFunction]) -> AtomicFunction | None:
        """Returns a function with updates after refusals, which it adds; `None` if nothing has to wait."""
        notes = self._survey.notes(name)
        definition = copy_of(self._survey.definitions[name])
        # A call that both updates and refuses, as in a step that is a `tf.function`, cannot be moved as a
        # whole. So updates wait inside it: among others the optimizer's number of steps, which depends on
        # nothing, and would be assigned first.
        mixed = {*notes.refusing} & {*notes.updating}
        changed = False
        for node in definition.node_def:
            for value in node.attr.values() if node.name in mixed else ():
                for called in functions_in(value):
                    inner = made.get(called.name) or self._hold_back(called.name, made)
                    if inner is not None:
                        called.name, changed = inner.name.decode(), True
        if not hold_back(definition, notes.refusing, notes.updating) and not changed:
            return None
        # TensorFlow has the function under its old name already.
        definition.signature.name += "_held_back"
        made[name] = registered(definition)
        return made[name]

    @functools.cached_property
    def _rewriter(self) -> Rewriter:
        return Rewriter(self._survey)

    @functools.cached_property
    def _variables(self) -> list[tuple[Any, tf.DType]]:
        return _written(self._function)

    @functools.cached_property
    def can_ask_ahead(self) -> bool:
        """Whether `ahead` can decide before the function runs, instead of `run_guarded` afterwards."""
        if self._has_predicates:
            return self._rewriter.ahead is not None
        return self.is_needed

    @functools.cached_property
    def asks_ahead(self) -> bool:
        """Whether programs should use `ahead`, because `run_guarded` reads each updated variable twice."""
        return self.can_ask_ahead and bool(self._variables)

    @functools.cached_property
    def asks_rows(self) -> bool:
        """Whether programs can check all rows at once, instead of each batch by `ahead`."""
        return self.asks_ahead and not self._has_predicates

    def accepts_rows(self, arrays: list[tf.Tensor]) -> bool:
        """Whether TensorFlow's kernels certainly accept any batch of the rows of arrays."""
        return self._survey.bounds.accept_rows(arrays)

    def ahead(self, tensors: list[tf.Tensor]) -> tf.Tensor:
        """Whether TensorFlow's kernels certainly accept all values; only if `can_ask_ahead`."""
        in_bounds = self._in_bounds(tensors)
        if not self._has_predicates:
            return in_bounds
        (accepted,) = self._call(self._rewriter.ahead, self._rewriter.functions, tensors, [tf.bool])
        accepted.set_shape([])
        return accepted & in_bounds

    def _in_bounds(self, tensors: list[tf.Tensor]) -> tf.Tensor:
        return self._survey.bounds.accept(tf.nest.flatten(tensors, expand_composites=True))

    def run_guarded(self, tensors: list[tf.Tensor]) -> tuple[tf.Tensor, Any]:
        """Adds the function with its guards to the XLA program being traced.

        Returns:
            Whether TensorFlow's kernels certainly accept all values, and the results. If they might not,
            no variable has changed.
        """
        # XLA has no exceptions: the step runs to its end in any case, and then each variable gets its new
        # value or the old one back.
        before = []
        if self.is_needed:
            before = [(handle, dtype, _read(handle, dtype)) for handle, dtype in self._variables]
        accepted, outputs = self._run_in_xla(tensors)
        accepted &= self._in_bounds(tensors)
        for handle, dtype, old in before:
            # XLA keeps variables in memory that a program overwrites, so the old value is a copy: this is
            # why `ahead` is preferred.
            new = tf.where(accepted, _read(handle, dtype), old)
            tf.raw_ops.AssignVariableOp(resource=handle, value=new)
        return accepted, outputs

    def _run_in_xla(self, tensors: list[tf.Tensor]) -> tuple[tf.Tensor, Any]:
        """Returns whether the predicates hold, and the results."""
        if not (self._has_predicates or self._survey.asserts_shapes(self._survey.name)):
            return tf.constant(True), self._function(*tensors)
        dtypes = [output.dtype for output in results_of(self._function)]
        *outputs, accepted = self._call(
            self._rewriter.guarded, self._rewriter.functions, tensors, [*dtypes, tf.bool]
        )
        accepted.set_shape([])
        return accepted, self._pack(outputs)

    def _call(
        self,
        function: AtomicFunction,
        functions: list[AtomicFunction],
        tensors: list[tf.Tensor],
        dtypes: list[tf.DType],
    ) -> list[tf.Tensor]:
        """Adds the call of a form of the function to the graph, with the functions that it needs."""
        if not tf.executing_eagerly():
            graph = tf.compat.v1.get_default_graph()
            # A graph finds a function only in its own library; eagerly, the whole process has one
            # library.
            for each in [*functions, *functions_of_graph(self._function.graph)]:
                add_function(graph, each)
        tensors = tf.nest.flatten(tensors, expand_composites=True)
        # A `FunctionDef` has no captures: these are its last arguments.
        inputs = [*tensors, *self._function.captured_inputs]
        # Stateful, although some forms only compute values: TensorFlow would otherwise merge or
        # drop calls of functions that read variables.
        results = tf.raw_ops.StatefulPartitionedCall(args=inputs, Tout=dtypes, f=function.name)
        return list(results) if dtypes else []

    def _pack(self, outputs: list[tf.Tensor]) -> Any:
        for output, traced in zip(outputs, results_of(self._function), strict=True):
            # The call of a registered function has results of unknown shape.
            output.set_shape(traced.shape)
        structure = self._function.structured_outputs
        return tf.nest.pack_sequence_as(structure, outputs, expand_composites=True)


def _written(function: Any) -> list[tuple[Any, tf.DType]]:
    """Returns handle and dtype of each variable that a function may change."""
    read_only = set(get_read_only_resource_input_indices_graph(function.graph))
    # Indices count all inputs, captures last.
    first = len(function.inputs) - len(function.captured_inputs)
    found = []
    for index, handle in enumerate(function.captured_inputs, first):
        if handle.dtype == tf.resource and index not in read_only:
            data = data_of_handle(handle)
            if data is not None and data.is_set:
                found.append((handle, tf.as_dtype(data.shape_and_type[0].dtype)))
    return found


def _read(handle: Any, dtype: tf.DType) -> tf.Tensor:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
