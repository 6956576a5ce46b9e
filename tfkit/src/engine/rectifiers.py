"""Rectifiers whose result of NaN is NaN with oneDNN, too.

TensorFlow's graph optimizer fuses a product or a normalization with the `relu` or `relu6` after it, and
oneDNN computes the fused rectifier as `max(x, 0)`, which is 0 for NaN. This would hide that a model diverges.
An `EnsureShape` before the rectifier, which computes nothing, keeps them apart; product and bias are still
fused. In `fit` and `predict` of a CNN, a ResNet and a large MLP the difference was below the noise of 2 %.

The gradient must not pass through the `EnsureShape`, whose own gradient is a reshape, so it is put before a
rectifier that exists already.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import replace_input, types_pb2
from tfkit.src.engine.tensorflow_faults import ONEDNN_DTYPES, onednn_is_assumed

_RECTIFIERS = ("Relu", "Relu6")
_BETWEEN = "EnsureShape"


def relu(x: Any) -> tf.Tensor:
    """Returns `tf.nn.relu(x)`, NaN for NaN."""
    return _apart(tf.nn.relu(x))


def relu6(x: Any) -> tf.Tensor:
    """Returns `tf.nn.relu6(x)`, NaN for NaN."""
    return _apart(tf.nn.relu6(x))


def _apart(outputs: tf.Tensor) -> tf.Tensor:
    if not tf.executing_eagerly() and onednn_is_assumed():
        _set_apart(outputs.op)
    return outputs


@contextlib.contextmanager
def apart_in_trace(is_outermost: bool) -> Iterator[None]:
    """Context manager that sets apart the rectifiers that a user's code adds to the graph being traced."""
    if not is_outermost or tf.executing_eagerly() or not onednn_is_assumed():
        yield
        return
    graph = tf.compat.v1.get_default_graph()
    # By number, as operations are only ever added to a graph, at its end.
    num_before = len(graph.get_operations())
    yield
    for operation in graph.get_operations()[num_before:]:
        _set_apart(operation)


def _set_apart(operation: tf.Operation) -> None:
    if operation.type not in _RECTIFIERS:
        return
    (x,) = operation.inputs
    if x.dtype not in ONEDNN_DTYPES or x.op.type == _BETWEEN:
        return
    replace_input(operation, 0, tf.ensure_shape(x, x.shape))


def set_apart(definition: Any) -> bool:
    """Sets apart the rectifiers of a `FunctionDef`, and returns whether there were any to set apart.

    An `EnsureShape` needs a rank, which is not known here. An axis that is added and removed again separates
    them as well, and costs as little.
    """
    num_before = len(definition.node_def)
    # A `Squeeze` may be one that an earlier call has added. Any other `Squeeze` separates as well.
    between = {it.name for it in definition.node_def if it.op in (_BETWEEN, "Squeeze")}
    for node in list(definition.node_def):  # A copy, because nodes are added in the loop.
        is_fused = node.op in _RECTIFIERS and tf.as_dtype(node.attr["T"].type) in ONEDNN_DTYPES
        if is_fused and node.input[0].partition(":")[0] not in between:
            node.input[0] = _with_axis_and_without(definition, node)
    return len(definition.node_def) > num_before


def _with_axis_and_without(definition: Any, node: Any) -> str:
    """Adds operations that give a node's first input an axis and take it away; returns the result."""
    axis = definition.node_def.add(name=f"{node.name}_axis", op="Const")
    axis.attr["dtype"].type = types_pb2.DT_INT32
    axis.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0))
    expanded = definition.node_def.add(name=f"{node.name}_expanded", op="ExpandDims")
    expanded.input[:] = [node.input[0], f"{axis.name}:output:0"]
    expanded.attr["Tdim"].type = types_pb2.DT_INT32
    squeezed = definition.node_def.add(name=f"{node.name}_squeezed", op="Squeeze")
    squeezed.input[:] = [f"{expanded.name}:output:0"]
    squeezed.attr["squeeze_dims"].list.i[:] = [0]
    expanded.attr["T"].type = squeezed.attr["T"].type = node.attr["T"].type
    return f"{squeezed.name}:output:0"


def join(definition: Any) -> None:
    """Joins rectifiers to what is before them in a `FunctionDef` that XLA, which keeps NaN, compiles.

    The nodes in between are at the end of the trace, where they were added. `passes/orders.py`, which relies
    on the order of the trace, would miss products that are behind them.
    """
    between = {
        f"{it.name}:output:0": it.input[0] for it in definition.node_def if it.op == _BETWEEN
    }
    for node in definition.node_def:
        if node.op in _RECTIFIERS:
            node.input[0] = between.get(node.input[0], node.input[0])
