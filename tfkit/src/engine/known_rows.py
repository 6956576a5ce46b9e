"""Finds tensors that certainly have rows, which need no workaround for kernels that fail without any.

Kernels that fail for 0 rows get a dozen operations around them where the number of rows is unknown. In the
steps of `fit`, `evaluate` and `predict` each batch has at least one row, and most operations keep the rows.
So a tensor is followed back through such operations to the batch; any other operation ends the search.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.names import words

# Their result has the rows of their first input.
_KEEPING = words("""
    Cast EnsureShape Identity StopGradient Abs Erf Exp Neg Rsqrt Sqrt Square Tanh Elu LeakyRelu
    Relu Relu6 Selu Sigmoid Softmax Softplus Softsign BiasAdd Conv2D Conv3D
    DepthwiseConv2dNative AvgPool AvgPool3D MaxPool MaxPoolV2 MaxPool3D MirrorPad Pad PadV2
    ResizeBilinear ResizeNearestNeighbor
""")
# Their inputs are repeated along axes of size 1 to one shape. The result has no rows if one input has none,
# so that all inputs must have some.
_BROADCASTING = words("AddN AddV2 Maximum Minimum Mul RealDiv SelectV2 SquaredDifference Sub")
_TRANSPOSED = frozenset(("Conv2DBackpropInput", "Conv3DBackpropInputV2"))
_REDUCING = frozenset(("Max", "Mean", "Min", "Sum"))
# Operations on one path back to the batch; the search calls itself, with three frames of Python for each.
_FARTHEST = 200


@dataclasses.dataclass
class KnownRows:
    """The tensors of a trace for which it was found out whether they certainly have rows.

    Attributes:
        answers: by a tensor's name, whether it certainly has rows.
        graph: the graph of the trace; names are unique in it.
        outer: what is known in the trace around it.
        were_used: whether an operation relies on the rows of the batch.
    """

    answers: dict[str, bool]
    graph: Any
    outer: KnownRows | None
    were_used: bool = False


@contextlib.contextmanager
def have_rows(tensors: Iterable[Any]) -> Iterator[KnownRows]:
    """Context manager in which tensors of the trace in progress are known to have at least one row each.

    In eager mode nothing is noted.
    """
    if tf.executing_eagerly():
        yield KnownRows({}, None, None)
        return
    answers = {it.name: True for it in tensors if isinstance(it, tf.Tensor)}
    known = KnownRows(answers, tf.compat.v1.get_default_graph(), context.current().known_rows)
    with context.within(known_rows=known):
        yield known


def as_many_rows(tensor: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """Returns `tensor`, and notes that it has as many rows as `other`, which it was computed from."""
    known = _known_of(tensor)
    if known is not None and known is _known_of(other) and _search(other, known.answers, _FARTHEST):
        known.answers[tensor.name] = True
    return tensor


def has_rows(tensor: tf.Tensor) -> bool:
    """Whether a tensor of the trace in progress has rows in each run; the trace then relies on it."""
    known = _known_of(tensor)
    if known is None or not _search(tensor, known.answers, _FARTHEST):
        return False
    known.were_used = True
    return True


def _known_of(tensor: tf.Tensor) -> KnownRows | None:
    """Returns what is known in the trace of a tensor; `None` for a tensor with a value."""
    known: KnownRows | None = (
        context.current().known_rows if tf.is_symbolic_tensor(tensor) else None
    )
    while known is not None and known.graph is not tensor.graph:
        known = known.outer
    return known


def _search(tensor: tf.Tensor, answers: dict[str, bool], farthest: int) -> bool:
    name = tensor.name
    if name not in answers:
        answers[name] = farthest > 0 and _inputs_have_rows(tensor, answers, farthest - 1)
    return answers[name]


def _inputs_have_rows(tensor: tf.Tensor, answers: dict[str, bool], farthest: int) -> bool:
    """Whether the inputs of a tensor's operation have rows, and hence the tensor."""
    kind, inputs = tensor.op.type, tensor.op.inputs
    ranks = [it.shape.rank for it in inputs]
    if not tensor.shape.rank or not inputs:
        return False

    def first_has_rows() -> bool:
        # A function, since the search is long: most kinds of operations end it before.
        return _search(inputs[0], answers, farthest)

    if kind in _KEEPING:
        return first_has_rows()
    if kind == "IdentityN":
        return _search(inputs[tensor.value_index], answers, farthest)
    # A transposed left factor has its rows as columns, and sums over them.
    if kind == "MatMul":
        return not tensor.op.get_attr("transpose_a") and first_has_rows()
    # Their first input is the shape of the result, the second the kernel, the third the images.
    if kind in _TRANSPOSED:
        return _search(inputs[2], answers, farthest)
    # Rows are taken from a table for the indices, so the indices must have rows, whatever the table has.
    if kind in ("GatherV2", "ResourceGather"):
        of_first = kind == "ResourceGather" or tf.get_static_value(inputs[2]) == 0
        of_first = of_first and not tensor.op.get_attr("batch_dims")
        return of_first and bool(ranks[1]) and _search(inputs[1], answers, farthest)
    # The other results are statistics, without rows.
    if kind == "FusedBatchNormV3":
        return tensor.value_index == 0 and first_has_rows()
    # The axes before the matrices' axes are repeated, too.
    if kind in _BROADCASTING or (kind == "BatchMatMulV2" and tensor.shape.rank > 2):
        return None not in ranks and all(
            rank < tensor.shape.rank or it.shape[0] or _search(it, answers, farthest)
            for it, rank in zip(inputs, ranks, strict=True)
        )
    # Along the first axis, one part with rows is enough; along others, all parts have as many. The last
    # input is the axis.
    if kind == "ConcatV2":
        return any(_search(it, answers, farthest) for it in inputs[:-1])
    if kind in _REDUCING:
        return _are_inner(tf.get_static_value(inputs[1]), ranks[0]) and first_has_rows()
    if kind == "ExpandDims":
        return _are_inner(tf.get_static_value(inputs[1]), tensor.shape.rank) and first_has_rows()
    if kind == "Squeeze":
        return _are_inner(tensor.op.get_attr("squeeze_dims"), ranks[0]) and first_has_rows()
    if kind == "Reshape":  # Some elements before, some rows afterwards.
        return bool(inputs[0].shape[1:].num_elements()) and first_has_rows()
    return False


def _are_inner(axes: Any, rank: int | None) -> bool:
    """Whether axes are known, and the first is not among them."""
    if not rank or axes is None or np.size(axes) == 0:
        return False
    return bool((np.ravel(axes) % rank != 0).all())
