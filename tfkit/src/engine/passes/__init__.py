"""Optimizations of programs that XLA compiles: each is a file, and has its name.

A pass replaces nodes of a function by nodes that compute the same values. Some are chosen in the trace of a
step, where shapes are known, and are marked there; all are applied by `engine/shared_programs.py`, where each
function of a program is registered. The environment variable `TFKIT_WITHOUT_PASSES=halves,orders` switches
passes off, to measure them or to find out whether one is at fault. `docs/design/0012-passes.md` says what
each gains.
"""

from __future__ import annotations

import os

import tensorflow as tf

from tfkit.src.engine.machine import device
from tfkit.src.engine.passes import halves, transposes

NAMES = ("equals", "halves", "orders", "places", "transposes")
_VARIABLE = "TFKIT_WITHOUT_PASSES"


def _switched_off(names: str) -> frozenset[str]:
    off = frozenset(name for name in map(str.strip, names.split(",")) if name)
    if not off <= {*NAMES}:
        raise ValueError(
            f"The environment variable {_VARIABLE} must name passes, separated by commas: some of "
            f"{', '.join(NAMES)}. Received: {names!r}"
        )
    return off


_OFF = _switched_off(os.environ.get(_VARIABLE, ""))


def is_on(name: str) -> bool:
    """Whether the pass of this name is applied."""
    return name not in _OFF


def mark_products(graph: tf.Graph) -> None:
    """Marks the products of a traced step that passes replace; the shapes are known only in the trace."""
    marks = [each.mark for each in (halves, transposes) if is_on(each.__name__.rpartition(".")[2])]
    if not marks or device() != "CPU":
        return
    for operation in graph.get_operations():
        if operation.type == "MatMul" and operation.outputs[0].dtype == tf.float32:
            for mark in marks:
                mark(operation)
