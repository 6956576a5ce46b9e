"""Arithmetic of sizes and positions, with NumPy: what is known while a program is made is computed at once.

A value is *known* if it is a NumPy array: constants, shapes, and results of these formulas. Sizes that
are symbols of the framework (a batch of any size) are elements of arrays of objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_LARGEST = 4096  # Elements. What is larger is data, which the framework computes.


def as_known(sizes: Any, dtype: str) -> np.ndarray:
    """Returns a shape as an array: of integers, or of objects if a size is a symbol."""
    # Symbols of sizes, as `torch.export` has them, are objects that know arithmetic: NumPy applies
    # it.
    exact = all(isinstance(size, (int, np.integer)) for size in sizes)
    return np.array(list(sizes), dtype if exact else object)


def is_known(value: Any) -> bool:
    """Whether a value is known while the program is made."""
    return isinstance(value, (np.ndarray, np.generic))


def is_small(value: Any) -> bool:
    """Whether a known value may be a size or a position, not data."""
    return bool(np.size(value) <= _LARGEST)


def index_of(
    begin: list[int],
    end: list[int],
    strides: list[int],
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> tuple[Any, ...]:
    """Returns the index of NumPy that a `StridedSlice` is; bits of the masks say what its entries are."""
    key: list[Any] = []
    for place in range(len(begin)):
        bit = 1 << place
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(begin[place])
        else:
            first = None if begin_mask & bit else begin[place]
            last = None if end_mask & bit else end[place]
            key.append(slice(first, last, strides[place]))
    return tuple(key)


def with_attributes_of(
    forward: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator for a formula with `**options`: it gets the attributes that `forward` has."""

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        formula.forward = forward  # type: ignore[attr-defined]
        return formula

    return decorate


@with_attributes_of(index_of)
def strided_slice(
    x: Any, begin: list[int], end: list[int], strides: list[int], **masks: int
) -> Any:
    """Returns `x[...]` of a `StridedSlice`, for arrays of any framework that index as NumPy does."""
    return x[index_of(begin, end, strides, **masks)]


def _cast(x: np.ndarray, *, DstT: str) -> Any:
    if x.dtype == object:
        return x if DstT in ("int32", "int64") else NotImplemented
    return x.astype(DstT) if DstT != "bfloat16" else NotImplemented


def _fill(dims: np.ndarray, value: np.ndarray) -> Any:
    if dims.dtype == object or np.prod(dims) > _LARGEST:
        return NotImplemented
    return np.full(tuple(dims), value)


def _range(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> Any:
    if object in (start.dtype, limit.dtype, delta.dtype) or (limit - start) // delta > _LARGEST:
        return NotImplemented
    return np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


def _squeeze(x: np.ndarray, *, squeeze_dims: list[int]) -> np.ndarray:
    return np.squeeze(x, tuple(squeeze_dims) or None)


def _gather(x: np.ndarray, indices: np.ndarray, axis: np.ndarray, *, batch_dims: int) -> Any:
    return NotImplemented if batch_dims else np.take(x, indices, int(axis))


def _reduce(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: np.ndarray, axis: np.ndarray, *, keep_dims: bool) -> Any:
        axes = tuple(np.atleast_1d(axis).astype(int).tolist())
        return np.asarray(function(x, axis=axes, keepdims=keep_dims), x.dtype)

    return reduced


def _slice(x: np.ndarray, begin: np.ndarray, size: np.ndarray) -> np.ndarray:
    ends = [None if n == -1 else b + n for b, n in zip(begin, size, strict=True)]
    return x[tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))]


def _split_at(x: np.ndarray, sizes: np.ndarray, axis: np.ndarray) -> Any:
    if sizes.dtype == object or -1 in sizes:
        return NotImplemented
    return np.split(x, np.cumsum(sizes)[:-1], int(axis))


def _unpack(x: np.ndarray, *, num: int, axis: int) -> list[Any]:
    return [np.take(x, place, axis) for place in range(num)]


def _broadcast_axes(a: np.ndarray, b: np.ndarray) -> Any:
    """Returns the axes along which the gradients of two tensors that were broadcast are summed."""
    rank = max(len(a), len(b))
    shapes = [[1] * (rank - len(it)) + list(it) for it in (a, b)]
    pairs = list(zip(*shapes, strict=True))
    return [
        np.array([n for n, pair in enumerate(pairs) if pair[place] == 1], "int32")
        for place in (0, 1)
    ]


