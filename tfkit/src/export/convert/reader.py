"""Reads a traced function (a `ConcreteFunction`) as a `Graph`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.borrowed.private import gradient_registry, op_def_registry
from tfkit.src.engine.derivatives import is_derivative
from tfkit.src.engine.function_defs import functions_in
from tfkit.src.export.convert.graph import (
    ASSIGNMENTS,
    CALLS,
    CUSTOM_GRADIENT,
    DRAWS,
    JAX_FUNCTION,
    Function,
    Graph,
    Node,
    Parameter,
    Variable,
    flat_inputs,
    functions_of,
    needed,
    writes_of,
)

# Checks that raise an error and compute nothing: a converted function does not make them.
_DROPPED = frozenset({"NoOp", "Assert", "PrintV2"})
_CHECKED = frozenset({"CheckNumerics", "CheckNumericsV2"})  # Their result is the input.
_SAME = frozenset({"Identity", "EnsureShape"})


def read(
    function: Any,
    paths: Callable[[tf.Variable], str],
    is_trained: Callable[[tf.Variable], bool] = lambda variable: False,
) -> Graph:
    """Returns the description of a traced function.

    Args:
        function: a `ConcreteFunction` that nothing has called or differentiated yet: a gradient adds nodes.
        paths: returns the path of a variable.
        is_trained: returns whether a variable is trained.

    Raises:
        ValueError: if the function captures something that is neither a variable nor a dense tensor.
    """
    reader = _Reader()
    main = reader.traced(function)
    by_handle = {id(it.handle): it for it in function.graph.variables}
    captures: list[Variable | np.ndarray] = []
    for outside, inside in function.graph.captures:
        variable = by_handle.get(id(outside))
        if variable is not None:
            form = tuple(variable.shape.as_list())
            dtype = variable.dtype.base_dtype.name
            captures.append(Variable(paths(variable), dtype, form, is_trained(variable)))
        elif outside.dtype in (tf.resource, tf.variant) and not inside.consumers():
            captures.append(np.zeros(0))  # Nothing reads it.
        elif outside.dtype in (tf.resource, tf.variant):
            raise ValueError(
                f"The traced call uses '{inside.name}', which is not a variable (but, say, a table). "
                "Only variables and dense tensors can be converted: do this part of the work before the call."
            )
        else:
            captures.append(outside.numpy())
    num_inputs = len(main.parameters) - len(captures)
    backward = frozenset(reader.backward)
    return Graph(main, reader.functions, tuple(captures), num_inputs, backward)


class _Reader:
    """Functions as they are found, those inside first."""

    def __init__(self) -> None:
        self._library: dict[str, Any] = {}
        self.functions: dict[str, Function] = {}
        self.backward: set[str] = set()
        # For the results that a function does not change: the parameters that they are.
        self._passed: dict[str, dict[int, int]] = {}

    def traced(self, function: Any) -> Function:
        """Returns the description of a `ConcreteFunction`; functions inside it are kept as well."""
        definitions = function.graph.as_graph_def().library.function
        self._library.update({it.signature.name: it for it in definitions})
        return self.function(function.function_def, function.graph)

    def function(self, definition: Any, graph: Any = None) -> Function:
        """Returns the description of a `FunctionDef`; functions inside it are kept as well.

        Args:
            definition: the `FunctionDef`.
            graph: the graph from which it was made, if it exists.
        """
        signature = definition.signature
        parameters = [
            Parameter(it.name, tf.dtypes.as_dtype(it.type).name) for it in signature.input_arg
        ]
        numbers = {it.name: number for number, it in enumerate(parameters)}
        count = len(parameters)
        nodes: list[Node] = []
        for node in _in_order(definition.node_def, set(numbers)):
            # A function may be called by a node that has its name as type.
            called = self._library.get(node.op)
            op = op_def_registry.get(node.op) if called is None else called.signature
            if op is None:
                raise ValueError(
                    f"Operation '{node.name}' is of a type that is not known: '{node.op}'"
                )
            outputs = []
            for argument in op.output_arg:
                for place in range(_length(argument, node)):
                    numbers[f"{node.name}:{argument.name}:{place}"] = count
                    # Each output of each node has its own number, after the parameters' numbers.
                    outputs.append(count)
                    count += 1
            inputs = _grouped(op, node, numbers)
            attributes = {name: self._attribute(value) for name, value in node.attr.items()}
            kind = "Identity" if node.op in _CHECKED else node.op
            rule = _custom_gradient(attributes)
            function = None if rule is None else _jax_function(rule)
            if function is not None:
                kind, attributes = JAX_FUNCTION, {"function": function}
                inputs = (flat_inputs(inputs)[function.num_outputs :],)
            elif rule is not None:
                kind = CUSTOM_GRADIENT
                found, attributes = self._gradient(rule, node, graph, numbers)
                inputs = (*inputs, found)
            if called is not None:
                self._keep(node.op)
                kind, inputs, attributes["f"] = "PartitionedCall", (flat_inputs(inputs),), node.op
            nodes.append(Node(node.name, kind, inputs, tuple(outputs), attributes))
        results = tuple(numbers[definition.ret[it.name]] for it in signature.output_arg)
        names = tuple(parameters)
        writes = frozenset(self._writes(nodes, len(names)))
        origins = self._origins(nodes, len(names))
        self._passed[signature.name] = {
            place: origins[number] for place, number in enumerate(results) if number in origins
        }
        # In the body of a loop: the values that no step changes.
        same = frozenset(a for a, b in self._passed[signature.name].items() if a == b)
        # Before `needed`: what only a check depends on is dropped as well.
        made = [it for it in nodes if it.type not in _DROPPED]
        kept = tuple(needed(made, results, self.functions))
        draws = any(
            node.type in DRAWS
            or any(self.functions[name].draws for name in functions_of(node, self.functions))
            for node in kept
        )
        return Function(signature.name, names, kept, results, count, writes, draws, same)

    def _attribute(self, value: Any) -> Any:
        """Returns an attribute as an object of Python; a function is read, and known by its name."""
        for function in functions_in(value):
            self._keep(function.name)
        kind = value.WhichOneof("value")
        if kind == "list":
            for field, content in value.list.ListFields():
                return [_plain(field.name, item) for item in content]
            return []
        return _plain(kind, getattr(value, kind)) if kind else None

    def _gradient(
        self, rule: Any, node: Any, graph: Any, numbers: Mapping[str, int]
    ) -> tuple[tuple[int, ...], dict[str, Any]]:
        """Returns the inputs and the attributes that the gradient of a node adds to it.

        The gradient is a function of Python that uses tensors of the graph. It is traced as a function inside
        the graph, which captures them, as TensorFlow does when it differentiates the graph.
        """
        refused: dict[str, Any] = {"gradient": None, "places": []}
        if graph is None:  # Of a function inside: its tensors belong to a graph that is gone.
            return (), refused
        outputs = graph.get_operation_by_name(node.name).outputs
        places: list[int] = []

        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor]:
            found = rule(None, *upstream)
            places[:] = [place for place, it in enumerate(found) if it is not None]
            return [tf.convert_to_tensor(found[place]) for place in places]

        specs = [tf.TensorSpec(it.shape, it.dtype) for it in outputs]
        try:
            with graph.as_default():
                function = tf.function(gradient, autograph=False).get_concrete_function(*specs)
            # The gradient uses values of the forward computation, which become inputs of the node.
            captured = tuple(_number(it, graph, numbers) for it, _ in function.graph.captures)
        except Exception:
            # Of any kind, from a user's function: the gradient is refused when it is needed.
            return (), refused
        before = set(self.functions)
        name = function.function_def.signature.name
        self.functions[name] = self.traced(function)
        self.backward |= self.functions.keys() - before
        return captured, {"gradient": name, "places": places}

    def _keep(self, name: str) -> None:
        if name not in self.functions:
            self.functions[name] = self.function(self._library[name])

    def _origins(self, nodes: list[Node], num_parameters: int) -> dict[int, int]:
        """Returns the parameters that values are, for those that are one."""
        origins = {number: number for number in range(num_parameters)}
        for node in nodes:
            flat = flat_inputs(node.inputs)
            if node.type in _SAME:
                pairs = {0: 0}
            elif node.type in CALLS:
                pairs = self._passed[node.attributes["f"]]
            else:
                continue
            for place, source in pairs.items():
                if flat[source] in origins:
                    origins[node.outputs[place]] = origins[flat[source]]
        return origins

    def _writes(self, nodes: list[Node], num_parameters: int) -> Iterator[int]:
        for node in nodes:
            flat = flat_inputs(node.inputs)
            if node.type in ASSIGNMENTS and flat[0] < num_parameters:
                yield flat[0]
            for written in writes_of(node, self.functions):
                if flat[written] < num_parameters:
                    yield flat[written]


def _custom_gradient(attributes: Mapping[str, Any]) -> Any:
    """Returns the written-out gradient of a node; `None` if it has only its derivative."""
    name = attributes.get("_gradient_op_type") or ""
    if not name.startswith("CustomGradient-"):
        return None
    rule = gradient_registry.lookup(name)
    return None if is_derivative(_written_out(rule)) else rule


def _written_out(rule: Any) -> Any:
    """Returns the gradient of a `tf.custom_gradient` that TensorFlow has made a rule of, if it is found."""
    pending = [rule]
    while pending:
        # TensorFlow wraps the function in closures, in which the original one is found by its name
        # (seen in 2.21).
        inside = _variables_of(pending.pop())
        if "grad_fn" in inside:
            return inside["grad_fn"]
        pending += [it for name, it in inside.items() if name == "tape_grad_fn"]
    return None


def _jax_function(rule: Any) -> Any:
    """Returns the function of JAX of which `calling.py` has made a rule; `None` for other rules."""
    gradient = _written_out(rule)
    if not getattr(gradient, "__module__", "").startswith("jax."):
        return None
    # `jax2tf` has it compiled by `jax.jit`, which wraps it (seen in 0.10).
    compiled = getattr(_variables_of(gradient).get("impl"), "fun_jax", None)
    function = getattr(compiled, "__wrapped__", None)
    return function if hasattr(function, "num_outputs") else None


def _variables_of(function: Any) -> dict[str, Any]:
    """Returns the variables that a function has from the functions around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: it.cell_contents for name, it in cells}


