"""Operations that are kept apart from those before them, because joined ones would have other results.

* TensorFlow's graph optimizer fuses a product or a normalization with the `relu` or `relu6` after it, and
  oneDNN computes the fused rectifier as `max(x, 0)`, which is 0 for NaN. This would hide that a model
  diverges.
* With oneDNN it makes of `maximum(x, a * x)` a leaky rectifier, whatever `a` is. From 1 on, `a * x` is the
  larger one of positive numbers.
* It makes of `not (x < y)` a `x >= y`, which is different for NaN.
* It exchanges a monotonic function and the maximum or minimum of its values. Where the function is not
  defined, as a logarithm of -1, the maximum of the values is NaN, and the function of the maximum is not.
  The index of `argmax(round(x))` is that of the first of equal values, whose arguments were not equal.

An `EnsureShape` between them, which computes nothing, keeps them apart; product and bias are still fused. In
`fit` and `predict` of a CNN, a ResNet and a large MLP the difference was below the noise of 2 %.

The gradient must not pass through the `EnsureShape`, whose own gradient is a reshape, so it is put before an
operation that exists already.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import replace_input, types_pb2
from tfkit.src.engine.machine import ONEDNN_DTYPES, onednn_is_assumed

_RECTIFIERS = ("LeakyRelu", "Relu", "Relu6")
_COMPARISONS = ("Less", "LessEqual", "Greater", "GreaterEqual")
_PARTIAL = ("Acos", "Acosh", "Asin", "Atanh", "Log", "Log1p", "Rsqrt", "Sqrt")
# Those that give equal values for different arguments, by steps, bounds or rounding.
_STEPS = (
    *("Asinh", "Ceil", "Elu", "Erf", "Erfc", "Exp", "Expm1", "Floor", "Relu", "Relu6", "Rint"),
    *("Selu", "Sigmoid", "Sign", "Sinh", "Softplus", "Softsign", "Tanh"),
)
# Which operations are kept apart from which before them.
_JOINED = {
    "LogicalNot": _COMPARISONS,
    **dict.fromkeys(("Max", "Min", "MaxPool", "MaxPoolV2", "MaxPool3D"), _PARTIAL),
    **dict.fromkeys(("ArgMax", "ArgMin"), (*_PARTIAL, *_STEPS)),
}
_BETWEEN = "EnsureShape"


def relu(x: Any) -> tf.Tensor:
    """Returns `tf.nn.relu(x)`, NaN for NaN."""
    return kept_apart(tf.nn.relu(x))


def relu6(x: Any) -> tf.Tensor:
    """Returns `tf.nn.relu6(x)`, NaN for NaN."""
    return kept_apart(tf.nn.relu6(x))


def kept_apart(outputs: tf.Tensor) -> tf.Tensor:
    """Returns the result of an operation, which is kept apart from those before it."""
    if not tf.executing_eagerly():
        _set_apart(outputs.op)
    return outputs


@contextlib.contextmanager
def in_trace(is_outermost: bool) -> Iterator[None]:
    """Context manager that sets apart what a user's code adds to the graph being traced."""
    if not is_outermost or tf.executing_eagerly():
        yield
        return
    graph = tf.compat.v1.get_default_graph()
    # By number, as operations are only ever added to a graph, at its end.
    num_before = len(graph.get_operations())
    yield
    for operation in graph.get_operations()[num_before:]:
        _set_apart(operation)


def _set_apart(operation: tf.Operation) -> None:
    if not _may_be_joined(operation.type):
        return
    inputs = operation.inputs
    sources = {x.name: (x.op.type, [it.name for it in x.op.inputs]) for x in inputs}
    names = [x.name for x in inputs]
    for index in _joined(operation.type, inputs[0].dtype, names, sources, onednn_is_assumed()):
        replace_input(operation, index, tf.ensure_shape(inputs[index], inputs[index].shape))


def _may_be_joined(kind: str) -> bool:
    return kind in _JOINED or kind in _RECTIFIERS or kind == "Maximum"


def _joined(
    kind: str,
    dtype: tf.DType,
    inputs: Sequence[str],
    sources: Mapping[str, tuple[str, Sequence[str]]],
    onednn: bool,
) -> list[int]:
    """Returns which inputs of an operation the optimizer would join to it with other results.

    Args:
        kind: the type of the operation.
        dtype: of its inputs.
        inputs: their names.
        sources: the type and the inputs of the operation that each of them comes from.
        onednn: whether the program runs with oneDNN's kernels.
    """
    before = [sources.get(name, ("", ())) for name in inputs]
    if kind in _RECTIFIERS:
        # A `Squeeze` may be one that an earlier call has added. Any other `Squeeze` separates as well.
        is_apart = before[0][0] in (_BETWEEN, "Squeeze")
        return [0] if onednn and dtype in ONEDNN_DTYPES and not is_apart else []
    if kind == "Maximum":
        products = [i for i in (0, 1) if before[i][0] == "Mul" and inputs[1 - i] in before[i][1]]
        return products if onednn and dtype in ONEDNN_DTYPES else []
    return [0] if before[0][0] in _JOINED.get(kind, ()) else []


def set_apart(definition: Any, onednn: bool = True) -> bool:
    """Sets apart the operations of a `FunctionDef`, and returns whether there were any to set apart.

    An `EnsureShape` needs a rank, which is not known here. An axis that is added and removed again separates
    them as well, and costs as little.
    """
    num_before = len(definition.node_def)
    nodes = {it.name: it for it in definition.node_def}
    for node in list(definition.node_def):  # A copy, because nodes are added in the loop.
        if _may_be_joined(node.op):
            names = [name for name in node.input if not name.startswith("^")]
            known = [(name, nodes.get(name.partition(":")[0])) for name in names]
            sources = {name: (it.op, it.input) for name, it in known if it is not None}
            dtype = tf.as_dtype(node.attr["T"].type) if "T" in node.attr else tf.bool
            for index in _joined(node.op, dtype, names, sources, onednn):
                node.input[index] = _with_axis_and_without(definition, node, index, dtype)
    return len(definition.node_def) > num_before


def _with_axis_and_without(definition: Any, node: Any, index: int, dtype: tf.DType) -> str:
    """Adds operations that give an input of a node an axis and take it away; returns the result."""
    axis = definition.node_def.add(name=f"{node.name}_axis", op="Const")
    axis.attr["dtype"].type = types_pb2.DT_INT32
    axis.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0))
    expanded = definition.node_def.add(name=f"{node.name}_expanded", op="ExpandDims")
    expanded.input[:] = [node.input[index], f"{axis.name}:output:0"]
    expanded.attr["Tdim"].type = types_pb2.DT_INT32
    squeezed = definition.node_def.add(name=f"{node.name}_squeezed", op="Squeeze")
    squeezed.input[:] = [f"{expanded.name}:output:0"]
    squeezed.attr["squeeze_dims"].list.i[:] = [0]
    expanded.attr["T"].type = squeezed.attr["T"].type = dtype.as_datatype_enum
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
