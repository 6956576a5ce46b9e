"""Rewrites functions so that they also return whether TensorFlow's kernels would accept their values.

XLA compiles an operation to arithmetic that has a result for every value: a gather out of range reads the
last row, an integer division by zero is -1, an `Assert` does nothing. TensorFlow's own kernels refuse such
values. Here each operation whose kernel can refuse values gets a predicate, and the conjunction of all
predicates, also of those in calls, branches and loops, becomes one more result of the function:

    function f(x, i) -> y           function f'(x, i) -> y, accepted
      y = GatherV2(x, i, 0)           y = GatherV2(x, i, 0)
                                      accepted = accepts_GatherV2(x, i, 0, y)

It is done on `FunctionDef`s, after the trace, because a trace holds functions that were traced earlier (a
user's `tf.function`) or by TensorFlow itself (gradients of loops), where no code of tfkit runs.
"""

from __future__ import annotations

import itertools
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import AtomicFunction, op_def_registry, types_pb2
from tfkit.src.engine.function_defs import add_constant, copy_of, functions_in, registered
from tfkit.src.engine.guards.ahead import prune
from tfkit.src.engine.guards.predicates import Predicate
from tfkit.src.engine.guards.survey import CALLS, Survey, dtypes_of, led_out_functions
from tfkit.src.engine.xla import LOOPS

_BOOL = tf.bool.as_datatype_enum
_RESULT = "tfkit_accepted"
# The suffix of the names of operations that XLA refuses if shapes do not fit.
ASSERTED = "/asserted"
# What is added for an operation is named under its name and this one, as TensorFlow names the operation's own
# constants `.../axis`.
_ADDED = "tfkit"
_numbers = itertools.count()


class Rewriter:
    """Writes the guarded forms of the functions of a survey.

    Args:
        survey: the contents of the functions.

    Attributes:
        guarded: the guarded form of the whole.
        ahead: a function of the same arguments that returns only the last result, if it can be computed
            first; otherwise `None`.
        functions: these, and the functions that they call.
    """

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._names: dict[tuple[str, str], str] = {}
        # A part of all names: TensorFlow has one namespace of functions for the process, and two traces may
        # contain the same function.
        self._number = next(_numbers)
        self._definitions: dict[str, Any] = dict(survey.definitions)
        self.functions: list[AtomicFunction] = []
        # A function is registered after those that it calls, so that the last one is the whole.
        name = self._guarded(survey.name)
        self.guarded = self.functions[-1]
        self.ahead = self._ahead(name)

    def _ahead(self, name: str) -> AtomicFunction | None:
        """Returns a function with the same arguments and only the predicates' result, if it is cheap."""
        definition = copy_of(self._definitions[name])
        if not prune(definition, _RESULT, self._definitions):
            return None
        definition.signature.name += "_ahead"
        self._register(definition)
        return self.functions[-1]

    def _guarded(self, name: str, is_body: bool = False) -> str:
        """Returns the name of the guarded form of a function; the body of a loop passes the result on."""
        form = "body" if is_body else "guarded"
        if (name, form) not in self._names:
            definition = self._copy(name, form)
            # A copy: the predicates that are added must not get predicates themselves.
            nodes = list(definition.node_def)
            results = [_result_of(node) for node in nodes if self._lead_out(definition, node)]
            notes = self._survey.notes(name)
            for node in nodes:
                if node.name in notes.predicates_of_shapes:
                    predicate = notes.predicates_of_shapes[node.name]
                    _assert_shapes(definition, node, _inlined(definition, node, predicate))
                if node.name in notes.predicates:
                    results.append(self._predicate(definition, node, notes.predicates[node.name]))
            # The last iteration must not hide what an earlier one has found.
            if is_body:
                results.append(_add_argument(definition))
            # As the last result: the indices of the others stay.
            definition.signature.output_arg.add(name=_RESULT, type=_BOOL)
            definition.ret[_RESULT] = _all_of(definition, results)
            self._register(definition)
        return self._names[name, form]

    def _condition(self, name: str) -> str:
        """Returns the name of a loop's condition that accepts the values that the body passes on."""
        # A loop passes all its variables to both functions; the condition ignores the new one.
        if (name, "condition") not in self._names:
            definition = self._copy(name, "condition")
            _add_argument(definition)
            self._register(definition)
        return self._names[name, "condition"]

    def _copy(self, name: str, form: str) -> Any:
        definition = copy_of(self._survey.definitions[name])
        definition.signature.name = f"{name}_{form}_{self._number}"
        self._names[name, form] = definition.signature.name
        return definition

    def _register(self, definition: Any) -> None:
        self._definitions[definition.signature.name] = definition
        self.functions.append(registered(definition))

    def _lead_out(self, definition: Any, node: Any) -> bool:
        """Makes a node call guarded functions, if they have predicates, and output their result."""
        survey = self._survey
        if not any(survey.asks(it) or survey.asserts_shapes(it) for it in led_out_functions(node)):
            return False
        is_loop = node.op in LOOPS
        # All branches get the result, even those without predicates, since they must have the same results.
        for attribute in CALLS[node.op]:
            for function in functions_in(node.attr[attribute]):
                function.name = self._guarded(function.name, is_body=is_loop)
        types = node.attr["T" if is_loop else "Tout"].list.type
        if is_loop:
            node.attr["cond"].func.name = self._condition(node.attr["cond"].func.name)
            # Before the control inputs, which are the last ones.
            node.input.insert(len(types), _constant_true(definition))
        types.append(_BOOL)
        # Reading a missing attribute would create it.
        if "output_shapes" in node.attr and node.attr["output_shapes"].list.shape:
            node.attr["output_shapes"].list.shape.add()
        return True

    def _predicate(self, definition: Any, node: Any, predicate: Predicate) -> str:
        """Adds the call of a node's predicate, and returns its result."""
        self.functions.append(predicate.function)
        call = definition.node_def.add(name=f"{node.name}/accepted", op="PartitionedCall")
        call.attr["f"].func.name = predicate.function.name
        call.attr["Tin"].list.SetInParent()  # An empty list is a value, unlike a missing one.
        tensors = _tensors_of(node)
        # A predicate may depend on the operation's results too: it is called after the operation.
        for index in predicate.places:
            name, dtype = tensors[index]
            call.input.append(name)
            call.attr["Tin"].list.type.append(dtype.as_datatype_enum)
        call.attr["Tout"].list.type.append(_BOOL)
        return _result_of(call)


