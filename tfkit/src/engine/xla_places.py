"""Keeps XLA from taking the place of a slice for a constant where it is the value of a variable.

A step that reads `self.table[self.n]` and changes `n` would be compiled again for each value of `n`: tenths
of a second each. Slices are changed whose result has the same size for each place: rows and elements, and
`tf.slice` of constant sizes. Slices of integers are left: they may be sizes, which XLA must know.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.engine.variable_values import not_constant

# By type: the inputs that say the place, and the one that has as many constant numbers.
_SLICES = {"Slice": ((1,), 2), "StridedSlice": ((1, 2), 3), "StridedSliceGrad": ((1, 2), 3)}
# Their results do not depend on values.
_OF_SHAPES = frozenset(("Rank", "Shape", "ShapeN", "Size", "TensorListLength", "VariableShape"))


def computed_places(definition: Any) -> Iterator[tuple[Any, int, Any]]:
    """Yields places of slices that depend on variables.

    Args:
        definition: a `FunctionDef`.

    Yields:
        The node of a slice, the number of its input that is such a place, and a `ConcreteFunction` that
        returns the same place as no constant.
    """
    if not any(node.op in _SLICES for node in definition.node_def):
        return
    nodes = {node.name: node for node in definition.node_def}
    for node in definition.node_def:
        if node.op not in _SLICES or not tf.as_dtype(node.attr["T"].type).is_floating:
            continue
        places, sized = _SLICES[node.op]
        constant = nodes.get(_source(node.input[sized]))
        if constant is None or constant.op != "Const":
            continue
        numbers = tf.make_ndarray(constant.attr["value"].tensor)
        if not (numbers >= 0).all() if node.op == "Slice" else not _has_one_size(node, numbers):
            continue
        for place in places:
            if _reads_variable(node.input[place], nodes):
                yield node, place, _held(numbers.size, tf.as_dtype(numbers.dtype))


def _has_one_size(node: Any, strides: Any) -> bool:
    """Whether each entry of a strided slice is an index, a new axis, or takes the whole axis."""
    begin, end, *others = (
        node.attr[f"{name}_mask"].i
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    )
    whole = begin & end
    for mask in others:
        whole |= mask
    return bool((strides == 1).all()) and whole & (1 << strides.size) - 1 == (1 << strides.size) - 1


def _source(reference: str) -> str:
    return reference.removeprefix("^").partition(":")[0]


def _reads_variable(reference: str, nodes: dict[str, Any]) -> bool:
    """Whether a value is computed from that of a variable, in one function."""
    waiting, seen = [reference], set()
    while waiting:
        reference = waiting.pop()
        node = nodes.get(_source(reference))
        if reference.startswith("^") or node is None or node.name in seen or node.op in _OF_SHAPES:
            continue
        if node.op == "ReadVariableOp":
            return True
        seen.add(node.name)
        waiting += node.input
    return False


@functools.cache
def _held(size: int, dtype: tf.DType) -> Any:
    with tf.init_scope():  # Separate from the trace that needs it first.
        function = tf.function(not_constant, autograph=False)
        return function.get_concrete_function(tf.TensorSpec([size], dtype))
