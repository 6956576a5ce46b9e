"""The calls of a functional model, as libraries that convert models read them: `model._nodes_by_depth`."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.ops import classes
from tfkit.src.symbolic.operations import Operation
from tfkit.src.symbolic.tensors import KerasTensor, Node, symbolic_leaves


class Arguments(NamedTuple):
    """The arguments of a recorded call.

    Attributes:
        args: those by position.
        kwargs: those by name.
        keras_tensors: the symbolic tensors among them, in order.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    keras_tensors: list[KerasTensor]

    def fill_in(self, values: dict[int, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments with values, by id of the symbolic tensor."""
        return tf.nest.map_structure(
            lambda leaf: values.get(id(leaf), leaf), (self.args, self.kwargs)
        )


class Call(NamedTuple):
    """A recorded call in the form of Keras's nodes.

    Attributes:
        operation: the layer that was called, or an instance of the op's class.
        arguments: its arguments.
        outputs: its symbolic outputs, in order.
        parent_nodes: the calls that its arguments come from.
    """

    operation: Operation
    arguments: Arguments
    outputs: list[KerasTensor]
    parent_nodes: list[Call]

    @property
    def input_tensors(self) -> list[KerasTensor]:
        """The symbolic tensors among the arguments."""
        return self.arguments.keras_tensors

    @property
    def output_tensors(self) -> list[KerasTensor]:
        """The symbolic outputs."""
        return self.outputs

    @property
    def is_input(self) -> bool:
        """Whether it has no inputs."""
        return not self.input_tensors


def nodes_by_depth(self: Layer) -> dict[int, list[Call]]:
    """Returns the calls of a functional model by their longest distance to an output.

    Raises:
        AttributeError: for a layer that is not a functional model.
    """
    graph = getattr(self, "_tfkit_graph", None)
    if graph is None:
        raise AttributeError(f"{type(self).__name__} '{self.name}' is not a functional model.")
    nodes: list[Node] = graph.nodes
    made_by = {id(tensor): node for node in nodes for tensor in node.output_tensors}
    inputs = {id(tensor) for tensor in graph.flat_inputs}
    parents = {
        id(node): []
        if any(id(tensor) in inputs for tensor in node.output_tensors)
        else [made_by[id(tensor)] for tensor in node.input_tensors]
        for node in nodes
    }
    depths = {id(node): 0 for node in nodes}
    for node in reversed(nodes):
        for parent in parents[id(node)]:
            depths[id(parent)] = max(depths[id(parent)], depths[id(node)] + 1)
    calls: dict[int, Call] = {}
    found: dict[int, list[Call]] = {}
    for node in nodes:
        operation, args, kwargs = node.operation, node.args, node.kwargs
        if not isinstance(operation, Operation):
            operation, args, kwargs = classes.call_of(node, operation.__name__)
        arguments = Arguments(args, kwargs, symbolic_leaves((args, kwargs)))
        before = [calls[id(parent)] for parent in parents[id(node)]]
        calls[id(node)] = Call(operation, arguments, node.output_tensors, before)
        found.setdefault(depths[id(node)], []).append(calls[id(node)])
    return found


def functional(self: Layer) -> Any:
    """Returns a Sequential model as a functional one, with the same layers; `None` before it is built.

    Raises:
        AttributeError: for a layer that is not a Sequential model.
    """
    if not getattr(self, "_tfkit_is_stack", False):
        raise AttributeError(f"{type(self).__name__} '{self.name}' is not a Sequential model.")
    graph = getattr(self, "_tfkit_graph", None)
    if graph is None:
        return None
    return sys.modules["tfkit"].Model(graph.inputs, graph.outputs, name=self.name)