def _tensors_of(node: Any) -> list[tuple[str, tf.DType]]:
    """Returns the references to an operation's inputs and outputs, and their dtypes."""
    operation = op_def_registry.get(node.op)
    # Control inputs are not arguments.
    names = [name for name in node.input if not name.startswith("^")]
    tensors = list(zip(names, dtypes_of(node, operation.input_arg), strict=True))
    for argument in operation.output_arg:
        for index, dtype in enumerate(dtypes_of(node, [argument])):
            tensors.append((f"{node.name}:{argument.name}:{index}", dtype))
    return tensors


def _inlined(definition: Any, node: Any, predicate: Predicate) -> str:
    """Adds the operations of a predicate of shapes, and returns its result.

    It does not add a call: to know the call's result when it compiles, XLA would need constants for all
    arguments, and compile again for each value of a batch. Its search ends at operations that read a shape.
    """
    body, tensors = predicate.function.definition, _tensors_of(node)
    arguments = [argument.name for argument in body.signature.input_arg]
    names = {
        name: tensors[index][0] for name, index in zip(arguments, predicate.places, strict=True)
    }

    def outer(reference: str) -> str:
        return names.get(reference) or f"{node.name}/{_ADDED}/{reference}"

    for inner in body.node_def:
        copy = definition.node_def.add()
        copy.CopyFrom(inner)
        copy.name = f"{node.name}/{_ADDED}/{inner.name}"
        copy.input[:] = [
            f"^{node.name}/{_ADDED}/{it[1:]}" if it.startswith("^") else outer(it)
            for it in inner.input
        ]
    (result,) = body.ret.values()
    return outer(result)


def _assert_shapes(definition: Any, node: Any, accepted: str) -> None:
    """Makes XLA refuse to compile if `accepted` is false: one value cannot be reshaped to `[0]`.

    The node waits for the reshape, because XLA does not compile nodes that nothing waits for.
    """
    one = add_constant(definition, f"{node.name}/{_ADDED}/one", [0])
    number = definition.node_def.add(
        name=f"{node.name}/{_ADDED}/number", op="Cast", input=[accepted]
    )
    number.attr["SrcT"].type, number.attr["DstT"].type = _BOOL, types_pb2.DT_INT32
    axis = add_constant(definition, f"{node.name}/{_ADDED}/axis", 0)
    shape = definition.node_def.add(
        name=f"{node.name}/{_ADDED}/shape",
        op="ExpandDims",
        input=[f"{number.name}:y:0", axis],
    )
    shape.attr["T"].type = shape.attr["Tdim"].type = types_pb2.DT_INT32
    asserted = definition.node_def.add(
        name=f"{node.name}{ASSERTED}",
        op="Reshape",
        input=[one, f"{shape.name}:output:0"],
    )
    asserted.attr["T"].type = asserted.attr["Tshape"].type = types_pb2.DT_INT32
    # A control input, because nothing reads the reshaped tensor: TensorFlow would remove it.
    node.input.append(f"^{asserted.name}")


def _result_of(call: Any) -> str:
    """Returns the reference to the last result of a call."""
    # Calls and branches list the dtypes of their results in `Tout`, loops in `T`.
    num_results = len(call.attr["Tout" if "Tout" in call.attr else "T"].list.type)
    return f"{call.name}:output:{num_results - 1}"


def _add_argument(definition: Any) -> str:
    # Last among the arguments, as the caller appends the value.
    definition.signature.input_arg.add(name=_RESULT + "_before", type=_BOOL)
    return _RESULT + "_before"


def _constant_true(definition: Any) -> str:
    return add_constant(definition, f"{_RESULT}_{len(definition.node_def)}", True)


def _all_of(definition: Any, results: list[str]) -> str:
    """Adds the conjunction of results, and returns a reference to it."""
    if not results:
        return _constant_true(definition)
    first, *others = results
    for other in others:
        # The number of nodes grows with each one that is added, so the name is new.
        name = f"{_RESULT}_{len(definition.node_def)}"
        definition.node_def.add(name=name, op="LogicalAnd", input=[first, other])
        first = f"{name}:z:0"
    return first
