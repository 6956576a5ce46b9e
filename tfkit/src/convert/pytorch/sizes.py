"""Sizes and indices: operations on arrays of NumPy that are known while a graph of PyTorch is made.

An element may be a size that PyTorch knows by a symbol alone (`torch.SymInt`); the array then is of objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfkit.src.convert.pytorch.operation import Operation as Node


def array(items: Any, dtype: str = "int32") -> np.ndarray:
    """Returns numbers as an array; of objects, if one of them is a symbol."""
    if all(isinstance(item, (int, float, bool, np.generic)) for item in items):
        return np.array(items, dtype)
    result = np.empty(len(items), object)
    result[:] = items
    return result


def indices(
    node: Node, ndim: int, begin: list[Any], end: list[Any], strides: list[int]
) -> tuple[Any, ...]:
    """Returns the index of NumPy that is TensorFlow's strided slice."""
    masks = {
        name: node[f"{name}_mask"]
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    result: list[Any] = []
    for place, step in enumerate(strides):
        bit = 1 << place
        if masks["ellipsis"] & bit:
            result.append(Ellipsis)
        elif masks["new_axis"] & bit:
            result.append(None)
        elif masks["shrink_axis"] & bit:
            result.append(begin[place])
        else:
            first = None if masks["begin"] & bit else begin[place]
            last = None if masks["end"] & bit else end[place]
            result.append(slice(first, last, None if step == 1 else step))
    return tuple(result)


def _strided(node: Node, x: np.ndarray, begin: Any, end: Any, strides: Any) -> Any:
    return x[indices(node, x.ndim, begin.tolist(), end.tolist(), strides.tolist())]


def _slice(node: Node, x: np.ndarray, begin: Any, size: Any) -> Any:
    pairs = zip(begin.tolist(), size.tolist(), strict=True)
    return x[tuple(slice(at, None if count == -1 else at + count) for at, count in pairs)]


def _cast(node: Node, x: np.ndarray) -> Any:
    return x if x.dtype == object and "int" in node["DstT"] else x.astype(node["DstT"])


def _broadcast_shapes(node: Node, one: np.ndarray, other: np.ndarray) -> Any:
    count = max(len(one), len(other))
    pairs = zip(
        [1] * (count - len(one)) + one.tolist(),
        [1] * (count - len(other)) + other.tolist(),
        strict=True,
    )
    return array([b if type(a) is int and a == 1 else a for a, b in pairs])


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def formula(node: Node, x: np.ndarray, axis: np.ndarray) -> Any:
        return function(x, axis=tuple(np.atleast_1d(axis).tolist()), keepdims=node["keep_dims"])

    return formula


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *inputs: function(*inputs)


def _is_castable(node: Node, inputs: Any) -> bool:
    return inputs[0].dtype != object or "int" in node["DstT"]


TABLE: dict[str, Callable[..., Any]] = {
    "Identity": _plain(lambda x: x),
    "EnsureShape": _plain(lambda x: x),
    "StopGradient": _plain(lambda x: x),
    "Pack": lambda n, *x: np.stack(x, n["axis"]),
    "Unpack": lambda n, x: tuple(np.moveaxis(x, n["axis"], 0)),
    "ConcatV2": lambda n, *x: np.concatenate(x[:-1], int(x[-1])),
    "StridedSlice": _strided,
    "Slice": _slice,
    "GatherV2": lambda n, x, i, axis: np.take(x, i.astype(int), int(axis)),
    "Shape": lambda n, x: np.array(x.shape, "int32"),
    "Size": lambda n, x: np.array(x.size, "int32"),
    "Rank": lambda n, x: np.array(x.ndim, "int32"),
    "Reshape": lambda n, x, shape: x.reshape(shape.tolist()),
    "ExpandDims": lambda n, x, axis: np.expand_dims(x, int(axis)),
    "Squeeze": lambda n, x: np.squeeze(x, tuple(n["squeeze_dims"]) or None),
    "Transpose": lambda n, x, order: x.transpose(order.tolist()),
    "ReverseV2": lambda n, x, axes: np.flip(x, tuple(axes.tolist())),
    "InvertPermutation": _plain(np.argsort),
    "Range": lambda n, first, last, step: np.arange(first.item(), last.item(), step.item()).astype(
        n["Tidx"]
    ),
    "BroadcastArgs": _broadcast_shapes,
    "Prod": lambda n, x, axis: np.asarray(math.prod(x.tolist()), None if x.dtype == object else x.dtype)
    if x.ndim == 1 and not n["keep_dims"]
    else _reduced(np.prod)(n, x, axis),
    "Sum": _reduced(np.sum),
    "Max": _reduced(np.max),
    "Min": _reduced(np.min),
    "All": _reduced(np.all),
    "Any": _reduced(np.any),
    "AddV2": _plain(np.add),
    "Add": _plain(np.add),
    "Sub": _plain(np.subtract),
    "Mul": _plain(np.multiply),
    "FloorDiv": _plain(np.floor_divide),
    "FloorMod": _plain(np.mod),
    "Neg": _plain(np.negative),
    "Abs": _plain(np.abs),
    "Maximum": _plain(np.maximum),
    "Minimum": _plain(np.minimum),
    "Equal": _plain(np.equal),
    "NotEqual": _plain(np.not_equal),
    "Less": _plain(np.less),
    "LessEqual": _plain(np.less_equal),
    "Greater": _plain(np.greater),
    "GreaterEqual": _plain(np.greater_equal),
    "LogicalAnd": _plain(np.logical_and),
    "LogicalOr": _plain(np.logical_or),
    "LogicalNot": _plain(np.logical_not),
    "SelectV2": _plain(np.where),
    "Cast": _cast,
}  # fmt: skip

# What is as large as its result says stays with PyTorch.
MOST = 4096


def result(node: Node, inputs: tuple[Any, ...]) -> Any:
    """Returns the result of an operation on arrays; `NotImplemented` where PyTorch must compute it."""
    formula = TABLE.get(node.op)
    if formula is None or not all(isinstance(item, np.ndarray) for item in inputs):
        return NotImplemented
    if any(item.size > MOST or item.dtype.kind not in "iubfO" for item in inputs):
        return NotImplemented
    if node.op in ("Shape", "Size", "Rank"):
        return formula(node, *inputs)
    if any(item.dtype.kind == "f" for item in inputs) and node.op not in ("Identity", "Cast"):
        return NotImplemented  # Floats are rounded as PyTorch does it.
    if node.op == "Cast" and not _is_castable(node, inputs):
        return NotImplemented
    found = formula(node, *inputs)
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)
