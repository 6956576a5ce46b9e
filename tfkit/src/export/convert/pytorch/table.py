"""TensorFlow's operations as formulas of PyTorch; `export/convert/interpreter.py` says how they are called.

Where two branches meet (`Maximum` of equal numbers) the derivative is TensorFlow's. Groups of operations
of a graph (`export/convert/patterns.py`) have formulas in `composites.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nn import functional as F

from tfkit.src.export.convert import gradients, hashing
from tfkit.src.export.convert.alike import alike, segments
from tfkit.src.export.convert.host import index_of, with_attributes_of
from tfkit.src.export.convert.interpreter import ConversionError
from tfkit.src.export.convert.pytorch import (
    composites,
    convolutions,
    einsum,
    lists,
    philox,
)
from tfkit.src.export.convert.pytorch.dtypes import WORD, dtype_of, wrapped
from tfkit.src.export.convert.pytorch.kit import KIT, padded


def _axes(axis: Any, x: Tensor) -> list[int]:
    axes = axis if isinstance(axis, list) else [axis]
    return [each % x.ndim for each in axes] if x.ndim else []


# --- Formulas of more than a line ---------------------------------------------------------------------


def _maximum(a: Any, b: Any) -> Tensor:
    """Returns the larger elements. Of equal ones, the first gets the gradient, as in TensorFlow."""
    x = a if isinstance(a, Tensor) else b
    if x.is_floating_point() and torch.is_grad_enabled():
        return torch.where((a >= b) | (a != a), a, b)
    return x.clamp(min=b if x is a else a) if _one_number(a, b) else torch.maximum(a, b)


def _minimum(a: Any, b: Any) -> Tensor:
    x = a if isinstance(a, Tensor) else b
    if x.is_floating_point() and torch.is_grad_enabled():
        return torch.where((a <= b) | (a != a), a, b)
    return x.clamp(max=b if x is a else a) if _one_number(a, b) else torch.minimum(a, b)


def _one_number(a: Any, b: Any) -> bool:
    return not (isinstance(a, Tensor) and isinstance(b, Tensor))


def _reduced(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def formula(x: Tensor, axis: Any, *, keep_dims: bool) -> Tensor:
        axes = _axes(axis, x)
        return function(x, axes, keep_dims) if axes else x

    return formula


def _reduced_in_turn(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns the formula of a reduction for which PyTorch accepts only one axis."""

    def formula(x: Tensor, axis: Any, *, keep_dims: bool) -> Tensor:
        for each in sorted(_axes(axis, x), reverse=True):
            x = function(x, each, keep_dims)
        return x

    return formula


def _reshaped(x: Tensor, shape: list[Any]) -> Tensor:
    same = len(shape) == x.ndim and all(
        type(a) is type(b) is int and a == b for a, b in zip(shape, x.shape, strict=True)
    )
    return x if same else x.reshape(shape)


def _transposed(x: Tensor, perm: list[int]) -> Tensor:
    return x if perm == sorted(perm) else x.permute(perm)


@with_attributes_of(index_of)
def _strided_slice(x: Tensor, begin: Any, end: Any, strides: Any, **masks: int) -> Tensor:
    return convolutions.taken(x, index_of(begin, end, strides, **masks))


def _slice(x: Tensor, begin: Any, size: list[Any]) -> Tensor:
    for axis, (at, count) in enumerate(zip(begin, size, strict=True)):
        if count == -1:
            x = x.narrow(axis, at, x.shape[axis] - at)
        elif not (type(at) is type(count) is int and at == 0 and count == x.shape[axis]):
            x = x.narrow(axis, at, count)
    return x


