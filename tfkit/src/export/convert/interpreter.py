"""Computes a `Graph` with another framework: a loop over its nodes, and a table of formulas by type.

A table entry is `type of operation: formula`. A formula is called with the inputs of the node by position, in
the order of TensorFlow's definition of the operation; an input that is a list of tensors is a list. Of the
attributes it gets those that it names as keyword-only parameters. It returns the output, or a list of all:

    "BiasAdd": lambda x, bias, *, data_format: x + bias if data_format == "NHWC" else ...
    "Reshape": lambda x, shape: jnp.reshape(x, shape)
    "ConcatV2": lambda values, axis: jnp.concatenate(values, axis)

A positional parameter with a name in `KNOWN` (`shape`, `axis`, ...) must be known while the program is made,
and is given as an integer or as (nested) lists of integers and symbols of sizes; one with a name in
`KNOWN_OR_ARRAYS` is so if it is known. A known number for a parameter with a name in `NUMBERS` is given
as a Python number if another input is an array. All other inputs are arrays of the framework.

The interpreter handles constants, shapes, what `host.py` can compute, variables, and calls of functions.
Loops and branches are given to the framework as functions of lists of arrays.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tfkit.src.base.names import words
from tfkit.src.export.convert import host
from tfkit.src.export.convert.graph import (
    CALLS,
    CUSTOM_GRADIENT,
    DRAWS,
    SEED,
    Function,
    Graph,
    Node,
    Variable,
    flat_inputs,
    needed,
)
from tfkit.src.export.convert.patterns import PATTERNS, fused

# Names of parameters of formulas whose values must be known while the program is made.
KNOWN = words("""
    axis block_shape crops delta depth dims input_sizes k limit multiples num_cols num_elements
    num_rows num_segments output_size paddings perm scale segment_ids shape size start strides
    translation
""")
# Names of those that are given likewise if they are known, and as arrays otherwise.
KNOWN_OR_ARRAYS = frozenset({"begin", "end", "index"})
NUMBERS = frozenset({"a", "b"})
_MOST_STEPS = 1_000_000  # Of a loop whose steps are counted before it runs.
_UNKNOWN = object()

Values = list[Any]
Body = Callable[[Values], Values]
Gradient = Callable[[Values, Values], Values]


class Framework(Protocol):
    """The properties of a framework that the interpreter needs.

    Attributes:
        name: its name, for errors.
        formulas: the table. Entries of types in `patterns.py` are used for several operations at once.
    """

    name: str
    formulas: Mapping[str, Callable[..., Any]]

    def array(self, value: np.ndarray) -> Any:
        """Returns a known value as an array of the framework; an array of objects has symbols of sizes."""
        ...

    def shape(self, value: Any) -> Sequence[Any]:
        """Returns the sizes of an array: integers or symbols."""
        ...

    def numbers(self, value: Any) -> Any:
        """Returns the content of an array as a number or (nested) lists; `None` where it has none yet."""
        ...

    def extreme(self, kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the `"Maximum"` or `"Minimum"` of sizes, some of which are symbols."""
        ...

    def assigned(self, old: Any, new: Any, trained: bool) -> Any:
        """Returns what is read from a variable after an assignment.

        In TensorFlow no gradient flows through an assignment, and the gradient of what is read belongs to the
        variable.
        """
        ...

    def with_gradient(self, values: Values, kept: Values, gradient: Gradient) -> Values:
        """Returns the values, with a written-out gradient.

        Args:
            values: arrays.
            kept: further arrays that the gradient needs.
            gradient: returns the gradient of each value, or `None`, of `kept` and the gradients of the
                results.
        """
        ...

    def loop(self, test: Body, body: Body, values: Values, steps: int | None) -> Values:
        """Returns the values after a loop.

        Args:
            test: returns a list with one boolean.
            body: returns the next values; what varies may be an array of the framework or known.
            values: the first ones.
            steps: how often the body runs; `None` if that depends on data.
        """
        ...

    def branch(self, index: Any, branches: list[Body], values: Values) -> Values:
        """Returns the results of one of several functions; an index that is too large chooses the last."""
        ...


class ConversionError(NotImplementedError):
    """An operation that cannot be converted."""


