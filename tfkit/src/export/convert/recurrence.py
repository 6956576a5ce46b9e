"""Recognizes the loop over time of `LSTM`, by comparison with the traced loops of such a layer."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfkit.src.export.convert.graph import Function, Graph, Node
from tfkit.src.export.convert.reader import read
from tfkit.src.layers.recurrent.lstm import LSTM


class Loop(NamedTuple):
    """Positions among the inputs and the results of a loop.

    Attributes:
        inputs: the projected inputs of all steps, `(steps, batch, 4 * units)`.
        kernel: the recurrent kernel.
        states: the output and the memory.
        outputs: the list of the outputs of all steps; of something else unless `has_outputs`.
        has_outputs: whether it collects the outputs, not a position.
        num_steps: the number of steps, not a position; `None` if it is not known.
    """

    inputs: int
    kernel: int
    states: tuple[int, int]
    outputs: int
    has_outputs: bool
    num_steps: int | None = None


_LOOPS = ("While", "StatelessWhile")


def lstm_loop(node: Node, functions: Mapping[str, Function]) -> Loop | None:
    """Returns the positions if a node is the loop of an LSTM with tanh and sigmoid, and without a mask."""
    if node.type not in _LOOPS:
        return None
    form = _form(node, functions)
    for all_outputs in (False, True):
        expected, loop = _expected(all_outputs, _num_steps(node, functions) is not None)
        if form == expected:
            return loop._replace(num_steps=_num_steps(node, functions))
    return None


@functools.cache
def _expected(all_outputs: bool, has_known_steps: bool) -> tuple[Any, Loop]:
    """Returns the form of the loop that tfkit's LSTM has, and the positions."""
    # One unit and one feature: the form does not depend on these sizes.
    layer = LSTM(1, return_sequences=all_outputs, dtype="float32")
    function = tf.function(layer, autograph=False).get_concrete_function(
        tf.TensorSpec((None, 2 if has_known_steps else None, 1))
    )
    graph = read(function, lambda variable: variable.name)
    (node,) = (node for node in graph.main.nodes if node.type in _LOOPS)
    return _form(node, graph.functions), _positions(node, graph, all_outputs)


def _positions(loop: Node, graph: Graph, all_outputs: bool) -> Loop:
    nodes = graph.functions[loop.attributes["body"]].nodes
    (product,) = (node for node in nodes if node.type == "MatMul")
    (taken,) = (node for node in nodes if node.type == "StridedSlice")
    output, kernel = product.inputs
    written = [node.inputs[0] for node in nodes if node.type == "TensorListSetItem"]
    first = min(_numbers(written))
    (inputs,) = _numbers(taken.inputs[:1])
    output, kernel = _numbers((output, kernel))
    # The memory is the variable after the output.
    return Loop(inputs, kernel, (output, output + 1), first, all_outputs)


def _numbers(inputs: Any) -> list[int]:
    return [number for number in inputs if isinstance(number, int)]


def _form(loop: Node, functions: Mapping[str, Function]) -> Any:
    """Returns what two loops have in common that compute the same for inputs of any sizes."""
    body, test = (functions[loop.attributes[name]] for name in ("body", "cond"))
    return (
        tuple(parameter.dtype for parameter in body.parameters),
        tuple(map(_node_form, body.nodes)),
        body.results,
        # The number of steps, where it is known, is the only constant.
        tuple(_node_form(node) for node in test.nodes if node.type != "Const"),
        test.results,
    )


def _node_form(node: Node) -> Any:
    attributes = {
        name: (value.dtype.name, value.shape, value.tobytes())
        if isinstance(value, np.ndarray)
        else repr(value)
        for name, value in node.attributes.items()
        if not name.startswith("_")
    }
    return node.type, node.inputs, node.outputs, tuple(sorted(attributes.items()))


def _num_steps(loop: Node, functions: Mapping[str, Function]) -> int | None:
    """Returns the number with which the test of a loop compares, if it is the only constant there."""
    nodes = functions[loop.attributes["cond"]].nodes
    constants = [node.attributes["value"] for node in nodes if node.type == "Const"]
    return int(constants[0]) if len(constants) == 1 and constants[0].ndim == 0 else None
