"""One operation as a formula of the table is given it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from tfkit.src.convert.graph import Function, Graph
from tfkit.src.convert.reader import flat_inputs


@dataclasses.dataclass(frozen=True, eq=False)
class Operation:
    """A node of a graph, with all its inputs in one row.

    Args:
        name: its name, which begins with those of the layers it is in.
        op: its type.
        inputs: the numbers of its inputs.
        outputs: the numbers of its outputs.
        attributes: its attributes; `operation["axis"]` is one.
    """

    name: str
    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attributes: Mapping[str, Any]

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]


def operations(graph: Graph) -> dict[str, tuple[Operation, ...]]:
    """Returns the operations of the functions of a graph, by name of the function."""
    functions: Iterable[Function] = (graph.main, *graph.functions.values())
    return {
        function.name: tuple(
            Operation(node.name, node.type, tuple(flat_inputs(node)), node.outputs, node.attributes)
            for node in function.nodes
        )
        for function in functions
    }
