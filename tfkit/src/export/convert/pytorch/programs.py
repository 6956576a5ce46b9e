"""Graphs of PyTorch's operations for one form of inputs: decisions that Python makes only once."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.experimental.proxy_tensor import make_fx

Lists = tuple[list[torch.Tensor], list[torch.Tensor]]
_ATEN = torch.ops.aten
_MANY = 4  # Elements of one tensor that are taken one by one.


def made(
    function: Callable[[list[torch.Tensor], list[torch.Tensor]], Lists],
    state: list[torch.Tensor],
    inputs: list[torch.Tensor],
) -> Callable[[list[torch.Tensor], list[torch.Tensor]], Lists]:
    """Returns a function as a graph, for arguments of these forms; itself if its operations depend on values.

    The graph is recorded below autograd, which differentiates its operations when it runs.
    """
    count = len(state)
    lengths: list[int] = []

    def flat(*tensors: torch.Tensor) -> list[torch.Tensor]:
        results, changed = function(list(tensors[:count]), list(tensors[count:]))
        # How many of the tensors are results, and not new values: known after the run.
        lengths[:] = [len(results)]
        return [*results, *changed]

    try:
        module = make_fx(flat)(*state, *inputs)
    except RuntimeError:  # A loop or a branch that depends on values: Python runs it each time.
        return function
    module.graph.eliminate_dead_code()
    _without_repetitions(module.graph)
    _unbound(module.graph)
    module.recompile()
    (split,), run = lengths, module.forward

    def program(state: list[torch.Tensor], inputs: list[torch.Tensor]) -> Lists:
        tensors = run(*state, *inputs)
        return tensors[:split], tensors[split:]

    return program


def _without_repetitions(graph: Graph) -> None:
    """Replaces an operation that a graph has twice, with the same inputs, with the first one."""
    first: dict[Any, Node] = {}
    for node in list(graph.nodes):
        if node.op not in ("call_function", "get_attr") or _changes(node):
            continue
        key = (node.op, node.target, repr(node.args), repr(node.kwargs))
        if key in first:
            node.replace_all_uses_with(first[key])
            graph.erase_node(node)
        else:
            first[key] = node


def _changes(node: Node) -> bool:
    """Whether an operation changes a tensor, or returns a different result each time."""
    schema = getattr(node.target, "_schema", None)
    tags = getattr(node.target, "tags", ())
    return bool(schema and schema.is_mutable) or torch.Tag.nondeterministic_seeded in tags


def _unbound(graph: Graph) -> None:
    """Takes many elements of one tensor at once: the gradient of one alone is as large as the tensor."""
    taken: dict[Any, list[Node]] = collections.defaultdict(list)
    for node in graph.nodes:
        if node.target is _ATEN.select.int:
            taken[node.args[:2]].append(node)
    for (tensor, axis), nodes in taken.items():
        if len(nodes) < _MANY:
            continue
        with graph.inserting_after(tensor):
            parts = graph.call_function(_ATEN.unbind.int, (tensor, axis))
        for node in nodes:
            with graph.inserting_before(node):
                part = graph.call_function(operator.getitem, (parts, node.args[2]))
            node.replace_all_uses_with(part)
            graph.erase_node(node)