class Interpreter:
    """A graph that can be computed with a framework.

    Args:
        graph: the graph.
        framework: the framework.
        owner: name of the layer, for errors.
    """

    def __init__(self, graph: Graph, framework: Framework, owner: str) -> None:
        # Only patterns for which the framework has a formula.
        self._graph = graph = fused(graph, PATTERNS.keys() & framework.formulas.keys())
        self._framework = framework
        self._owner = owner
        # A gradient may have operations without a formula: outputs can be computed without it.
        called = [it for name, it in graph.functions.items() if name not in graph.backward]
        for function in (graph.main, *called):
            for node in function.nodes:
                self._check(node)

    def __call__(self, inputs: Values, variables: dict[str, Any]) -> Values:
        """Returns the results.

        Args:
            inputs: one array for each input of the graph.
            variables: values by path. Those that the graph assigns to are replaced in this dict.
        """
        results = self._run(self._graph.main, [*inputs, *self._graph.captures], variables)
        return [self._array(it) for it in results]

    def _check(self, node: Node) -> None:
        tables = (self._framework.formulas, {} if node.type in DRAWS else _OWN, host.FORMULAS)
        if not any(DRAWS.get(node.type, node.type) in table for table in tables):
            raise self._without_formula(node)

    def _without_formula(self, node: Node) -> ConversionError:
        return ConversionError(
            f"Operation '{node.name}' of '{self._owner}' is of type '{node.type}', which has no formula for "
            f"{self._framework.name}. Do this part of the work before or after the converted call, or "
            "compute it with other operations."
        )

    def _run(self, function: Function, arguments: Values, variables: dict[str, Any]) -> Values:
        # By number, the parameters first: a list is faster than names in a dict.
        values = [*arguments, *[None] * (function.num_values - len(arguments))]
        for node in function.nodes:
            inputs = _inputs_of(node, values)
            results = self._compute(node, inputs, variables)
            for number, result in zip(node.outputs, results, strict=True):
                values[number] = result
        return [values[number] for number in function.results]

    def _compute(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        own = _OWN.get(node.type)
        if own is not None:
            return own(self, node, inputs, variables)
        results = known_results(node, inputs)
        if results is not _UNKNOWN:
            return results
        sizes = node.type in ("Maximum", "Minimum") and all(host.is_known(it) for it in inputs)
        if sizes and object in (inputs[0].dtype, inputs[1].dtype):
            return [self._framework.extreme(node.type, *inputs)]
        return self._formula(node, inputs)

    def _formula(self, node: Node, inputs: Values) -> Values:
        """Returns the outputs of a node by the framework's formula."""
        formula = self._framework.formulas.get(node.type)
        if formula is None:
            raise self._without_formula(node)
        names, attributes = _signature(formula)
        with_array = not all(host.is_known(it) for it in inputs)
        given = [
            self._input(node, name, value, with_array)
            for name, value in zip(names, inputs, strict=True)
        ]
        try:
            result = formula(*given, **{name: node.attributes.get(name) for name in attributes})
        except Exception as error:
            if not isinstance(error, ConversionError):
                error.add_note(f"In operation '{node.name}' ('{node.type}') of '{self._owner}'.")
            raise
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def _input(self, node: Node, name: str, value: Any, with_array: bool) -> Any:
        if name in KNOWN:
            return self._known(node, name, value)
        if name in KNOWN_OR_ARRAYS:
            numbers = self._numbers(value)
            return self._array(value) if numbers is None else numbers
        # As a Python number it gets the dtype of the array, and needs no constant in the
        # program.
        if name in NUMBERS and with_array and host.is_known(value) and _is_number(value):
            return value.item()
        return self._array(value)

    def _array(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._array(item) for item in value]
        return self._framework.array(np.asarray(value)) if host.is_known(value) else value

    def _numbers(self, value: Any) -> Any:
        if host.is_known(value):
            return np.asarray(value).tolist()
        return self._framework.numbers(value)

    def _known(self, node: Node, name: str, value: Any) -> Any:
        numbers = self._numbers(value)
        if numbers is None:
            raise ConversionError(
                f"Operation '{node.name}' of '{self._owner}' (type '{node.type}') needs `{name}` before the "
                f"program runs, and here it depends on data. {self._framework.name} has no arrays whose form "
                "depends on their values."
            )
        return numbers

    # --- What is the same for all frameworks ----------------------------------------------------------

    def _shape(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        dtype = node.attributes.get("out_type") or "int32"
        flat = inputs[0] if isinstance(inputs[0], list) else [inputs[0]]
        return [host.as_known(self._sizes(value), dtype) for value in flat]

    def _size(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        count = functools.reduce(lambda a, b: a * b, self._sizes(inputs[0]), 1)
        return [host.as_known([count], node.attributes.get("out_type") or "int32").reshape(())]

    def _rank(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        return [np.array(len(self._sizes(inputs[0])), "int32")]

    def _sizes(self, value: Any) -> Sequence[Any]:
        if host.is_known(value) or isinstance(value, Variable):
            return value.shape
        return self._framework.shape(value)

    def _read(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        return [variables[inputs[0].path]]

    def _assign(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        self._set(inputs[0], self._array(inputs[1]), variables)
        return []

    def _set(self, variable: Variable, new: Any, variables: dict[str, Any]) -> None:
        old = variables[variable.path]
        variables[variable.path] = self._framework.assigned(old, new, variable.trained)

    def _update(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        variable, *others = inputs
        on_values = _on_values(node, _ON_VALUES[node.type])
        if node.type.startswith("ResourceScatter"):
            # `TensorScatter...` has a vector for each position, `ResourceScatter...` an index of a
            # row.
            others[0] = self._formula(_on_values(node, "ExpandDims"), [others[0], np.array(-1)])[0]
        (new,) = self._formula(on_values, [variables[variable.path], *others])
        self._set(variable, new, variables)
        return []

    def _gather(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        axis = np.array(node.attributes.get("batch_dims") or 0)
        return self._formula(
            _on_values(node, "GatherV2"), [variables[inputs[0].path], inputs[1], axis]
        )

    def _call(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        function = self._graph.functions[node.attributes["f"]]
        return self._run(function, inputs[0], variables)

    def _draw(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        """Returns random numbers from the seed of the graph, which advances."""
        dtype = node.attributes.get("Tout") or node.attributes["dtype"]
        seed, (shape, *limits) = variables[SEED], inputs
        key = self._formula(_on_values(node, "StatelessRandomGetKeyCounter"), [seed])
        attributes = {**node.attributes, "dtype": dtype}
        kind = dataclasses.replace(node, type=DRAWS[node.type], attributes=attributes)
        drawn = self._formula(kind, [shape, *key, np.array(1, "int32"), *limits])
        # The counter is a part of the variables that the call returns: the next call draws other
        # numbers.
        variables[SEED] = self._framework.assigned(seed, seed + self._array(_STEP), False)
        return drawn

    def _differentiated(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        """Returns values whose gradient is a function of the graph."""
        values, captured = inputs
        name, places = node.attributes["gradient"], node.attributes["places"]
        fixed = [host.is_known(it) or isinstance(it, Variable) for it in captured]
        kept = [it for it, is_fixed in zip(captured, fixed, strict=True) if not is_fixed]

        def gradient(kept: Values, upstream: Values) -> Values:
            if name is None:
                raise ConversionError(
                    f"The gradient of '{node.name}' in '{self._owner}' is a `custom_gradient` inside of a "
                    "loop, a branch or a `tf.function`, where it is a function of TensorFlow and is not "
                    f"converted. Outputs can be computed in {self._framework.name}, gradients cannot."
                )
            arrays = iter(kept)
            arguments = [
                it if is_fixed else next(arrays)
                for it, is_fixed in zip(captured, fixed, strict=True)
            ]
            # A copy: a gradient must not assign.
            found = self._run(self._graph.functions[name], [*upstream, *arguments], dict(variables))
            result: Values = [None] * len(values)
            for place, it in zip(places, found, strict=True):
                result[place] = self._array(it)
            return result

        return self._framework.with_gradient([self._array(it) for it in values], kept, gradient)

    def _if(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        names = [node.attributes["else_branch"], node.attributes["then_branch"]]
        predicate, arguments = inputs
        index = predicate.astype("int32") if host.is_known(predicate) else predicate
        return self._branch(names, index, arguments, variables)

    def _case(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        return self._branch(node.attributes["branches"], inputs[0], inputs[1], variables)

    def _branch(
        self, names: list[str], index: Any, arguments: Values, variables: dict[str, Any]
    ) -> Values:
        functions = [self._graph.functions[name] for name in names]
        if host.is_known(index):
            # As TensorFlow does: an index outside chooses the last branch.
            place = int(index) if 0 <= int(index) < len(functions) else -1
            return self._run(functions[place], arguments, variables)
        written = _written(functions, arguments)

        def called(function: Function) -> Body:
            def run(carried: Values) -> Values:
                # A framework may trace all branches: assignments must leave the branch only as
                # results.
                inner = {**variables, **dict(zip(written, carried, strict=True))}
                results = self._run(function, arguments, inner)
                return [self._array(it) for it in results] + [inner[path] for path in written]

            return run

        first = [variables[path] for path in written]
        results = self._framework.branch(index, [called(it) for it in functions], first)
        variables.update(zip(written, results[len(results) - len(written) :], strict=True))
        return results[: len(results) - len(written)]

    def _while(self, node: Node, inputs: Values, variables: dict[str, Any]) -> Values:
        (arguments,) = inputs
        test, body = (self._graph.functions[node.attributes[it]] for it in ("cond", "body"))
        # What does not vary stays outside, so that sizes among it are known inside.
        carried = [place for place in range(len(arguments)) if place not in body.unchanged]
        written = _written([test, body], arguments)

        def all_values(values: Values) -> tuple[Values, dict[str, Any]]:
            whole = list(arguments)
            for place, value in zip(carried, values, strict=False):
                whole[place] = value
            return whole, {**variables, **dict(zip(written, values[len(carried) :], strict=True))}

        def tested(values: Values) -> Values:
            return self._run(test, *all_values(values))

        def stepped(values: Values) -> Values:
            whole, inner = all_values(values)
            results = self._run(body, whole, inner)
            return [results[place] for place in carried] + [inner[path] for path in written]

        first = [arguments[place] for place in carried] + [variables[path] for path in written]
        steps = self._steps(test, body, arguments)
        last = self._framework.loop(tested, stepped, first, steps)
        whole, inner = all_values(last)
        variables.update(inner)
        return whole

    def _steps(self, test: Function, body: Function, arguments: Values) -> int | None:
        """Returns how often a loop runs, if that does not depend on data: by counting with what is known."""
        values = [
            it if host.is_known(it) or isinstance(it, Variable) else _UNKNOWN for it in arguments
        ]
        # Only the nodes that determine the next step are computed, often a counter alone.
        test_nodes, body_nodes = needed(test.nodes, test.results), None
        for step in range(_MOST_STEPS):
            (goes_on,) = self._partly(test, test_nodes, values)
            if goes_on is _UNKNOWN:
                return None
            if not goes_on:
                return step
            if body_nodes is None:
                body_nodes = needed(body.nodes, _results_that_matter(test, test_nodes, body))
            values = [
                old if place in body.unchanged else new
                for place, (old, new) in enumerate(
                    zip(values, self._partly(body, body_nodes, values), strict=True)
                )
            ]
        return None

    def _partly(self, function: Function, nodes: Sequence[Node], arguments: Values) -> Values:
        """Returns the results that are known, and a mark for others."""
        values = [*arguments, *[_UNKNOWN] * (function.num_values - len(arguments))]
        for node in nodes:
            inputs = _inputs_of(node, values)
            if node.type in CALLS:
                called = self._graph.functions[node.attributes["f"]]
                results = self._partly(called, called.nodes, inputs[0])
            else:
                results = known_results(node, inputs)
            if results is not _UNKNOWN:
                for number, result in zip(node.outputs, results, strict=True):
                    values[number] = result
        return [values[number] for number in function.results]


def _inputs_of(node: Node, values: Values) -> Values:
    return [
        [values[n] for n in item] if isinstance(item, tuple) else values[item]
        for item in node.inputs
    ]


def known_results(node: Node, inputs: Values) -> Any:
    """Returns the outputs of a node whose inputs are small and known, by NumPy; a mark for other nodes."""
    formula = host.FORMULAS.get(node.type)
    flat = [it for item in inputs for it in (item if isinstance(item, list) else [item])]
    if formula is None or not all(host.is_known(it) for it in flat):
        return _UNKNOWN
    if not all(host.is_small(it) for it in flat):
        return _UNKNOWN
    names, attributes = _signature(formula)
    given = [
        np.asarray(value).tolist() if name in _SLICES else value
        for name, value in zip(names, inputs, strict=True)
    ]
    try:
        with np.errstate(all="ignore"):
            result = formula(*given, **{name: node.attributes.get(name) for name in attributes})
    except Exception:
        # A condition on a symbol, for example: the framework says what is wrong, if anything.
        return _UNKNOWN
    if result is NotImplemented:
        return _UNKNOWN
    results = result if isinstance(result, list) else [result]
    return [it if host.is_known(it) else np.array(it, object) for it in results]


_STEP = np.array([0, 1], "int32")  # To the next seed, as in `SeedGenerator`.
_SLICES = frozenset({"begin", "end", "strides"})


def _results_that_matter(test: Function, test_nodes: list[Node], body: Function) -> list[int]:
    """Returns the results of a loop's body that its condition depends on, step by step."""
    places = {n for node in test_nodes for n in flat_inputs(node.inputs)} | set(test.results)
    places = {n for n in places if n < len(test.parameters)}
    # Until nothing is added: what the condition needs may itself need other values of the step
    # before.
    while True:
        results = [body.results[place] for place in sorted(places)]
        used = {n for node in needed(body.nodes, results) for n in flat_inputs(node.inputs)}
        larger = places | {n for n in used | set(results) if n < len(body.parameters)}
        if larger == places:
            return results
        places = larger


def _is_number(value: Any) -> bool:
    """Whether a known value is a single number that equals a Python number, which an array may meet."""
    if np.ndim(value) or value.dtype.kind not in "fi":
        return False
    # JAX has integers of 32 bits at first.
    return value.dtype.kind == "f" or abs(int(value)) < 2**31


def _on_values(node: Node, kind: str) -> Node:
    """Returns an operation on a variable as one on its value."""
    attributes = {**node.attributes, "T": node.attributes.get("dtype")}
    return dataclasses.replace(node, type=kind, attributes=attributes)


def _written(functions: list[Function], arguments: Values) -> list[str]:
    """Returns the paths of the variables that functions write."""
    places = sorted({place for function in functions for place in function.writes})
    paths = [arguments[place].path for place in places]
    if any(function.draws for function in functions):
        paths.append(SEED)
    return list(dict.fromkeys(paths))


@functools.cache
def _signature(formula: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of positional parameters without defaults, and of keyword-only ones."""
    positional, keywords = [], []
    for parameter in inspect.signature(formula).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords.append(parameter.name)
        elif parameter.kind is parameter.VAR_KEYWORD:  # See `with_attributes_of`.
            keywords.extend(_signature(formula.forward)[1])
        elif parameter.default is parameter.empty:
            positional.append(parameter.name)
    return tuple(positional), tuple(keywords)


# Assignments as operations on values.
_ON_VALUES = {
    "AssignAddVariableOp": "AddV2",
    "AssignSubVariableOp": "Sub",
    "ResourceScatterAdd": "TensorScatterAdd",
    "ResourceScatterSub": "TensorScatterSub",
    "ResourceScatterUpdate": "TensorScatterUpdate",
}
_OWN: dict[str, Callable[[Interpreter, Node, Values, dict[str, Any]], Values]] = {
    "AssignVariableOp": Interpreter._assign,
    "Case": Interpreter._case,
    CUSTOM_GRADIENT: Interpreter._differentiated,
    "Const": lambda interpreter, node, inputs, variables: [node.attributes["value"]],
    "If": Interpreter._if,
    "PartitionedCall": Interpreter._call,
    "Rank": Interpreter._rank,
    "ReadVariableOp": Interpreter._read,
    "ResourceGather": Interpreter._gather,
    "Shape": Interpreter._shape,
    "ShapeN": Interpreter._shape,
    "Size": Interpreter._size,
    "StatefulPartitionedCall": Interpreter._call,
    "StatelessCase": Interpreter._case,
    "StatelessIf": Interpreter._if,
    "StatelessWhile": Interpreter._while,
    "VariableShape": Interpreter._shape,
    "While": Interpreter._while,
    **dict.fromkeys(DRAWS, Interpreter._draw),
    **dict.fromkeys(_ON_VALUES, Interpreter._update),
}
