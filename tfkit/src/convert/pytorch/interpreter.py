"""Runs the operations of a graph on tensors of PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch._guards import detect_fake_mode
from torch.utils._python_dispatch import _disable_current_modes  # Private, seen in PyTorch 2.13.

from tfkit.src.convert.graph import Function, Graph, Variable
from tfkit.src.convert.interpreter import ConversionError
from tfkit.src.convert.pytorch import sizes
from tfkit.src.convert.pytorch.dtypes import dtype_of, fresh, tensor_of
from tfkit.src.convert.pytorch.operation import Operation as Node
from tfkit.src.convert.pytorch.operation import operations
from tfkit.src.convert.pytorch.table import HOST, TABLE

Value = (
    Any  # A tensor, an array of numbers known before, a list of tensors, or the name of a variable.
)


class Program:
    """A graph that is ready to run.

    Args:
        graph: the graph.
        owner: name of the layer, for errors.

    Raises:
        ConversionError: for an operation that has no formula.
    """

    def __init__(self, graph: Graph, owner: str) -> None:
        self.graph = graph
        self.functions = {it.name: it for it in (graph.main, *graph.functions.values())}
        self.operations = operations(graph)
        for nodes in self.operations.values():
            for node in nodes:
                if node.op not in TABLE and node.op not in _SPECIAL and node.op not in sizes.TABLE:
                    raise ConversionError(
                        f"Operation '{node.name}' of '{owner}' is of type '{node.op}', which has no formula "
                        "for PyTorch. Do this part of the work before or after the converted call, or "
                        "compute it with other operations."
                    )


class Interpreter:
    """A run of a program.

    Args:
        program: the program.
        device: where constants go.
        state: the values of the variables by path; those that are assigned change in this dict.
        constants: tensors of constants, kept from run to run.
    """

    def __init__(
        self,
        program: Program,
        device: Any,
        state: dict[str, torch.Tensor],
        constants: dict[Any, torch.Tensor],
    ) -> None:
        self._program = program
        self._device = device
        self.state = state
        self._constants = constants

    def run(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """Returns the results of the graph, as tensors."""
        graph = self._program.graph
        captures = [it.path if isinstance(it, Variable) else it for it in graph.captures]
        results = self._call(graph.main, [*inputs, *captures])
        return [self.tensor(value) for value in results]

    def tensor(self, value: Value) -> torch.Tensor:
        """Returns a value as a tensor."""
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype == object:
            return tensor_of(value, self._device)
        if (
            detect_fake_mode() is not None
        ):  # In a trace by PyTorch, a constant is an operation of it.
            return fresh(value, self._device)
        # A small one by content, since it may result from others; a large one stays in the trace.
        content = value.tobytes() if value.size <= sizes.MOST else id(value)
        key = content, value.shape, value.dtype.name, str(self._device)
        if key not in self._constants:
            with _disable_current_modes():  # Made before the graph that uses it, and not by it.
                self._constants[key] = tensor_of(value, self._device)
        return self._constants[key]

    def _call(self, function: Function, arguments: list[Value]) -> list[Value]:
        values = [*arguments, *[None] * (function.num_values - len(arguments))]
        for node in self._program.operations[function.name]:
            results = self._outputs(node, [values[number] for number in node.inputs])
            if not isinstance(results, (tuple, list)) or isinstance(results, _Elements):
                results = (results,)
            for number, result in zip(node.outputs, results, strict=True):
                values[number] = result
        return [values[number] for number in function.results]

    def _outputs(self, node: Node, inputs: list[Value]) -> Any:
        special = _SPECIAL.get(node.op)
        if special is not None:
            return special(self, node, *inputs)
        known = sizes.result(node, tuple(inputs))
        if known is not NotImplemented:
            return known
        formula = TABLE.get(node.op)
        assert formula is not None, f"{node.op} of sizes that are no numbers"
        kept = {place % len(inputs) for place in HOST.get(node.op, ())} if inputs else set()
        given = [
            value if place in kept else self.tensor(value) for place, value in enumerate(inputs)
        ]
        return formula(node, *given)

    # --- Functions and variables --------------------------------------------------------------------------

    def call(self, name: str, *arguments: Value) -> list[Value]:
        """Returns the results of a function by its name."""
        return self._call(self._program.functions[name], list(arguments))

    def loop(self, node: Node, *values: Value) -> list[Value]:
        """Returns the values after a loop; one whose length is known is unrolled where a graph is made."""
        current = list(values)
        while _truth(self.call(node["cond"], *current)[0]):
            current = self.call(node["body"], *current)
        return current

    def branch(self, node: Node, condition: Value, *values: Value) -> list[Value]:
        """Returns the results of one of two functions."""
        branch = "then_branch" if _truth(condition) else "else_branch"
        return self.call(node[branch], *values)

    def case(self, node: Node, number: Value, *values: Value) -> list[Value]:
        """Returns the results of one of several functions; the last for a number that there is not."""
        branches = node["branches"]
        index = int(number)
        return self.call(branches[index if 0 <= index < len(branches) else -1], *values)

    def assign(self, node: Node, name: str, value: Value) -> tuple[()]:
        """Changes a variable. What reads it later has its gradient, and not that of the new value."""
        old, new = self.state[name], self.tensor(value).detach()
        self.state[name] = new + (old - old.detach()) if old.requires_grad else new
        return ()


def _truth(value: Value) -> bool:
    return bool(value)


class _Elements(list):
    """A list of tensors (`TensorList`), which is a value and not several."""


def _with(elements: _Elements, place: Value, value: Value) -> _Elements:
    changed = _Elements(elements)
    changed[int(place)] = value
    return changed


def _zeros(run: Interpreter, node: Node, shape: Value) -> torch.Tensor:
    sizes = np.atleast_1d(shape).tolist()
    return torch.zeros(sizes, dtype=dtype_of(node["element_dtype"]), device=run._device)


def _stacked(run: Interpreter, node: Node, elements: _Elements, shape: Value) -> torch.Tensor:
    tensors = [run.tensor(item) for item in elements if item is not None]
    if not tensors:
        return _zeros(run, node, np.array([0, *np.atleast_1d(shape).tolist()]))
    empty = torch.zeros_like(tensors[0])
    return torch.stack([empty if item is None else run.tensor(item) for item in elements])


def _element(
    run: Interpreter, node: Node, elements: _Elements, place: Value, shape: Value
) -> torch.Tensor:
    found = elements[int(place)]
    return _zeros(run, node, shape) if found is None else found


@functools.cache
def _typed(node: Node) -> Node:
    """Returns an assignment as an operation on its dtype."""
    return Node(node.name, node.op, node.inputs, node.outputs, {"T": node["dtype"]})


_SPECIAL: dict[str, Callable[..., Any]] = {
    "Const": lambda run, n: n["value"],
    "Placeholder": lambda run, n: None,
    "ReadVariableOp": lambda run, n, name: run.state[name],
    "ResourceGather": lambda run, n, name, indices: TABLE["ResourceGather"](
        n, run.state[name], run.tensor(indices)
    ),
    "VariableShape": lambda run, n, name: sizes.array(run.state[name].shape),
    "AssignVariableOp": Interpreter.assign,
    "AssignAddVariableOp": lambda run, n, name, value: run.assign(
        n, name, TABLE["AddV2"](_typed(n), run.state[name], run.tensor(value))
    ),
    "AssignSubVariableOp": lambda run, n, name, value: run.assign(
        n, name, TABLE["Sub"](_typed(n), run.state[name], run.tensor(value))
    ),
    **dict.fromkeys(
        ("PartitionedCall", "StatefulPartitionedCall"),
        lambda run, n, *values: run.call(n["f"], *values),
    ),
    **dict.fromkeys(("While", "StatelessWhile"), Interpreter.loop),
    **dict.fromkeys(("If", "StatelessIf"), Interpreter.branch),
    **dict.fromkeys(("Case", "StatelessCase"), Interpreter.case),
    "TensorListReserve": lambda run, n, shape, count: _Elements([None] * int(count)),
    "EmptyTensorList": lambda run, n, shape, most: _Elements(),
    "TensorListPushBack": lambda run, n, elements, value: _Elements([*elements, value]),
    "TensorListSetItem": lambda run, n, elements, place, value: _with(elements, place, value),
    "TensorListGetItem": _element,
    "TensorListFromTensor": lambda run, n, x, shape: _Elements(run.tensor(x).unbind(0)),
    "TensorListLength": lambda run, n, elements: np.asarray(len(elements)),
    "TensorListStack": lambda run, n, elements, shape, *_: _stacked(run, n, elements, shape),
}