def _gather(x: Tensor, indices: Tensor, axis: Any, *, batch_dims: int | None) -> Tensor:
    """Returns the elements at indices; these may have leading batch axes."""
    batch, axis = batch_dims or 0, axis % x.ndim
    if batch == 0:
        y = x.index_select(axis, indices.reshape(-1).to(torch.int64))
        return y.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])
    x = x.movedim(axis, batch)
    flat = indices.reshape([*indices.shape[:batch], -1]).to(torch.int64)
    rest = x.shape[batch + 1 :]
    places = flat.reshape(*flat.shape, *[1] * len(rest)).expand(*flat.shape, *rest)
    y = x.gather(batch, places).reshape([*indices.shape, *rest])
    inner = indices.ndim - batch
    return y.movedim(tuple(range(batch, batch + inner)), tuple(range(axis, axis + inner)))


def _places(indices: Tensor) -> tuple[Tensor, ...]:
    return tuple(indices.to(torch.int64).unbind(-1))


def _gather_nd(x: Tensor, indices: Tensor) -> Tensor:
    return x[_places(indices)] if indices.shape[-1] else x


def _scatter_nd(indices: Tensor, updates: Tensor, shape: list[Any]) -> Tensor:
    return updates.new_zeros(shape).index_put(_places(indices), updates, accumulate=True)


def _segment_sum(x: Tensor, segments: Tensor, num_segments: Any) -> Tensor:
    """Returns the sums of rows by segment, without the rows of negative segments."""
    flat = x.reshape(-1, *x.shape[segments.ndim :])
    places = segments.reshape(-1).to(torch.int64)
    kept = places >= 0
    masked = torch.where(kept.reshape(-1, *[1] * (flat.ndim - 1)), flat, 0)
    empty = x.new_zeros([num_segments, *flat.shape[1:]])
    return empty.index_add(0, places.clamp(min=0), masked)


def _segments(method: str, first: Callable[[Any], Any]) -> Callable[..., Tensor]:
    def formula(x: Tensor, segments: Tensor, num_segments: Any) -> Tensor:
        """Returns one row for each segment; the last one, of negative segments, is left out."""
        flat = x.reshape(segments.numel(), *x.shape[segments.ndim :])
        places = segments.reshape(-1).to(torch.int64)
        places = torch.where(places < 0, num_segments, places)
        rows = places.reshape(-1, *[1] * (flat.ndim - 1)).expand(flat.shape)
        empty = x.new_full([num_segments + 1, *flat.shape[1:]], first(x.dtype))
        return empty.scatter_reduce(0, rows, flat, method)[:-1]

    return formula


def _limits(dtype: torch.dtype) -> Any:
    return torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)


def _bin_count(x: Tensor, size: Any, weights: Tensor, *, binary_output: bool) -> Tensor:
    """Returns how often each integer below `size` is in each row, or the sums of its weights."""
    given = weights if weights.numel() else torch.ones(x.shape, dtype=weights.dtype)
    inside = (x >= 0) & (x < size)
    given = torch.where(inside, given.to(weights.dtype), 0).to(weights.dtype)
    places = torch.where(inside, x, 0).to(torch.int64)
    zeros = torch.zeros([*x.shape[:-1], size], dtype=weights.dtype, device=x.device)
    counts = zeros.scatter_add(-1, places, given)
    return (counts != 0).to(weights.dtype) if binary_output else counts


def _where(x: Tensor) -> Tensor:
    """Returns the indices of nonzero elements: their number depends on values, so no graph has them."""
    if get_proxy_mode() is not None:
        raise RuntimeError("how many elements are not zero depends on values")
    return x.nonzero()


def _triangular_solve(x: Tensor, y: Tensor, *, lower: bool, adjoint: bool) -> Tensor:
    x = x.mH if adjoint else x
    return torch.linalg.solve_triangular(x, y, upper=lower == adjoint)


def _batch_matmul(x: Tensor, y: Tensor, *, adj_x: bool, adj_y: bool, Tout: str | None) -> Tensor:
    wanted = dtype_of(Tout) if Tout else x.dtype
    return (x.mH if adj_x else x).to(wanted) @ (y.mH if adj_y else y).to(wanted)


