"""Shares compiled programs between equal models, by their content.

TensorFlow keeps what XLA compiles for as long as the process lives, under the name of the function, and each
trace has a new name: building, fitting and deleting a small model costs a megabyte that is never freed, and
a second or two for compiling the same program again. Here a traced function, with all functions inside it, is
renamed after a hash of its content, so that a model of the same form finds the program of the one before it.
Measured for a fit of two dense layers and dropout, from the second model on: 0.33 s instead of 1.2, and
no growth.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors import kernel_errors
from tfkit.src.borrowed.private import call_in_this_thread, context, op_def_registry
from tfkit.src.engine import passes, program_cache, xla
from tfkit.src.engine.apart import join, set_apart
from tfkit.src.engine.function_defs import (
    copy_of,
    functions_in,
    make_known,
    results_of,
    traced_apart,
)
from tfkit.src.engine.machine import onednn_is_on
from tfkit.src.engine.passes.equals import equal_of
from tfkit.src.engine.passes.halves import halves_of
from tfkit.src.engine.passes.orders import early_gradients, put_after
from tfkit.src.engine.passes.places import computed_places
from tfkit.src.engine.passes.transposes import transposed_of
from tfkit.src.engine.small_calls import CallSize, SmallCalls
from tfkit.src.engine.stateful_draws import counts_draws
from tfkit.src.engine.xla_kernels import kernel_of

# Attributes of nodes and functions that are for readers or for gradients. They differ between equal programs,
# and these are called without gradients.
_LABELS = (
    "_gradient_op_type",
    "_user_specified_name",
    "_construction_context",
    "forward_function_name",
    "backward_function_name",
    "_class",
    xla.OWN_LOOP,
)


_numbers = itertools.count()


class SharedProgram:
    """A traced function, called more directly than TensorFlow calls it, and without gradients.

    Args:
        function: a `ConcreteFunction` whose results are a nest of dense tensors.
        compiles_parts: whether XLA compiles the functions inside it that are named `xla.PART`.
        size: the size of its calls, if it has been computed.
        in_caller: whether small calls that change something may also be computed by the calling thread: their
            errors do not say which operation raised them. Default: only calls that change nothing.

    Attributes:
        only_reads: whether a call changes nothing.
    """

    def __init__(
        self,
        function: Any,
        compiles_parts: bool = True,
        size: CallSize | None = None,
        in_caller: bool = False,
    ) -> None:
        self._function = function  # Keeps the captured objects alive.
        self._compiles_parts = compiles_parts
        self._captures = list(function.captured_inputs)
        results = results_of(function)
        self._num_outputs = len(results)
        self._is_one_tensor = isinstance(function.structured_outputs, tf.Tensor)
        self._dtypes = [
            [tensor.dtype.as_datatype_enum for tensor in tensors]
            for tensors in (function.inputs, results)
        ]
        self._number = next(_numbers)
        name, renaming = self._renaming()
        self._name = name.encode()
        self._to_compile = renaming.compiled
        self.only_reads = renaming.only_reads
        self._repeated = (tf.errors.OpError,) if renaming.only_reads else ()
        may_be_small = (renaming.only_reads or in_caller) and not renaming.compiled
        self._small_calls = (
            SmallCalls(function, size or CallSize(function)) if may_be_small else None
        )
        # XLA compiles a program once for each shape. Where the trace knows all shapes, there is only one.
        self._has_one_form = all(it.shape.is_fully_defined() for it in function.inputs)
        self._compiled_for: set[tuple[tf.TensorShape, ...]] = set()

    def __call__(self, *arguments: Any) -> Any:
        """Returns the results for arguments in the form that the function was traced for."""
        outputs = self.run_flat(tf.nest.flatten(arguments, expand_composites=True))
        if self._is_one_tensor:  # To pack it takes a tenth of a small call.
            return outputs[0]
        return tf.nest.pack_sequence_as(self._function.structured_outputs, outputs)

    def run_flat(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the flat results for flat arguments."""
        if self._to_compile and tuple([it.shape for it in tensors]) not in self._compiled_for:
            return self._run_first(tensors)
        inputs = tensors + self._captures
        if self._small_calls is not None and self._small_calls.include(tensors):
            # An error does not say which operation raised it. That of the call below does.
            with contextlib.suppress(*self._repeated):
                return call_in_this_thread(self._name, inputs, *self._dtypes)
        try:
            # Without TensorFlow's binding of arguments, its tape and its handling of structures.
            return context.context().call_function(self._name, inputs, self._num_outputs) or []
        except tf.errors.OpError as error:
            raise kernel_errors.named(error, self._operation_of) from None

    @property
    def num_rows_of_small_call(self) -> int:
        """The most rows with which a call is small; 0 if none is."""
        return 0 if self._small_calls is None else self._small_calls.num_rows

    def _run_first(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results of the first run for shapes, in which XLA compiles unless there is a file."""
        shapes = tuple([it.shape for it in tensors])
        try:
            program_cache.provide(self._to_compile, shapes)
            # Noted before the run, which would otherwise come here again.
            self._compiled_for.add(shapes)
            if self._has_one_form:
                self._to_compile = []
            return self.run_flat(tensors)
        finally:
            program_cache.keep()

    def _renaming(self) -> tuple[str, _Renaming]:
        """Returns the name of the program, and its operations before renaming."""
        renaming = _Renaming(self._number, self._compiles_parts)
        return renaming.rename(self._function.function_def, _library(self._function)), renaming

    def _operation_of(self, function: str, node: str) -> tuple[str, ...] | None:
        """Returns type and name of an operation before renaming, and the names of the calls around it.

        They are computed again for each error, because keeping them would need much memory.
        """
        return self._renaming()[1].operations.get((function, node))


# By the name of the first function. The second one is kept alive here, as no trace refers to it.
_replacements: dict[str, Any] = {}


def differing_in_xla(plain: Any, in_xla: Any, specs: list[tf.TensorSpec]) -> Any:
    """Returns a `ConcreteFunction` that is replaced by a second one in programs that XLA compiles.

    Args:
        plain: the function of tensors that is fast in TensorFlow. It must not refuse any value, because
            programs that XLA compiles do not check them.
        in_xla: a function that computes the same, and is fast inside XLA.
        specs: the specs of their arguments.
    """
    function = traced_apart(plain, *specs)
    _replacements[function.name.decode()] = traced_apart(in_xla, *specs)
    return function


def differs_in_xla(name: str) -> bool:
    """Whether `differing_in_xla` has returned the function."""
    return name in _replacements


def _library(function: Any) -> dict[str, Any]:
    return {f.signature.name: f for f in function.graph.as_graph_def().library.function}


class _Renaming:
    """Registers a function and those inside it in TensorFlow, under names made from their content.

    Args:
        number: of the program, which is part of the content of functions that programs must not share.
        compiles_parts: as in `SharedProgram`.

    Attributes:
        compiled: the new names of the functions that XLA compiles as programs.
        only_reads: whether the program changes nothing, so that to run it again changes nothing either.
        operations: for the new names of a function and an operation in it, the type of the operation, its old
            name, and the names of the calls that the function is in.
    """

    def __init__(self, number: int, compiles_parts: bool) -> None:
        self._number = number
        self._compiles_parts = compiles_parts
        self._renamed: dict[tuple[str, bool], str] = {}
        self.compiled: list[str] = []
        self.only_reads = True
        self.operations: dict[tuple[str, str], tuple[str, ...]] = {}

    def rename(
        self,
        definition: Any,
        library: dict[str, Any],
        in_xla: bool = False,
        callers: tuple[str, ...] = (),
    ) -> str:
        """Returns the new name of a function, under which it is registered.

        Args:
            definition: a `FunctionDef`.
            library: the definitions of functions inside it, by name.
            in_xla: whether XLA compiles its caller.
            callers: the names of the operations that call it, the innermost first.
        """
        copy = copy_of(definition)
        # A program of few steps runs its parts without XLA: compiling them would cost more than it gains.
        if self._is_plain(definition.signature.name):
            del copy.attr["_XlaMustCompile"]
        compiles = "_XlaMustCompile" in copy.attr and copy.attr["_XlaMustCompile"].b
        in_xla = in_xla or compiles
        _strip(copy.attr)
        for attributes in copy.arg_attr.values():
            _strip(attributes.attr)
        _number_nodes(copy)
        results = {}
        for node, before in zip(copy.node_def, definition.node_def, strict=True):
            inside = (before.name, *callers)
            self.only_reads = self.only_reads and _only_reads(node.op)
            _strip(node.attr)
            node.ClearField("experimental_debug_info")
            if node.op in library:  # A call by the function's name, as in `tf.nn.ctc_loss`.
                for index, result in enumerate(library[node.op].signature.output_arg):
                    results[node.name, result.name] = f"{node.name}:r{index}"
                node.op = self._inner(node.op, library, in_xla, inside)
            is_plain = False
            for value in node.attr.values():
                for called in functions_in(value):
                    is_plain = is_plain or self._is_plain(called.name)
                    called.name = self._inner(called.name, library, in_xla, inside)
            if is_plain and "_XlaMustCompile" in node.attr:
                del node.attr["_XlaMustCompile"]
        if results:
            _rename_results(copy, results)
        # After the renaming, so that what is added has names that follow from the content as well.
        if in_xla:
            self._apply_passes(copy)
        else:
            set_apart(copy, onednn_is_on())
        # The name is a hash of everything else. Functions inside were renamed before, so that their names
        # stand for their content.
        copy.signature.name = ""
        if any(counts_draws(node.op) for node in copy.node_def):
            # Two programs that share such an operation would share its count, and each would continue the
            # other's draws.
            copy.signature.description = f"unshared {self._number}"
        digest = hashlib.sha256(copy.SerializeToString(deterministic=True)).hexdigest()
        name = copy.signature.name = f"tfkit_{digest[:32]}"
        for index, node in enumerate(definition.node_def):
            self.operations[name, f"n{index}"] = node.op, node.name, *callers
        make_known(copy)
        if compiles:
            self.compiled.append(name)
        return name

    def _is_plain(self, name: str) -> bool:
        """Whether a function is a part that XLA does not compile here."""
        return not self._compiles_parts and xla.PART in name

    def _inner(
        self, name: str, library: dict[str, Any], in_xla: bool, callers: tuple[str, ...]
    ) -> str:
        # A function may be called in XLA and outside of it: these are two functions from here on.
        if (name, in_xla) not in self._renamed:
            definition = library[name]
            if in_xla and name in _replacements:
                definition = _replacements[name].function_def
                library = _library(_replacements[name])
            self._renamed[name, in_xla] = self.rename(definition, library, in_xla, callers)
        return self._renamed[name, in_xla]

    def _apply_passes(self, definition: Any) -> None:
        """Applies the passes to a function that XLA compiles."""
        join(definition)  # First, because the passes follow the references between nodes.
        if passes.is_on("orders"):
            self._order_updates(definition)
        if passes.is_on("places"):
            self._hold_places(definition)
        self._replace_by_equals(definition)

    def _hold_places(self, definition: Any) -> None:
        """Inserts loops before slices, so that XLA does not compile again for each of their indices."""
        for index, (node, number, loop) in enumerate(list(computed_places(definition))):
            node.input[number] = self._insert(loop, definition, f"p{index}", node.input[number])

    def _order_updates(self, definition: Any) -> None:
        """Lets gradients wait for products that read variables, so that XLA does not copy the variables."""
        zeros: dict[tuple[Any, ...], str] = {}
        users = list(definition.node_def)  # Without the nodes that are added below.
        for index, early in enumerate(list(early_gradients(definition))):
            # Gradients that wait for the same products share one zero.
            key = early.dtype, early.waited
            if key not in zeros:
                zeros[key] = self._insert(early.zero, definition, f"z{index}", *early.waited)
            put_after(definition, users, early, zeros[key], f"u{index}")

    def _insert(self, function: Any, definition: Any, prefix: str, *arguments: str) -> str:
        """Adds the nodes of a function to a definition, and returns the reference to its result.

        A call would not do, as XLA's search for constants passes through calls, whatever is inside.
        """
        inner, library = function.function_def, _library(function)
        names = {it.name: f"{prefix}_{index}" for index, it in enumerate(inner.node_def)}
        for each, argument in zip(inner.signature.input_arg, arguments, strict=True):
            names[each.name] = argument
        for node in inner.node_def:
            copy = definition.node_def.add()
            copy.CopyFrom(node)
            copy.name = names[node.name]
            copy.input[:] = [_renumber(reference, names) for reference in node.input]
            _strip(copy.attr)
            copy.ClearField("experimental_debug_info")
            for value in copy.attr.values():
                for called in functions_in(value):
                    called.name = self._inner(called.name, library, True, ())
        return _renumber(inner.ret[inner.signature.output_arg[0].name], names)

    def _replace_by_equals(self, definition: Any) -> None:
        """Replaces operations by calls of functions that XLA compiles faster, or computes as kernels do."""
        replaced: dict[str, list[str]] = {}
        for node in definition.node_def:
            if equal := _equal_of(node):
                replaced[node.name] = [it.name for it in op_def_registry.get(node.op).output_arg]
                node.op = "PartitionedCall"
                node.attr.clear()
                node.attr["f"].func.name = self.rename(equal.function_def, {}, in_xla=True)
                node.attr["Tin"].list.type[:] = [it.dtype.as_datatype_enum for it in equal.inputs]
                node.attr["Tout"].list.type[:] = [it.dtype.as_datatype_enum for it in equal.outputs]

        # Results of operations have names (`name:activations:0`); results of calls are all called `output`.
        def pointed(reference: str) -> str:
            name, *result = reference.split(":")
            return (
                f"{name}:output:{replaced[name].index(result[0])}"
                if name in replaced
                else reference
            )

        _map_references(definition, pointed)


# The functions that return the replacement of a node, `None` for most; the first that has one decides. A node
# that `halves` and `transposes` replace has a mark, which it gets only if the pass is on.
_REPLACEMENTS = (
    halves_of,
    transposed_of,
    kernel_of,
    *([equal_of] if passes.is_on("equals") else ()),
)


def _equal_of(node: Any) -> Any:
    return next(filter(None, (replacement(node) for replacement in _REPLACEMENTS)), None)


# Stateful operations that change nothing, apart from what the functions inside them do.
_READING = frozenset(("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"))
_READING |= {"Assert", "CheckNumericsV2", "LookupTableFindV2", "LookupTableSizeV2"}
_READING |= {"Case", "If", "StatefulPartitionedCall", "While"}


@functools.cache
def _only_reads(operation: str) -> bool:
    """Whether an operation changes nothing; for the name of a function, whose operations decide, too."""
    definition = op_def_registry.get(operation)
    return definition is None or not definition.is_stateful or operation in _READING


def _strip(attributes: Any) -> None:
    for label in _LABELS:
        if label in attributes:
            del attributes[label]


def _number_nodes(definition: Any) -> None:
    """Renames arguments, nodes and results to `a0`, `n0`, `r0`: equal models differ in names of layers."""
    names = {}
    for kind, items in (
        ("a", definition.signature.input_arg),
        ("n", definition.node_def),
        ("r", definition.signature.output_arg),
    ):
        for index, item in enumerate(items):
            new = f"{kind}{index}"
            if kind != "r":
                names[item.name] = new
            else:
                _rename_key(definition.ret, item.name, new)
            item.name = new
    _map_references(definition, lambda reference: _renumber(reference, names))
    # A map of protobuf has no order: sorted, equal functions have equal bytes.
    results = sorted(names[result] for result in definition.control_ret.values())
    definition.control_ret.clear()
    del definition.signature.control_output[:]
    for index, result in enumerate(results):
        definition.control_ret[f"c{index}"] = result
        definition.signature.control_output.append(f"c{index}")


def _rename_results(definition: Any, results: dict[tuple[str, str], str]) -> None:
    """Renames references to results of calls, given the new reference for each node and name."""

    def renamed(reference: str) -> str:
        node, _, rest = reference.partition(":")
        result, colon, index = rest.partition(":")
        return (
            results.get((node, result), f"{node}:{result}") + colon + index if colon else reference
        )

    _map_references(definition, renamed)


def _map_references(definition: Any, change: Callable[[str], str]) -> None:
    """Replaces all references of a `FunctionDef`: the inputs of its nodes, and its results."""
    for node in definition.node_def:
        node.input[:] = map(change, node.input)
    for result in list(definition.ret):
        definition.ret[result] = change(definition.ret[result])


def _rename_key(mapping: Any, old: str, new: str) -> None:
    value = mapping[old]
    del mapping[old]
    mapping[new] = value


def _renumber(name: str, names: dict[str, str]) -> str:
    """Returns a renumbered reference to a node: `name:output:index`, or `^name` for a control input."""
    if name.startswith("^"):
        return "^" + names[name[1:]]
    node, colon, rest = name.partition(":")
    return names[node] + colon + rest
