"""Replaces several operations of a graph with one node if a framework has a formula for it.

| type | what it computes | inputs |
|---|---|---|
| `MatMul+BiasAdd` | `x @ kernel + bias` | `x`, `kernel`, `bias` |
| `MatMul+Reshape+BiasAdd` | `reshape(x @ kernel, shape) + bias` | `x`, `kernel`, `shape`, `bias` |
| `Conv2D+BiasAdd` | a convolution with a bias | `x`, `kernel`, `bias` |
| `Gelu` | `x * Phi(x)` | `x` |
| `Normalization` | `(x - mean) / sqrt(variance + epsilon)` | `x`, `axis` |
| `ScaledNormalization` | that, times `gamma`, plus `beta`, by the last axis | `x`, `axis`, `gamma`, `beta` |
| `IntegerHash` | the bucket of an integer by the hash of its decimal string | `x` |
| `LSTM` | the loop of an `LSTM` over time | `x`, `kernel`, `recurrent_kernel`, `bias`, `h`, `c` |

A node replaces the last of these operations. The others are left out unless something else
needs their results.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from tfkit.src.export.convert.graph import Function, Graph, Node, flat_inputs, needed
from tfkit.src.export.convert.recurrence import lstm_loop


def fused(graph: Graph, types: Collection[str]) -> Graph:
    """Returns a graph in which nodes of some of the types above replace several others."""
    patterns = {kind: pattern for kind, pattern in PATTERNS.items() if kind in types}
    if not patterns:
        return graph
    functions = {name: _fused(it, graph, patterns) for name, it in graph.functions.items()}
    return dataclasses.replace(graph, main=_fused(graph.main, graph, patterns), functions=functions)


def _fused(function: Function, graph: Graph, patterns: dict[str, Pattern]) -> Function:
    function = _without_identities(function)
    values = _Values(function, graph)
    nodes = []
    for node in function.nodes:
        for kind, pattern in patterns.items():
            found = pattern(values, node)
            if found is not None:
                outputs = node.outputs if found.outputs is None else found.outputs
                node = Node(node.name, kind, found.inputs, outputs, found.attributes)
                values.add(node)
                break
        nodes.append(node)
    return dataclasses.replace(
        function, nodes=tuple(needed(nodes, function.results, graph.functions))
    )


def _without_identities(function: Function) -> Function:
    """Leaves out the nodes to which TensorFlow ties a gradient that is the derivative anyway."""
    same: dict[int, int] = {}

    def renamed(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(same.get(number, number) for number in numbers)

    nodes = []
    for node in function.nodes:
        inputs = tuple(
            renamed(it) if isinstance(it, tuple) else same.get(it, it) for it in node.inputs
        )
        if node.type == "IdentityN":
            (values,) = inputs
            assert isinstance(values, tuple)
            same.update(zip(node.outputs, values, strict=True))
        else:
            nodes.append(dataclasses.replace(node, inputs=inputs))
    return dataclasses.replace(function, nodes=tuple(nodes), results=renamed(function.results))


class _Values:
    """The nodes of a function by the numbers of their results."""

    def __init__(self, function: Function, graph: Graph) -> None:
        self.functions = graph.functions
        self._nodes: dict[int, Node] = {}
        self._uses = collections.Counter(function.results)
        for node in function.nodes:
            self.add(node)
            self._uses.update(flat_inputs(node.inputs))

    def add(self, node: Node) -> None:
        """Makes a node the one that computes its results."""
        self._nodes.update(dict.fromkeys(node.outputs, node))

    def of(self, number: Any, *types: str) -> Node | None:
        """Returns the node that computes a value, if it is of one of the types."""
        node = self._nodes.get(number)
        return node if node is not None and node.type in types else None

    def inner(self, number: Any, *types: str) -> Node | None:
        """Returns the node that computes a value, if it is of a type and nothing else uses the value."""
        # A value with a second use must still be computed: fusing would compute it twice.
        return self.of(number, *types) if self._uses[number] == 1 else None

    def is_used(self, number: Any) -> bool:
        """Whether something uses a value."""
        return self._uses[number] > 0

    def constant(self, number: Any) -> np.ndarray | None:
        """Returns a constant."""
        node = self.of(number, "Const")
        return None if node is None else node.attributes["value"]

    def is_number(self, number: Any, expected: float) -> bool:
        """Whether a value is a constant scalar, up to the rounding of its dtype."""
        value = self.constant(number)
        # 1e-3, because constants may be bfloat16.
        return value is not None and value.ndim == 0 and math.isclose(value, expected, rel_tol=1e-3)

    def other(self, node: Node, number: Any) -> Any:
        """Returns the other input of two."""
        return node.inputs[1] if node.inputs[0] == number else node.inputs[0]

    def split(self, node: Node, *types: str) -> tuple[Node, Any] | None:
        """Returns the node behind one of two inputs, of one of the types, and the number of the other."""
        for number in node.inputs:
            found = self.of(number, *types)
            if found is not None:
                return found, self.other(node, number)
        return None


class Found(NamedTuple):
    """The parts of a node that replaces several others.

    Attributes:
        inputs: numbers of values.
        attributes: by name.
        outputs: numbers of values, if they differ from those of the last replaced node.
    """

    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = {}
    outputs: tuple[int, ...] | None = None


Pattern = Callable[[_Values, Node], Found | None]


def _bias(values: _Values, node: Node, *types: str) -> tuple[Node, Any] | None:
    """Returns the node whose result a bias is added to, and the bias."""
    if node.type == "BiasAdd" and node.attributes["data_format"] == "NHWC":
        found = values.inner(node.inputs[0], *types)
        return None if found is None else (found, node.inputs[1])
    return None


def _is_plain(product: Node) -> bool:
    return not (product.attributes.get("transpose_a") or product.attributes.get("transpose_b"))


def _linear(values: _Values, node: Node) -> Found | None:
    found = _bias(values, node, "MatMul")
    if node.type == "AddV2":
        for place in (0, 1):
            product = values.inner(node.inputs[place], "MatMul")
            if product:
                found = product, node.inputs[1 - place]
    if not found or not _is_plain(found[0]):
        return None
    product, bias = found
    return Found((*product.inputs, bias))


def _reshaped_linear(values: _Values, node: Node) -> Found | None:
    found = _bias(values, node, "Reshape")
    product = found and values.inner(found[0].inputs[0], "MatMul")
    if not found or not product or not _is_plain(product):
        return None
    reshape, bias = found
    return Found((*product.inputs, reshape.inputs[1], bias))


def _convolution(values: _Values, node: Node) -> Found | None:
    found = _bias(values, node, "Conv2D")
    if not found or found[0].attributes["data_format"] != "NHWC":
        return None
    return Found((*found[0].inputs, found[1]), found[0].attributes)


def _gelu(values: _Values, node: Node) -> Found | None:
    """Recognizes `0.5 x erfc(-x / sqrt(2))` and `0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x ** 3)))`."""
    if node.type != "Mul":
        return None
    for place in (0, 1):
        half = values.of(node.inputs[1 - place], "Mul")
        factor = values.of(node.inputs[place], "Erfc", "AddV2")
        if half is None or factor is None:
            continue
        for x in half.inputs:
            if not values.is_number(values.other(half, x), 0.5):
                continue
            if factor.type == "Erfc" and _is_scaled_negative(values, factor.inputs[0], x):
                return Found((x,), {"approximate": False})
            if factor.type == "AddV2" and _is_one_plus_tanh(values, factor, x):
                return Found((x,), {"approximate": True})
    return None


def _is_scaled_negative(values: _Values, number: Any, x: Any) -> bool:
    scaled = values.of(number, "Mul")
    found = scaled and values.split(scaled, "Neg")
    return bool(found and found[0].inputs[0] == x and values.is_number(found[1], math.sqrt(0.5)))


def _is_one_plus_tanh(values: _Values, node: Node, x: Any) -> bool:
    found = values.split(node, "Tanh")
    if not found or not values.is_number(found[1], 1.0):
        return False
    scaled = values.of(found[0].inputs[0], "Mul")
    found = values.split(scaled, "AddV2") if scaled else None
    if not found or not values.is_number(found[1], math.sqrt(2 / math.pi)):
        return False
    if x not in found[0].inputs:
        return False
    cubic = values.of(values.other(found[0], x), "Mul")
    found = values.split(cubic, "Pow") if cubic else None
    if not found or not values.is_number(found[1], 0.044715):
        return False
    return found[0].inputs[0] == x and values.is_number(found[0].inputs[1], 3.0)


def _normalization(values: _Values, node: Node) -> Found | None:
    """Recognizes `(x - mean) * rsqrt(variance + epsilon)`."""
    found = node.type == "Mul" and values.split(node, "Rsqrt")
    if not found:
        return None
    centered = values.of(found[1], "Sub")
    shifted = values.of(found[0].inputs[0], "AddV2")
    split = shifted and values.split(shifted, "Mean")
    if not centered or not split:
        return None
    variance, epsilon = split[0], values.constant(split[1])
    x, mean = centered.inputs[0], values.of(centered.inputs[1], "Mean")
    squares = values.of(variance.inputs[0], "SquaredDifference")
    if mean is None or squares is None or epsilon is None or epsilon.ndim:
        return None
    one, other = (values.constant(it.inputs[1]) for it in (mean, variance))
    # `tf.nn.moments` stops the gradient through the mean here, where it is 0 anyway.
    stopped = values.of(squares.inputs[1], "StopGradient")
    middle = stopped.inputs[0] if stopped else squares.inputs[1]
    equal = one is not None and other is not None and np.array_equal(one, other)
    if not equal or squares.inputs[0] != x or mean.inputs[0] != x or middle not in mean.outputs:
        return None
    if not (mean.attributes["keep_dims"] and variance.attributes["keep_dims"]):
        return None
    return Found((x, mean.inputs[1]), {"epsilon": float(epsilon)})


def _scaled_normalization(values: _Values, node: Node) -> Found | None:
    """Recognizes `reshape(reshape(normalized, (-1, n)) * gamma, shape(normalized)) + beta`."""
    found = _bias(values, node, "Reshape")
    product = found and values.inner(found[0].inputs[0], "Mul")
    split = product and values.split(product, "Reshape")
    shape = found and values.of(found[0].inputs[1], "Shape")
    if not found or not split or not shape:
        return None
    rows, gamma = split
    normalized = values.of(rows.inputs[0], "Normalization")
    form = values.constant(rows.inputs[1])
    if normalized is None or shape.inputs[0] not in normalized.outputs:
        return None
    if form is None or form.shape != (2,) or form[0] != -1:
        return None
    return Found((*normalized.inputs, gamma, found[1]), normalized.attributes)


def _lstm(values: _Values, node: Node) -> Found | None:
    loop = lstm_loop(node, values.functions)
    if loop is None:
        return None
    (given,) = node.inputs
    assert isinstance(given, tuple)
    projected = values.of(given[loop.inputs], "MatMul+Reshape+BiasAdd", "BiasAdd")
    if projected and projected.type == "BiasAdd":  # A framework without a formula for all three.
        found = _reshaped_linear(values, projected)
        projected = found and dataclasses.replace(projected, inputs=found.inputs)
    rows = projected and values.of(projected.inputs[0], "Reshape")  # `(steps * batch, input_dim)`
    outputs = tuple(node.outputs[place] for place in (*loop.states, loop.outputs))
    known = outputs if loop.has_outputs else outputs[:2]
    if (
        not projected
        or not rows
        or any(values.is_used(it) for it in node.outputs if it not in known)
    ):
        return None
    _, kernel, _, bias = projected.inputs
    weights = (kernel, given[loop.kernel], bias)
    inputs = (rows.inputs[0], *weights, *(given[place] for place in loop.states))
    return Found(inputs, {"num_steps": loop.num_steps}, outputs)


def _integer_hash(values: _Values, node: Node) -> Found | None:
    if node.type != "StringToHashBucketFast":
        return None
    text = values.of(node.inputs[0], "AsString")
    if text is None or "int" not in text.attributes["T"]:
        return None
    # Padded digits would have a different hash.
    if text.attributes["width"] != -1 or text.attributes["fill"]:
        return None
    return Found(text.inputs, {"num_buckets": node.attributes["num_buckets"]})


PATTERNS: dict[str, Pattern] = {
    "MatMul+BiasAdd": _linear,
    "MatMul+Reshape+BiasAdd": _reshaped_linear,
    "Conv2D+BiasAdd": _convolution,
    "Gelu": _gelu,
    "Normalization": _normalization,
    "ScaledNormalization": _scaled_normalization,
    "IntegerHash": _integer_hash,
    "LSTM": _lstm,
}