def _stitch(indices: list[np.ndarray], data: list[np.ndarray]) -> Any:
    count = max(int(np.max(it, initial=-1)) for it in indices) + 1
    rows = [it.reshape(-1, *it.shape[n.ndim :]) for n, it in zip(indices, data, strict=True)]
    result = np.zeros((count, *rows[0].shape[1:]), np.result_type(*rows))
    for places, values in zip(indices, rows, strict=True):
        result[places.ravel()] = values
    return result


def _concatenated_starts(axis: np.ndarray, shapes: list[np.ndarray]) -> list[np.ndarray]:
    starts, total = [], 0
    for shape in shapes:
        start = np.zeros(shape.shape, shape.dtype)
        start[int(axis)] = total
        total = total + shape[int(axis)]
        starts.append(start)
    return starts


def _divided(x: np.ndarray, y: np.ndarray) -> Any:
    return NotImplemented if object in (x.dtype, y.dtype) else x / y


# Inputs are NumPy arrays, keyword arguments are attributes of the node. `NotImplemented` leaves a case to the
# framework. A condition on a symbol that may be true or false raises an error, which does the same.
FORMULAS: dict[str, Callable[..., Any]] = {
    "Abs": lambda x: np.abs(x),
    "AddV2": lambda x, y: x + y,
    "All": _reduce(np.all),
    "BroadcastArgs": lambda a, b: np.array(np.broadcast_shapes(tuple(a), tuple(b)), a.dtype),
    "BroadcastGradientArgs": _broadcast_axes,
    "Cast": _cast,
    "ConcatOffset": _concatenated_starts,
    "ConcatV2": lambda values, axis: np.concatenate(values, int(axis)),
    "Const": lambda *, value: value,
    "DynamicStitch": _stitch,
    "EnsureShape": lambda x: x,
    # Constants in 64 bits may be out of the range of 32, which is all that JAX has at first.
    "Exp": lambda x: np.exp(x),
    "Log": lambda x: np.log(x),
    "Sqrt": lambda x: np.sqrt(x),
    "Equal": lambda x, y: np.asarray(x == y, bool),
    "ExpandDims": lambda x, axis: np.expand_dims(x, int(axis)),
    "Fill": _fill,
    "FloorDiv": lambda x, y: x // y,
    "FloorMod": lambda x, y: x % y,
    "GatherV2": _gather,
    "Greater": lambda x, y: np.asarray(x > y, bool),
    "GreaterEqual": lambda x, y: np.asarray(x >= y, bool),
    "Identity": lambda x: x,
    "InvertPermutation": lambda x: np.argsort(x).astype(x.dtype),
    "Less": lambda x, y: np.asarray(x < y, bool),
    "LessEqual": lambda x, y: np.asarray(x <= y, bool),
    "LogicalAnd": lambda x, y: np.logical_and(x, y),
    "LogicalNot": lambda x: np.logical_not(x),
    "LogicalOr": lambda x, y: np.logical_or(x, y),
    "Max": _reduce(np.max),
    "Maximum": lambda x, y: np.maximum(x, y),
    "Min": _reduce(np.min),
    "Minimum": lambda x, y: np.minimum(x, y),
    "Mul": lambda x, y: x * y,
    "Neg": lambda x: -x,
    "NotEqual": lambda x, y: np.asarray(x != y, bool),
    "Pack": lambda values, *, axis: np.stack(values, axis),
    "Pad": lambda x, paddings: np.pad(x, paddings),
    "Prod": _reduce(np.prod),
    "Range": _range,
    "RealDiv": _divided,
    "Reshape": lambda x, shape: np.reshape(x, tuple(shape)),
    "ReverseV2": lambda x, axis: np.flip(x, tuple(axis)),
    "SelectV2": lambda condition, x, y: np.where(condition, x, y),
    "Slice": _slice,
    "Split": lambda axis, x, *, num_split: np.split(x, num_split, int(axis)),
    "SplitV": _split_at,
    "Squeeze": _squeeze,
    "StridedSlice": strided_slice,
    "Sub": lambda x, y: x - y,
    "Sum": _reduce(np.sum),
    "Unpack": _unpack,
}
