"""The description of a traced graph, without any framework: nodes in order, with numbered values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfkit.src.base.names import words

# Types of nodes that call the function in their attribute `f`.
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
# Those that assign to the variable that is their first input.
ASSIGNMENTS = words("""
    AssignVariableOp AssignAddVariableOp AssignSubVariableOp ResourceScatterAdd
    ResourceScatterSub ResourceScatterUpdate
""")


# Draws by the generators of the process or of an operation, which a converted call does not have: they become
# draws by a key and a counter, from a separate seed at this path among the variables.
DRAWS = {
    "RandomStandardNormal": "StatelessRandomNormalV2",
    "RandomUniform": "StatelessRandomUniformV2",
    "RandomUniformInt": "StatelessRandomUniformIntV2",
    "TruncatedNormal": "StatelessTruncatedNormalV2",
}
SEED = "other/draws"
# An `IdentityN` whose gradient is a written-out function instead of the derivative of what is
# computed. Its inputs are the values, and what the function needs besides the gradients of the outputs. Its
# attributes are `gradient`, the name of the function (`None` if it cannot be read), and `places`, the
# positions of the values that have a gradient.
CUSTOM_GRADIENT = "CustomGradient"
# Another such `IdentityN`: its inputs, apart from the values, are the arguments of a function of JAX, its
# attribute `function`. Its outputs are the results, and the arguments again.
JAX_FUNCTION = "JaxFunction"


@dataclasses.dataclass(frozen=True)
class Node:
    """One operation.

    Args:
        name: its name in the graph, which begins with the names of the layers around it.
        type: type of operation, `"MatMul"`.
        inputs: the number of a value for each input; a tuple of numbers for an input that is a list of
            tensors (`values` of `ConcatV2`).
        outputs: numbers of the values that it computes.
        attributes: by name: integers, floats, strings, dtypes by their names (`"float32"`), shapes as tuples
            with `None` for unknown sizes (or `None`), NumPy arrays, functions by their names, and lists of
            these.
    """

    name: str
    type: str
    inputs: tuple[int | tuple[int, ...], ...]
    outputs: tuple[int, ...]
    attributes: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a function: dtype `"resource"` for a variable."""

    name: str
    dtype: str


@dataclasses.dataclass(frozen=True)
class Function:
    """Nodes in an order in which they can be computed; accesses of a variable in the order of the trace.

    Args:
        name: name of the function.
        parameters: they have the values 0, 1, ...
        nodes: without those that nothing needs.
        results: numbers of the values that are returned.
        num_values: how many values there are.
        writes: positions of the parameters that are variables and are assigned to, here or in functions that
            are called.
        draws: whether there is a draw of `DRAWS`, here or in functions that are called.
        unchanged: positions at which the function returns its own parameter (in the body of a loop: what does
            not vary).
    """

    name: str
    parameters: tuple[Parameter, ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]
    num_values: int
    writes: frozenset[int]
    draws: bool
    unchanged: frozenset[int]


@dataclasses.dataclass(frozen=True)
class Graph:
    """A traced call.

    Args:
        main: the call itself. Its parameters are the inputs, followed by the captures.
        functions: all functions that are called inside, by name.
        captures: for each parameter after the inputs a `Variable` or a constant.
        num_inputs: the number of inputs.
        backward: names of functions that only gradients call.
    """

    main: Function
    functions: Mapping[str, Function]
    captures: tuple[Variable | np.ndarray, ...]
    num_inputs: int
    backward: frozenset[str] = frozenset()

    def variables(self) -> list[Variable]:
        """Returns the variables that the graph reads or writes, each once."""
        return list(dict.fromkeys(it for it in self.captures if isinstance(it, Variable)))

    def written(self) -> set[str]:
        """Returns the paths of the variables that the graph writes."""
        captured = {self.num_inputs + place: it for place, it in enumerate(self.captures)}
        written = [captured[place] for place in self.main.writes]
        paths = {it.path for it in written if isinstance(it, Variable)}
        return paths | {SEED} if self.main.draws else paths


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable of the graph; as a value, the variable and not its content.

    Args:
        path: its attribute path.
        dtype: name of its dtype.
        shape: its shape.
        trained: whether it is trained.
    """

    path: str
    dtype: str
    shape: tuple[int, ...]
    trained: bool = False


def flat_inputs(inputs: tuple[int | tuple[int, ...], ...]) -> tuple[int, ...]:
    """Returns the numbers of all inputs of a node, in order."""
    return tuple(n for item in inputs for n in (item if isinstance(item, tuple) else (item,)))


def functions_of(node: Node, functions: Mapping[str, Function]) -> list[str]:
    """Returns the names of the functions that a node calls."""
    names = ("f", "cond", "body", "then_branch", "else_branch")
    values = [node.attributes.get(name) for name in names]
    values += node.attributes.get("branches") or []
    return [it for it in values if isinstance(it, str) and it in functions]


def writes_of(node: Node, functions: Mapping[str, Function]) -> set[int]:
    """Returns the positions of the inputs that a call of functions writes to."""
    # `If` and `Case` have the predicate first.
    shift = 1 if node.type in ("If", "StatelessIf", "Case", "StatelessCase") else 0
    named = (functions[name].writes for name in functions_of(node, functions))
    # A position in the function's parameters is one in the node's flat inputs, moved by the
    # predicate.
    return {place + shift for places in named for place in places}


def needed(
    nodes: Sequence[Node], results: Sequence[int], functions: Mapping[str, Function] | None = None
) -> list[Node]:
    """Returns the nodes that the results depend on and, with the functions they call, those that assign."""
    wanted = set(results)
    kept = []
    # From the end: when a node is reached, all that could need it has been seen.
    for node in reversed(nodes):
        acts = functions is not None and (node.type in ASSIGNMENTS or writes_of(node, functions))
        if acts or not wanted.isdisjoint(node.outputs):
            kept.append(node)
            wanted.update(flat_inputs(node.inputs))
    return kept[::-1]