def _sparse_cross_entropy(logits: Tensor, labels: Tensor) -> list[Tensor]:
    labels = labels.to(torch.int64)
    logs = F.log_softmax(logits, -1)
    hot = F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    return [-logs.gather(-1, labels[..., None])[..., 0], logs.exp() - hot]


def _top_k(x: Tensor, k: Any, *, index_type: str | None) -> list[Tensor]:
    """Returns the largest elements and their indices; of equal ones the first, unlike `torch.topk`."""
    values, indices = x.sort(dim=-1, descending=True, stable=True)
    return [values[..., :k], indices[..., :k].to(dtype_of(index_type or "int32"))]


def _block_places(x: Tensor, starts: Any, shape: Any) -> list[Tensor]:
    """Returns indices of a block of `x`, which is moved until it fits, for each axis."""
    starts = torch.as_tensor(starts, device=x.device)
    places = []
    for axis, (size, width) in enumerate(zip(x.shape, shape, strict=True)):
        first = starts[axis].clamp(0, size - width)
        places.append(
            (first + torch.arange(width, device=x.device)).reshape(-1, *[1] * (x.ndim - 1 - axis))
        )
    return places


def _block(x: Tensor, begin: Any, shape: list[Any]) -> Tensor:
    return x[tuple(_block_places(x, begin, shape))] if x.ndim else x


def _updated(x: Tensor, update: Tensor, indices: Tensor) -> Tensor:
    update = update.to(x.dtype)
    if not x.ndim:
        return update
    return x.index_put(tuple(_block_places(x, indices, update.shape)), update)


def _bucket(x: Tensor, *, boundaries: list[float]) -> Tensor:
    edges = torch.tensor(np.array(boundaries, "float32"), device=x.device)
    return torch.searchsorted(edges, x.float().contiguous(), right=True).to(torch.int32)


