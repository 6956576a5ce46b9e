"""Reads the operations of a traced function, in the order in which they run, for another framework.

A trace that is read is a fresh one: a gradient that TensorFlow takes later changes a trace.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.borrowed.private import op_def_registry

Reference = tuple[str, int]  # Name of a node or an argument, and the number of its output.
# Operations without an effect on values.
_IGNORED = frozenset(("NoOp", "Assert", "Print", "PrintV2", "CheckNumerics"))


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """One operation of a trace.

    Args:
        name: its name, which begins with those of the layers it is in.
        op: its type.
        inputs: where its inputs come from.
        attributes: its attributes, as Python objects; a function is given by its name.
    """

    name: str
    op: str
    inputs: tuple[Reference, ...]
    attributes: dict[str, Any]

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]


@dataclasses.dataclass(frozen=True, eq=False)
class Function:
    """The operations of one function.

    Args:
        name: its name.
        arguments: the names of its arguments.
        nodes: the operations that its results or its effects need, in an order in which they can run.
        results: where its results come from.
    """

    name: str
    arguments: tuple[str, ...]
    nodes: tuple[Node, ...]
    results: tuple[Reference, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Trace:
    """A traced function, and those that it calls.

    Args:
        main: the function. Its arguments are first those of the call, then what it captures.
        functions: those that it calls, by name.
        captures: what it captures: a variable, or the value of a tensor.
        outputs: the nest of its results; leaves are their numbers, or `None`.
    """

    main: Function
    functions: dict[str, Function]
    captures: tuple[Any, ...]
    outputs: Any

    def nodes(self) -> Iterable[Node]:
        """Yields the operations of all functions."""
        for function in (self.main, *self.functions.values()):
            yield from function.nodes


def read(concrete: Any) -> Trace:
    """Returns the operations of a `ConcreteFunction`.

    Raises:
        ValueError: if it captures a resource that is no variable, such as a table of words.
    """
    library = {
        definition.signature.name: definition
        for definition in concrete.graph.as_graph_def().library.function
    }
    variables = {id(variable.handle): variable for variable in concrete.graph.variables}
    captures = tuple(_captured(tensor, variables) for tensor in concrete.captured_inputs)
    count = iter(range(len(concrete.outputs)))
    outputs = tf.nest.map_structure(
        lambda leaf: None if leaf is None else next(count), concrete.structured_outputs
    )
    return Trace(
        _function(concrete.function_def),
        {name: _function(definition) for name, definition in library.items()},
        captures,
        outputs,
    )


def _captured(tensor: Any, variables: dict[int, tf.Variable]) -> Any:
    if tensor.dtype != tf.resource:
        return tensor.numpy()
    if id(tensor) not in variables:
        raise ValueError(
            "A resource of TensorFlow's that is no variable, such as a table of words, cannot be converted: "
            f"{tensor!r}. Look words up in TensorFlow, and convert the layers after it."
        )
    return variables[id(tensor)]


def _function(definition: Any) -> Function:
    arguments = tuple(argument.name for argument in definition.signature.input_arg)
    nodes = {node.name: node for node in definition.node_def}
    results = [
        _reference(definition.ret[argument.name], nodes)
        for argument in definition.signature.output_arg
    ]
    needed = {name for name, _ in results}
    needed |= set(definition.control_ret.values())
    needed |= {
        node.name for node in nodes.values() if node.op.startswith(("Assign", "ResourceScatter"))
    }
    ordered = _ordered(needed, nodes)
    return Function(
        definition.signature.name,
        arguments,
        tuple(_node(node, nodes) for node in ordered if node.op not in _IGNORED),
        tuple(results),
    )


def _ordered(needed: set[str], nodes: dict[str, Any]) -> list[Any]:
    """Returns the nodes that are needed, each after those that it needs."""
    done: dict[str, Any] = {}
    pending = [(name, False) for name in nodes if name in needed][::-1]
    while pending:
        name, visited = pending.pop()
        if name in done or name not in nodes:
            continue
        if visited:
            done[name] = nodes[name]
            continue
        pending.append((name, True))
        before = [text.lstrip("^").split(":")[0] for text in nodes[name].input]
        pending += [(other, False) for other in reversed(before) if other not in done]
    return list(done.values())


def _node(node: Any, nodes: dict[str, Any]) -> Node:
    inputs = tuple(_reference(text, nodes) for text in node.input if not text.startswith("^"))
    attributes = {
        name: _python(value)
        for name, value in node.attr.items()
        if not name.startswith("_") or name == "_gradient_op_type"
    }
    return Node(node.name, node.op, inputs, attributes)


def _reference(text: str, nodes: dict[str, Any]) -> Reference:
    """Returns the meaning of `argument`, or of `node:output:number`; an output may be several tensors."""
    name, *rest = text.split(":")
    if not rest:
        return name, 0
    first = 0
    for output, count in _outputs(nodes[name]):
        if output == rest[0]:
            return name, first + int(rest[1])
        first += count
    raise ValueError(f"Operation {name} ({nodes[name].op}) has no output {rest[0]}.")


def _outputs(node: Any) -> list[tuple[str, int]]:
    """Returns names and numbers of tensors of an operation's outputs."""
    return [
        (
            output.name,
            node.attr[output.number_attr].i
            if output.number_attr
            else len(node.attr[output.type_list_attr].list.type)
            if output.type_list_attr
            else 1,
        )
        for output in _definition(node.op).output_arg
    ]


@functools.cache
def _definition(op: str) -> Any:
    return op_def_registry.get(op)


def _python(value: Any) -> Any:
    """Returns the value of an attribute."""
    kind = value.WhichOneof("value")
    if kind == "list":
        lists = value.list
        for name in ("s", "i", "f", "b", "type", "shape", "func"):
            if items := getattr(lists, name):
                return [_plain(name, item) for item in items]
        return []
    return _plain(kind, getattr(value, kind)) if kind else None


def _plain(kind: str, item: Any) -> Any:
    if kind == "s":
        return item.decode("utf-8", "replace")
    if kind == "type":
        return tf.as_dtype(item).name
    if kind == "tensor":
        return np.asarray(tf.make_ndarray(item))
    if kind == "shape":
        return None if item.unknown_rank else [size.size for size in item.dim]
    if kind == "func":
        return item.name
    return item
