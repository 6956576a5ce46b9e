"""Runs the operations of a trace on tensors of PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch._guards import detect_fake_mode
from torch.utils._python_dispatch import _disable_current_modes  # Private, seen in PyTorch 2.13.

from tfkit.src.interop.pytorch import host
from tfkit.src.interop.pytorch.dtypes import dtype_of, fresh, tensor_of
from tfkit.src.interop.pytorch.table import HOST, TABLE
from tfkit.src.interop.traces import Function, Node, Trace

Value = Any  # A tensor, an array of numbers known before, a list of tensors, or the name of a variable.


class Interpreter:
    """A run of a trace.

    Args:
        trace: the trace.
        device: where constants go.
        state: the values of the variables by path; those that are assigned change in this dict.
        constants: tensors of constants, kept from run to run.
    """

    def __init__(
        self,
        trace: Trace,
        device: Any,
        state: dict[str, torch.Tensor],
        constants: dict[Any, torch.Tensor],
    ) -> None:
        self._trace = trace
        self._device = device
        self.state = state
        self._constants = constants

    def run(self, arguments: list[Value]) -> list[Value]:
        """Returns the results of the main function, as tensors."""
        results = self._call(self._trace.main, arguments)
        return [self.tensor(value) for value in results]

    def tensor(self, value: Value) -> torch.Tensor:
        """Returns a value as a tensor."""
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype == object:
            return tensor_of(value, self._device)
        if detect_fake_mode() is not None:  # In a trace by PyTorch, a constant is an operation of it.
            return fresh(value, self._device)
        # A small one by content, since it may result from others; a large one stays in the trace.
        content = value.tobytes() if value.size <= host.MOST else id(value)
        key = content, value.shape, value.dtype.name, str(self._device)
        if key not in self._constants:
            with _disable_current_modes():  # Made before the graph that uses it, and not by it.
                self._constants[key] = tensor_of(value, self._device)
        return self._constants[key]

    def _call(self, function: Function, arguments: list[Value]) -> list[Value]:
        values: dict[tuple[str, int], Value] = {
            (name, 0): value for name, value in zip(function.arguments, arguments, strict=True)
        }
        for node in function.nodes:
            inputs = [values[reference] for reference in node.inputs]
            results = self._outputs(node, inputs)
            if not isinstance(results, (tuple, list)) or isinstance(results, _Elements):
                results = (results,)
            for number, result in enumerate(results):
                values[node.name, number] = result
        return [values[reference] for reference in function.results]

    def _outputs(self, node: Node, inputs: list[Value]) -> Any:
        special = _SPECIAL.get(node.op)
        if special is not None:
            return special(self, node, *inputs)
        known = host.result(node, tuple(inputs))
        if known is not NotImplemented:
            return known
        formula = TABLE.get(node.op)
        if formula is None:
            raise NotImplementedError(missing(node))
        kept = {place % len(inputs) for place in HOST.get(node.op, ())} if inputs else set()
        given = [
            value if place in kept else self.tensor(value) for place, value in enumerate(inputs)
        ]
        return formula(node, *given)

    # --- Functions and variables --------------------------------------------------------------------------

    def call(self, name: str, *arguments: Value) -> list[Value]:
        """Returns the results of a function by its name."""
        return self._call(self._trace.functions[name], list(arguments))

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


def missing(node: Node) -> str:
    """Returns the message about an operation without an entry: its type, and the layer that has it."""
    return (
        f"PyTorch's table has no entry for the operation {node.op} of TensorFlow, which "
        f"{node.name!r} needs: in that name are those of the layers around it. Add a formula to the table, or "
        "run this layer in TensorFlow."
    )


def lacking(trace: Trace) -> Node | None:
    """Returns the first operation of a trace that has no entry; `None` if all have."""
    known = TABLE.keys() | _SPECIAL.keys() | host.TABLE.keys()
    return next((node for node in trace.nodes() if node.op not in known), None)


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


_SPECIAL: dict[str, Callable[..., Any]] = {
    "Const": lambda run, n: n["value"],
    "Placeholder": lambda run, n: None,
    "ReadVariableOp": lambda run, n, name: run.state[name],
    "ResourceGather": lambda run, n, name, indices: TABLE["ResourceGather"](
        n, run.state[name], run.tensor(indices)
    ),
    "VariableShape": lambda run, n, name: host.array(run.state[name].shape),
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


@functools.cache
def _typed(node: Node) -> Node:
    """Returns an assignment as an operation on its dtype."""
    return Node(node.name, node.op, node.inputs, {"T": node["dtype"]})