def _extreme_places(method: str) -> Callable[..., Tensor]:
    def formula(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        """Returns `x` with the maximum or minimum of each element and all updates for its index."""
        depth, rest = indices.shape[-1], x.shape[indices.shape[-1] :]
        sizes = torch.tensor(x.shape[:depth], device=x.device)
        strides = sizes.flip(0).cumprod(0).flip(0) // sizes
        flat = (indices.reshape(-1, depth).to(torch.int64) * strides).sum(-1)
        rows = updates.reshape(flat.shape[0], -1)
        table = x.reshape(math.prod(x.shape[:depth]), -1)
        found = table.scatter_reduce(0, flat[:, None].expand(rows.shape), rows, method)
        return found.reshape(*x.shape[:depth], *rest)

    return formula


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns values, positions and counts in the order in which values come first."""
    if get_proxy_mode() is not None:
        raise RuntimeError("how many values there are depends on values")
    values, places, counts = torch.unique(x, return_inverse=True, return_counts=True)
    numbers = torch.arange(len(x), device=x.device)
    firsts = torch.full((len(values),), len(x), device=x.device)
    order = firsts.scatter_reduce(0, places, numbers, "amin").argsort()
    return values[order], order.argsort()[places], counts[order]


def _counted(x: Tensor, axis: Any, *, out_idx: str) -> list[Tensor]:
    if x.ndim != 1:
        raise ConversionError("Distinct rows, in contrast to numbers, have no formula in PyTorch.")
    values, places, counts = _unique(x)
    return [values, places.to(dtype_of(out_idx)), counts.to(dtype_of(out_idx))]


def _lower_upper(x: Tensor, *, output_idx_type: str) -> list[Tensor]:
    factors, pivots = torch.linalg.lu_factor(x)
    order = torch.lu_unpack(factors, pivots, unpack_data=False)[0].argmax(-2)
    return [factors, order.to(dtype_of(output_idx_type))]


def _distinct(x: Tensor, *, out_idx: str) -> list[Tensor]:
    values, places, _ = _unique(x)
    return [values, places.to(dtype_of(out_idx))]


def _cast(x: Tensor, *, SrcT: str, DstT: str) -> Tensor:
    if "float8" in SrcT or "float8" in DstT:  # TensorFlow has no gradient of these.
        return x.detach().to(dtype_of(DstT))
    if DstT in ("uint32", "uint16"):
        return wrapped(x.to(torch.int64), DstT).to(dtype_of(DstT))
    if SrcT == "uint32" and DstT == "int32":
        return _signed(x)
    if x.is_complex() and "complex" not in DstT:
        x = x.real
    return x.to(dtype_of(DstT))


def _signed(x: Tensor) -> Tensor:
    """Returns words of 32 bits as signed integers of 32."""
    return (((x + 2**31) & WORD) - 2**31).to(torch.int32)


def _integer_hash(x: Tensor, *, num_buckets: int) -> Tensor:
    """Returns the bucket of each integer, by the hash of its decimal string."""
    characters, length = hashing.decimal(
        x.to(torch.int64),
        19,
        torch.where,
        lambda it: torch.div(it, 10, rounding_mode="trunc"),
        lambda it: it & WORD,
    )
    high, low = hashing.farmhash(characters, length, torch.where)
    return ((high % num_buckets) * (2**32 % num_buckets) + low % num_buckets) % num_buckets


def _bitcast(x: Tensor, *, T: str, type: str) -> Tensor:
    if T == "uint32":
        x = _signed(x)
    if type == "uint32":
        return x.view(torch.int32).to(torch.int64) & WORD
    wanted = dtype_of(type)
    if wanted.itemsize < x.dtype.itemsize:
        x = x[..., None]
    y = x.detach().view(wanted)
    return y[..., 0] if wanted.itemsize > x.dtype.itemsize else y


def _right_shift(x: Tensor, y: Tensor, *, T: str) -> Tensor:
    if T != "uint64":
        return x >> y
    return torch.where(y == 0, x, (x >> y) & ((1 << (64 - y)) - 1))


def _whole(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Returns the formula of an operation whose integers wrap around."""
    return lambda a, b, *, T: wrapped(operation(a, b), T)


def _mirrored(x: Tensor, paddings: list[list[int]], *, mode: str) -> Tensor:
    """Returns a tensor that is continued by its mirror image."""
    for axis, (before, after) in enumerate(paddings):
        if not before and not after:
            continue
        size = x.shape[axis]
        # "REFLECT" leaves out the edge itself, "SYMMETRIC" repeats it.
        edge = 1 if mode == "REFLECT" else 0
        places = [
            *range(before - 1 + edge, edge - 1, -1),
            *range(size),
            *range(size - 1 - edge, size - 1 - edge - after, -1),
        ]
        x = x.index_select(axis, torch.tensor(places, device=x.device))
    return x


def _padded(x: Tensor, paddings: Any, b: Any = 0) -> Tensor:
    return padded(x, paddings, b if isinstance(b, (int, float)) else b.item())


def _uniform_integers(
    shape: Any, key: Tensor, counter: Tensor, alg: Any, low: Tensor, high: Tensor, *, dtype: str
) -> Tensor:
    count = math.prod(shape)
    if dtype in ("int64", "uint64"):
        drawn = philox.wide_bits(count, key, counter)
        span = high - low
        # The remainder of an unsigned number, of which the sign bit is a part.
        half = (drawn >> 1) & (2**63 - 1)
        rest = ((half % span) * 2 + (drawn & 1)) % span
    else:
        rest = philox.bits(count, key, counter) % (high.to(torch.int64) - low)
    return (rest + low).to(dtype_of(dtype)).reshape(shape)


def _truncated_normal(shape: Any, key: Tensor, counter: Tensor, alg: Any, *, dtype: str) -> Tensor:
    """Returns normal numbers between -2 and 2: other values than TensorFlow's, with the same distribution."""
    inside = math.erf(math.sqrt(2.0))
    drawn = philox.unit(math.prod(shape), key, counter, "float32") * (2 * inside) - inside
    return (math.sqrt(2.0) * torch.erfinv(drawn)).to(dtype_of(dtype)).reshape(shape)


def _random_bits(shape: Any, key: Tensor, counter: Tensor, alg: Any, *, dtype: str) -> Tensor:
    if dtype in ("uint64", "int64"):
        return philox.wide_bits(math.prod(shape), key, counter).reshape(shape)
    words = philox.bits(math.prod(shape), key, counter).reshape(shape)
    return words if dtype == "uint32" else _signed(words)


def _split(axis: Any, x: Tensor, *, num_split: int) -> list[Tensor]:
    return list(x.split(x.shape[axis] // num_split, axis % x.ndim))


def _split_sizes(x: Tensor, size: list[Any], axis: Any) -> list[Tensor]:
    rest = x.shape[axis] - sum(size) - 1
    return list(x.split([rest if n == -1 else n for n in size], axis % x.ndim))


def _squeezed(x: Tensor, *, squeeze_dims: list[int]) -> Tensor:
    return x.squeeze(tuple(squeeze_dims)) if squeeze_dims else x.squeeze()


def _found(right: bool) -> Callable[..., Tensor]:
    def formula(ordered: Tensor, values: Tensor, *, out_type: str) -> Tensor:
        places = torch.searchsorted(ordered.contiguous(), values.contiguous(), right=right)
        return places.to(dtype_of(out_type))

    return formula


def _argument(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def formula(x: Tensor, axis: Any, *, output_type: str | None) -> Tensor:
        places = function(x.int() if x.dtype == torch.bool else x, axis)
        return places.to(dtype_of(output_type or "int64"))

    return formula


def _filled(dims: list[Any], x: Tensor) -> Tensor:
    return x.expand(dims).clone()


# --- The table ----------------------------------------------------------------------------------------

FORMULAS: dict[str, Callable[..., Any]] = {
    **alike(KIT),
    # Shapes
    "Reshape": _reshaped,
    "ExpandDims": lambda x, axis: x.unsqueeze(axis[0] if isinstance(axis, list) else axis),
    "Squeeze": _squeezed,
    "Transpose": _transposed,
    "Fill": _filled,
    "Empty": lambda shape, *, dtype: torch.zeros(shape, dtype=dtype_of(dtype)),
    "Unpack": lambda x, *, axis: list(x.unbind(axis)),
    "Split": _split,
    "SplitV": _split_sizes,
    "StridedSlice": _strided_slice,
    "Slice": _slice,
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "Where": _where,
    "ScatterNd": _scatter_nd,
    "TensorScatterUpdate": lambda x, indices, y: x.index_put(_places(indices), y),
    "TensorScatterAdd": lambda x, indices, y: x.index_put(_places(indices), y, accumulate=True),
    "TensorScatterMax": _extreme_places("amax"),
    "TensorScatterMin": _extreme_places("amin"),
    "TensorScatterSub": lambda x, indices, y: x.index_put(_places(indices), -y, accumulate=True),
    "UnsortedSegmentSum": _segment_sum,
    "UnsortedSegmentMax": _segments("amax", lambda dtype: _limits(dtype).min),
    "UnsortedSegmentMin": _segments("amin", lambda dtype: _limits(dtype).max),
    "UnsortedSegmentProd": _segments("prod", lambda dtype: 1),
    "Bucketize": _bucket,
    "Unique": _distinct,
    "UniqueWithCountsV2": _counted,
    "XlaDynamicSlice": _block,
    "XlaDynamicUpdateSlice": _updated,
    "DenseBincount": _bin_count,
    "Pad": _padded,
    "PadV2": lambda x, paddings, b: _padded(x, paddings, b),
    "MirrorPad": _mirrored,
    "ExtractImagePatches": convolutions.patches,
    "Range": lambda start, limit, delta, *, Tidx: torch.arange(
        start, limit, delta, dtype=dtype_of(Tidx)
    ),
    "ZerosLike": lambda x: torch.zeros_like(x),
    "PreventGradient": lambda x: x,
    "Cast": _cast,
    "Bitcast": _bitcast,
    # Arithmetic
    "AddV2": _whole(lambda a, b: a + b),
    "Add": _whole(lambda a, b: a + b),
    "Sub": _whole(lambda a, b: a - b),
    "Mul": _whole(lambda a, b: a * b),
    "TruncateDiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "Pow": lambda a, b: torch.pow(a, b),
    "Maximum": _maximum,
    "Minimum": _minimum,
    "ClipByValue": lambda x, low, high: torch.clamp(x, low, high),
    "Abs": lambda x: torch.abs(x),
    "Complex": lambda x, y: torch.complex(x, y),
    # Comparison and bits
    "LeftShift": _whole(lambda x, y: x << y),
    "RightShift": _right_shift,
    # Sums and products
    "Mean": _reduced(torch.mean),
    "Sum": _reduced(lambda x, axes, keep: x.sum(axes, keep, dtype=x.dtype)),
    "Prod": _reduced_in_turn(lambda x, axis, keep: x.prod(axis, keep, dtype=x.dtype)),
    "Max": _reduced(torch.amax),
    "Min": _reduced(torch.amin),
    "All": _reduced_in_turn(torch.all),
    "Any": _reduced_in_turn(torch.any),
    "ArgMax": _argument(torch.argmax),
    "ArgMin": _argument(torch.argmin),
    "TopKV2": _top_k,
    "UpperBound": _found(True),
    "LowerBound": _found(False),
    "BatchMatMulV2": _batch_matmul,
    "BatchMatMulV3": _batch_matmul,
    "Einsum": einsum.einsum,
    "Lu": _lower_upper,
    "MatrixTriangularSolve": _triangular_solve,
    # Activations and losses
    "Relu6": lambda x: F.relu6(x),
    "LeakyRelu": lambda x, *, alpha: F.leaky_relu(x, alpha),
    "Softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "Softsign": lambda x: F.softsign(x),
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    # Convolutions and images
    "Conv2D": convolutions.convolution,
    "Conv3D": convolutions.convolution,
    "DepthwiseConv2dNative": convolutions.depthwise,
    "Conv2DBackpropInput": convolutions.transposed,
    "Conv3DBackpropInputV2": convolutions.transposed,
    "MaxPool": convolutions.maximum,
    "MaxPool3D": convolutions.maximum,
    "AvgPool": convolutions.mean,
    "AvgPool3D": convolutions.mean,
    # Random numbers
    "StatelessRandomUniformFullIntV2": _random_bits,
    "StatelessRandomUniformIntV2": _uniform_integers,
    "StatelessTruncatedNormalV2": _truncated_normal,
    # Lists
    "EmptyTensorList": lambda shape, most, *, element_dtype: lists.TensorList(element_dtype),
    "TensorListFromTensor": lists.from_tensor,
    "TensorListGetItem": lists.get_item,
    "TensorListLength": lambda items: torch.tensor(len(items), dtype=torch.int32),
    "TensorListPushBack": lists.push_back,
    "TensorListReserve": lists.reserve,
    "TensorListSetItem": lists.set_item,
    "TensorListStack": lists.stack,
    # What several operations are together
    "Conv2D+BiasAdd": convolutions.with_bias,
    "Gelu": composites.gelu,
    "IntegerHash": _integer_hash,
    "LSTM": composites.lstm,
    "MatMul+BiasAdd": composites.linear,
    "MatMul+Reshape+BiasAdd": composites.reshaped_linear,
    "Normalization": composites.normalization,
    "ScaledNormalization": composites.scaled_normalization,
}


FORMULAS |= gradients.gradients(FORMULAS, KIT) | segments(FORMULAS, KIT)
