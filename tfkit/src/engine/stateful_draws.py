"""Draws by TensorFlow's stateful kernels, such as `tf.random.normal`, which count again in each program."""

from __future__ import annotations

import functools
from typing import Any

from tfkit.src.borrowed.private import op_def_registry


@functools.cache
def counts_draws(operation: str) -> bool:
    """Whether a kernel counts its draws, as stateful kernels with a seed do: each program needs its own."""
    definition = op_def_registry.get(operation)
    if definition is None or not definition.is_stateful:
        return False
    return any(attribute.name == "seed2" for attribute in definition.attr)


def has_draws(function: Any) -> bool:
    """Whether a `ConcreteFunction` draws by such kernels."""
    definition = function.graph.as_graph_def()
    nodes = [
        *definition.node,
        *(node for it in definition.library.function for node in it.node_def),
    ]
    return any(counts_draws(node.op) for node in nodes)
