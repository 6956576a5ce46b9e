"""Keeps XLA from treating the start of a slice as a constant where it is the value of a variable.

A step that reads `self.table[self.n]` and changes `n` would be compiled again for each value of `n`: tenths
of a second each. Slices are changed if their result has the same size wherever they begin: rows and elements,
and `tf.slice` of constant sizes. Slices of integers are not changed: they may be sizes, which XLA must know.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.engine.function_defs import source_of, traced_apart
from tfkit.src.engine.variable_values import not_constant

# By type: the inputs that say where a slice starts and ends, and the input whose constant value shows that
# the result has one size.
_SLICES = {"Slice": ((1,), 2), "StridedSlice": ((1, 2), 3), "StridedSliceGrad": ((1, 2), 3)}
# Their results do not depend on values.
_OF_SHAPES = frozenset(("Rank", "Shape", "ShapeN", "Size", "TensorListLength", "VariableShape"))


def computed_places(definition: Any) -> Iterator[tuple[Any, int, Any]]:
    """Yields starts and ends of slices that depend on variables.

    Args:
        definition: a `FunctionDef`.

    Yields:
        The node of a slice, the number of its input that depends on a variable, and a `ConcreteFunction` that
        returns the same value, which XLA does not treat as a constant.
    """
    if not any(node.op in _SLICES for node in definition.node_def):
        return
    nodes = {node.name: node for node in definition.node_def}
    for node in definition.node_def:
        if node.op not in _SLICES or not tf.as_dtype(node.attr["T"].type).is_floating:
            continue
        numbers, sized = _SLICES[node.op]
        constant = nodes.get(source_of(node.input[sized]))
        if constant is None or constant.op != "Const":
            continue
        sizes = tf.make_ndarray(constant.attr["value"].tensor)
        # A size of -1 is the rest of an axis, and depends on the start.
        if not (sizes >= 0).all() if node.op == "Slice" else not _has_one_size(node, sizes):
            continue
        for number in numbers:
            if _reads_variable(node.input[number], nodes):
                yield node, number, _not_constant(sizes.size, tf.as_dtype(sizes.dtype))


def _has_one_size(node: Any, strides: Any) -> bool:
    """Whether each entry of a strided slice is an index, a new axis, or takes the whole axis."""
    begin, end, *others = (
        node.attr[f"{name}_mask"].i
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    )
    # Bits of entries whose size is not determined by start and end: `:` has both masks, and the others are
    # the ellipsis, new axes and single indices.
    whole = begin & end
    for mask in others:
        whole |= mask
    return bool((strides == 1).all()) and whole & (1 << strides.size) - 1 == (1 << strides.size) - 1


def _reads_variable(reference: str, nodes: dict[str, Any]) -> bool:
    """Whether a value is computed from the value of a variable, in one function."""
    waiting, seen = [reference], set()
    while waiting:
        reference = waiting.pop()
        node = nodes.get(source_of(reference))
        # A control input (`^name`) passes no value.
        if reference.startswith("^") or node is None or node.name in seen or node.op in _OF_SHAPES:
            continue
        if node.op == "ReadVariableOp":
            return True
        seen.add(node.name)
        waiting += node.input
    return False


@functools.cache
def _not_constant(size: int, dtype: tf.DType) -> Any:
    return traced_apart(not_constant, tf.TensorSpec([size], dtype))