def _number(tensor: Any, graph: Any, numbers: Mapping[str, int]) -> int:
    """Returns the number of the value that a tensor of a graph has in the function made of it."""
    for place, given in enumerate(graph.inputs):
        if given is tensor:
            return place
    output = tensor.op.op_def.output_arg
    lengths = [_length(it, tensor.op.node_def) for it in output]
    place = tensor.value_index
    for argument, length in zip(output, lengths, strict=True):
        if place < length:
            return numbers[f"{tensor.op.name}:{argument.name}:{place}"]
        place -= length
    raise KeyError(tensor.name)


def _in_order(nodes: Any, parameters: set[str]) -> list[Any]:
    """Returns nodes after all those that they depend on, otherwise in their original order."""
    by_name = {node.name: node for node in nodes}
    done: set[str] = set(parameters)
    order = []
    for first in nodes:
        # A stack instead of recursion: chains of a thousand nodes are usual.
        pending = [first]
        while pending:
            node = pending[-1]
            before = [text.lstrip("^").partition(":")[0] for text in node.input]
            missing = [by_name[name] for name in before if name not in done]
            if missing:
                pending += missing
            else:
                pending.pop()
                if node.name not in done:
                    done.add(node.name)
                    order.append(node)
    return order


def _length(argument: Any, node: Any) -> int:
    """Returns the number of tensors of one argument of an operation."""
    if argument.number_attr:
        return int(node.attr[argument.number_attr].i)
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type)
    return 1


def _grouped(op: Any, node: Any, numbers: Mapping[str, int]) -> tuple[int | tuple[int, ...], ...]:
    """Returns the inputs by the arguments of the operation, without control inputs."""
    flat = iter([numbers[text] for text in node.input if not text.startswith("^")])
    groups: list[int | tuple[int, ...]] = []
    for argument in op.input_arg:
        several = argument.number_attr or argument.type_list_attr
        group = tuple(next(flat) for _ in range(_length(argument, node)))
        groups.append(group if several else group[0])
    return tuple(groups)


def _plain(kind: str, value: Any) -> Any:
    if kind == "type":
        return tf.dtypes.as_dtype(value).name
    if kind == "shape":
        if value.unknown_rank:
            return None
        return tuple(None if dim.size < 0 else dim.size for dim in value.dim)
    if kind == "tensor":
        return tf.make_ndarray(value)
    if kind == "func":
        return value.name
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
