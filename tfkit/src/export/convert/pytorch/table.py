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
from tfkit.src.export.convert.alike import alike
from tfkit.src.export.convert.host import index_of, with_attributes_of
from tfkit.src.export.convert.interpreter import ConversionError
from tfkit.src.export.convert.pytorch import (
    composites,
    convolutions,
    einsum,
    images,
    lists,
    matrices,
    philox,
)
from tfkit.src.export.convert.pytorch.dtypes import WORD, dtype_of, wrapped


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


def _mean(x: Tensor, axis: Any, *, keep_dims: bool) -> Tensor:
    axes = _axes(axis, x)
    return x.mean(axes, keepdim=keep_dims) if axes else x


def _sum(x: Tensor, axis: Any, *, keep_dims: bool) -> Tensor:
    axes = _axes(axis, x)
    return x.sum(axes, keepdim=keep_dims, dtype=x.dtype) if axes else x


def _prod(x: Tensor, axis: Any, *, keep_dims: bool) -> Tensor:
    for each in sorted(_axes(axis, x), reverse=True):
        x = x.prod(each, keepdim=keep_dims, dtype=x.dtype)
    return x


def _extreme(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def formula(x: Tensor, axis: Any, *, keep_dims: bool) -> Tensor:
        axes = _axes(axis, x)
        return function(x, axes, keep_dims) if axes else x

    return formula


def _truth(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
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


def _svd(x: Tensor, *, compute_uv: bool, full_matrices: bool) -> list[Tensor]:
    if not compute_uv:
        return [torch.linalg.svdvals(x), x.new_zeros(0), x.new_zeros(0)]
    u, values, v = torch.linalg.svd(x, full_matrices)
    return [values, u, v.mH]


def _eigen(x: Tensor, *, compute_v: bool) -> list[Tensor]:
    if not compute_v:
        return [torch.linalg.eigvalsh(x), x.new_zeros(0)]
    return list(torch.linalg.eigh(x))


def _one_hot(indices: Tensor, depth: Any, on: Tensor, off: Tensor, *, axis: int) -> Tensor:
    numbers = torch.arange(depth, device=indices.device)
    hot = torch.where(indices[..., None] == numbers, on, off)
    return hot.movedim(-1, axis if axis >= 0 else indices.ndim)


def _cumulative(function: Callable[..., Tensor], first: float) -> Callable[..., Tensor]:
    def formula(x: Tensor, axis: Any, *, reverse: bool, exclusive: bool) -> Tensor:
        (along,) = _axes(axis, x)
        x = x.flip(along) if reverse else x
        if exclusive:
            start = torch.full_like(x.narrow(along, 0, 1), first)
            x = torch.cat([start, x.narrow(along, 0, x.shape[along] - 1)], along)
        y = function(x, along).to(x.dtype)
        return y.flip(along) if reverse else y

    return formula


def _matmul(x: Tensor, y: Tensor, *, transpose_a: bool, transpose_b: bool) -> Tensor:
    return (x.mT if transpose_a else x) @ (y.mT if transpose_b else y)


def _batch_matmul(x: Tensor, y: Tensor, *, adj_x: bool, adj_y: bool, Tout: str | None) -> Tensor:
    wanted = dtype_of(Tout) if Tout else x.dtype
    return (x.mH if adj_x else x).to(wanted) @ (y.mH if adj_y else y).to(wanted)


def _solve(x: Tensor, y: Tensor, *, adjoint: bool) -> Tensor:
    return torch.linalg.solve(x.mH if adjoint else x, y)


def _band(x: Tensor, num_rows: int, num_cols: int) -> Tensor:
    """Returns matrices with zeros away from the diagonal; a negative width keeps all on its side."""
    rows, columns = x.shape[-2:]
    distance = torch.arange(columns, device=x.device) - torch.arange(rows, device=x.device)[:, None]
    outside = (distance < -num_rows) & (num_rows >= 0) | (distance > num_cols) & (num_cols >= 0)
    return torch.where(outside, 0, x).to(x.dtype)


def _sparse_cross_entropy(logits: Tensor, labels: Tensor) -> list[Tensor]:
    labels = labels.to(torch.int64)
    logs = F.log_softmax(logits, -1)
    hot = F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    return [-logs.gather(-1, labels[..., None])[..., 0], logs.exp() - hot]


def _cross_entropy(logits: Tensor, labels: Tensor) -> list[Tensor]:
    logits, labels = torch.broadcast_tensors(logits, labels)
    logs = F.log_softmax(logits, -1)
    loss = -torch.where((labels == 0) & logs.isinf(), 0, labels * logs).sum(-1)
    # TensorFlow's gradient is `softmax - labels` also where the labels do not sum to 1: zeros that have it.
    total = logits.logsumexp(-1)
    total = torch.where(total.isfinite(), total, 0)
    loss = loss + (1 - labels.sum(-1).detach()) * (total - total.detach())
    return [loss, (logs.exp() - labels).detach()]


def _top_k(x: Tensor, k: Any, *, index_type: str | None) -> list[Tensor]:
    """Returns the largest elements and their indices; of equal ones the first, unlike `torch.topk`."""
    values, indices = x.sort(dim=-1, descending=True, stable=True)
    return [values[..., :k], indices[..., :k].to(dtype_of(index_type or "int32"))]


def _root(x: Tensor) -> Tensor:
    """Returns the square root. Its gradient is 0 where the one from above is, also at 0, as in TensorFlow."""
    if not x.is_floating_point() or not torch.is_grad_enabled():
        return torch.sqrt(x)
    usual = x > 0
    return torch.where(usual, torch.where(usual, x, 1).sqrt(), _steep(torch.sqrt, x, ~usual, 1))


def _inverse_root(x: Tensor) -> Tensor:
    """Returns the inverse of the square root, with a gradient like that of `_root`."""
    if not x.is_floating_point() or not torch.is_grad_enabled():
        return torch.rsqrt(x)
    usual = x > _limits(x.dtype).max ** (-2 / 3)  # Where the derivative is finite.
    return torch.where(usual, torch.where(usual, x, 1).rsqrt(), _steep(torch.rsqrt, x, ~usual, -1))


def _reciprocal(x: Tensor) -> Tensor:
    """Returns the inverse, with a gradient like that of `_root`."""
    if not x.is_floating_point() or not torch.is_grad_enabled():
        return torch.reciprocal(x)
    usual = x != 0
    inverse = torch.where(usual, x, 1).reciprocal()
    return torch.where(usual, inverse, _steep(torch.reciprocal, x, ~usual, -1))


def _selu(x: Tensor) -> Tensor:
    low = gradients.SELU_SLOPE * torch.expm1(torch.where(x < 0, x, 0))
    return torch.where(x < 0, low, gradients.SELU * x)


def _times_safely(function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def product(x: Tensor, y: Tensor) -> Tensor:
        """Returns `x * function(y)`, which is 0 where `x` is, as its gradients are."""
        zero = x == 0
        return torch.where(zero, 0, x * function(torch.where(zero, 1, y))).to(x.dtype)

    return product


def _steep(function: Callable[[Tensor], Tensor], x: Tensor, chosen: Tensor, sign: int) -> Tensor:
    """Returns a function where its derivative is infinite or, for negative numbers, NaN.

    The gradient is made by multiplications alone, each of which keeps zeros: the product of zero and
    infinity would not.
    """
    largest = _limits(x.dtype).max
    part = torch.where(chosen & x.isfinite(), x, 0)
    zero = (part - part.detach()) * (sign * largest) * largest
    return function(x.detach()) + zero * (x >= 0).to(x.dtype)


def _sorted_segments(method: str, first: Callable[[Any], Any]) -> Callable[..., Tensor]:
    def formula(x: Tensor, segment_ids: list[int]) -> Tensor:
        """Returns one row for each segment; those without rows are zero, except for products."""
        count = segment_ids[-1] + 1 if segment_ids else 0
        ids = torch.tensor(segment_ids, dtype=torch.int64, device=x.device)
        if method == "sum":
            return x.new_zeros([count, *x.shape[1:]]).index_add(0, ids, x)
        rows = ids.reshape(-1, *[1] * (x.ndim - 1)).expand(x.shape)
        start = x.new_full([count, *x.shape[1:]], first(x.dtype))
        result = start.scatter_reduce(0, rows, x, method)
        if method == "prod":
            return result
        used = torch.zeros(count, dtype=torch.bool, device=x.device).index_fill(0, ids, True)
        return torch.where(used.reshape(-1, *[1] * (x.ndim - 1)), result, 0).to(x.dtype)

    return formula


def _segment_mean(x: Tensor, segment_ids: list[int]) -> Tensor:
    total = _sorted_segments("sum", lambda dtype: 0)(x, segment_ids)
    sizes = torch.tensor(np.bincount(np.array(segment_ids, int)), device=x.device).clamp(min=1)
    return total / sizes.reshape(-1, *[1] * (x.ndim - 1)).to(x.dtype)


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


def _in_top(x: Tensor, y: Tensor, k: int) -> Tensor:
    """Returns whether fewer than `k` elements of a row are larger than the one at an index."""
    places = y.to(torch.int64)
    inside = (places >= 0) & (places < x.shape[-1])
    own = x.gather(-1, torch.where(inside, places, 0)[:, None])
    return inside & x.isfinite().all(-1) & ((x > own).sum(-1) < k)


def _lower_upper(x: Tensor, *, output_idx_type: str) -> list[Tensor]:
    factors, pivots = torch.linalg.lu_factor(x)
    order = torch.lu_unpack(factors, pivots, unpack_data=False)[0].argmax(-2)
    return [factors, order.to(dtype_of(output_idx_type))]


def _distinct(x: Tensor, *, out_idx: str) -> list[Tensor]:
    values, places, _ = _unique(x)
    return [values, places.to(dtype_of(out_idx))]


def _divided(x: Tensor, y: Tensor) -> Tensor:
    """Returns a quotient that is 0 where the divisor is, with a gradient of 0 there."""
    zero = y == 0
    return torch.where(zero, 0, x / torch.where(zero, 1, y)).to(x.dtype)


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


def _padded(x: Tensor, paddings: Any, b: Any = 0) -> Tensor:
    return convolutions.padded(x, paddings, b if isinstance(b, (int, float)) else b.item())


def _uniform_integers(
    shape: Any, key: Tensor, counter: Tensor, alg: Any, low: Tensor, high: Tensor, *, dtype: str
) -> Tensor:
    count = math.prod(shape)
    if dtype in ("int64", "uint64"):
        words = philox.bits(2 * count, key, counter).reshape(-1, 2)
        drawn = words[:, 0] | words[:, 1] << 32
        span = high - low
        # The remainder of an unsigned number, of which the sign bit is a part.
        half = (drawn >> 1) & (2**63 - 1)
        rest = ((half % span) * 2 + (drawn & 1)) % span
    else:
        rest = philox.bits(count, key, counter) % (high.to(torch.int64) - low)
    return (rest + low).to(dtype_of(dtype)).reshape(shape)


def _uniform(shape: Any, key: Tensor, counter: Tensor, alg: Any, *, dtype: str) -> Tensor:
    return philox.unit(math.prod(shape), key, counter, dtype_of(dtype)).reshape(shape)


def _normal(shape: Any, key: Tensor, counter: Tensor, alg: Any, *, dtype: str) -> Tensor:
    """Returns floats with mean 0 and deviation 1, by the method of Box and Muller."""
    count = math.prod(shape)
    drawn = torch.float64 if dtype == "float64" else torch.float32
    pairs = philox.unit((count + 1) // 2 * 2, key, counter, drawn).reshape(-1, 2)
    radius = torch.sqrt(-2.0 * torch.log(pairs[:, 0].clamp(min=1e-7)))
    angle = 2.0 * math.pi * pairs[:, 1]
    both = torch.stack([radius * torch.sin(angle), radius * torch.cos(angle)], 1)
    return both.reshape(-1)[:count].reshape(shape).to(dtype_of(dtype))


def _truncated_normal(shape: Any, key: Tensor, counter: Tensor, alg: Any, *, dtype: str) -> Tensor:
    """Returns normal numbers between -2 and 2: other values than TensorFlow's, with the same distribution."""
    inside = math.erf(math.sqrt(2.0))
    drawn = philox.unit(math.prod(shape), key, counter, torch.float32) * (2 * inside) - inside
    return (math.sqrt(2.0) * torch.erfinv(drawn)).to(dtype_of(dtype)).reshape(shape)


def _random_bits(shape: Any, key: Tensor, counter: Tensor, alg: Any, *, dtype: str) -> Tensor:
    if dtype in ("uint64", "int64"):
        words = philox.bits(2 * math.prod(shape), key, counter).reshape(-1, 2)
        return (words[:, 0] | words[:, 1] << 32).reshape(shape)
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


def _selected(where: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Returns elements, or rows for a condition of rank 1, which the older form of the operation allows."""
    if where.ndim == 1 and x.ndim > 1:
        where = where.reshape(-1, *[1] * (x.ndim - 1))
    return torch.where(where, x, y)


def _argument(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def formula(x: Tensor, axis: Any, *, output_type: str | None) -> Tensor:
        places = function(x.int() if x.dtype == torch.bool else x, axis)
        return places.to(dtype_of(output_type or "int64"))

    return formula


def _bias_add(x: Tensor, bias: Tensor, *, data_format: str) -> Tensor:
    return x + (bias if data_format == "NHWC" else bias.reshape(-1, *[1] * (x.ndim - 2)))


def _filled(dims: list[Any], x: Tensor) -> Tensor:
    return x.expand(dims).clone()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# --- The table ----------------------------------------------------------------------------------------

FORMULAS: dict[str, Callable[..., Any]] = {
    **alike(torch, torch.special),
    # Shapes
    "Reshape": _reshaped,
    "ExpandDims": lambda x, axis: x.unsqueeze(_listed(axis)[0]),
    "Squeeze": _squeezed,
    "Transpose": _transposed,
    "BroadcastTo": lambda x, shape: x.expand(shape),
    "Fill": _filled,
    "Empty": lambda shape, *, dtype: torch.zeros(shape, dtype=dtype_of(dtype)),
    "Tile": lambda x, multiples: x.repeat(multiples) if x.ndim else x,
    "Pack": lambda values, *, axis: torch.stack(values, axis),
    "Unpack": lambda x, *, axis: list(x.unbind(axis)),
    "ConcatV2": lambda values, axis: torch.cat(values, axis),
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
    "SegmentMax": _sorted_segments("amax", lambda dtype: _limits(dtype).min),
    "SegmentMean": _segment_mean,
    "SegmentMin": _sorted_segments("amin", lambda dtype: _limits(dtype).max),
    "SegmentProd": _sorted_segments("prod", lambda dtype: 1),
    "SegmentSum": _sorted_segments("sum", lambda dtype: 0),
    "Bucketize": _bucket,
    "Unique": _distinct,
    "UniqueWithCountsV2": _counted,
    "XlaDynamicSlice": _block,
    "XlaDynamicUpdateSlice": _updated,
    "InvertPermutation": lambda x: x.argsort().to(x.dtype),
    "DenseBincount": _bin_count,
    "ReverseV2": lambda x, axis: x.flip(_axes(axis, x)),
    "Roll": lambda x, size, axis: x.roll(_listed(size), _listed(axis)),
    "Pad": _padded,
    "PadV2": lambda x, paddings, b: _padded(x, paddings, b),
    "MirrorPad": images.mirrored,
    "SpaceToBatchND": convolutions.space_to_batch,
    "SpaceToDepth": convolutions.space_to_depth,
    "DepthToSpace": convolutions.depth_to_space,
    "ExtractImagePatches": convolutions.patches,
    "FusedBatchNormV3": convolutions.normalized,
    "BatchToSpaceND": convolutions.batch_to_space,
    "Range": lambda start, limit, delta, *, Tidx: torch.arange(
        start, limit, delta, dtype=dtype_of(Tidx)
    ),
    "OneHot": _one_hot,
    "ZerosLike": lambda x: torch.zeros_like(x),
    "PreventGradient": lambda x: x,
    "StopGradient": lambda x: x.detach(),
    "Cast": _cast,
    "Bitcast": _bitcast,
    "Select": _selected,
    # Arithmetic
    "AddV2": _whole(lambda a, b: a + b),
    "Add": _whole(lambda a, b: a + b),
    "Sub": _whole(lambda a, b: a - b),
    "Mul": _whole(lambda a, b: a * b),
    "MulNoNan": lambda x, y: torch.where(y == 0, 0, x * y).to(x.dtype),
    "RealDiv": lambda a, b: a / b,
    "DivNoNan": _divided,
    "FloorDiv": lambda x, b: torch.div(x, b, rounding_mode="floor"),
    "FloorMod": lambda x, b: torch.remainder(x, b),
    "Mod": lambda x, y: torch.fmod(x, y),
    "TruncateDiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "TruncateMod": lambda x, y: torch.fmod(x, y),
    "Pow": lambda a, b: torch.pow(a, b),
    "SquaredDifference": lambda a, b: torch.square(a - b),
    "Maximum": _maximum,
    "Minimum": _minimum,
    "ClipByValue": lambda x, low, high: torch.clamp(x, low, high),
    "Neg": lambda x: torch.neg(x),
    "Abs": lambda x: torch.abs(x),
    "Square": lambda x: torch.square(x),
    "Sqrt": _root,
    "Rsqrt": _inverse_root,
    "Reciprocal": _reciprocal,
    "Inv": _reciprocal,
    "Xdivy": _times_safely(torch.reciprocal),
    "Xlogy": _times_safely(torch.log),
    "Xlog1py": _times_safely(torch.log1p),
    "Erf": lambda x: torch.erf(x),
    "Erfc": lambda x: torch.erfc(x),
    "Erfinv": lambda x: torch.erfinv(x),
    "Lgamma": lambda x: torch.lgamma(x),
    "Digamma": lambda x: torch.digamma(x),
    "Floor": lambda x: x.floor(),
    "Complex": lambda x, y: torch.complex(x, y),
    # Comparison and bits
    "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b,
    "Less": lambda a, b: a < b,
    "LessEqual": lambda a, b: a <= b,
    "Greater": lambda a, b: a > b,
    "GreaterEqual": lambda a, b: a >= b,
    "LogicalAnd": lambda x, y: torch.logical_and(x, y),
    "LogicalOr": lambda x, y: torch.logical_or(x, y),
    "LogicalNot": lambda x: torch.logical_not(x),
    "BitwiseAnd": lambda x, y: torch.bitwise_and(x, y),
    "BitwiseOr": lambda x, y: torch.bitwise_or(x, y),
    "BitwiseXor": lambda x, y: torch.bitwise_xor(x, y),
    "Invert": lambda x: torch.bitwise_not(x),
    "LeftShift": _whole(lambda x, y: x << y),
    "RightShift": _right_shift,
    # Sums and products
    "Mean": _mean,
    "Sum": _sum,
    "Prod": _prod,
    "Max": _extreme(torch.amax),
    "Min": _extreme(torch.amin),
    "All": _truth(torch.all),
    "Any": _truth(torch.any),
    "ArgMax": _argument(torch.argmax),
    "ArgMin": _argument(torch.argmin),
    "Cumsum": _cumulative(torch.cumsum, 0.0),
    "Cumprod": _cumulative(torch.cumprod, 1.0),
    "L2Loss": lambda x: x.square().sum() / 2,
    "TopKV2": _top_k,
    "InTopKV2": _in_top,
    "UpperBound": _found(True),
    "LowerBound": _found(False),
    "MatMul": _matmul,
    "BatchMatMulV2": _batch_matmul,
    "BatchMatMulV3": _batch_matmul,
    "Einsum": einsum.einsum,
    "Lu": _lower_upper,
    "Cross": lambda x, y: torch.linalg.cross(x, y),
    "MatrixInverse": lambda x, *, adjoint: torch.linalg.inv(x.mH if adjoint else x),
    "MatrixSolve": _solve,
    "MatrixTriangularSolve": _triangular_solve,
    "Qr": lambda x, *, full_matrices: list(
        torch.linalg.qr(x, "complete" if full_matrices else "reduced")
    ),
    "SelfAdjointEigV2": _eigen,
    "Svd": _svd,
    "MatrixSetDiagV3": matrices.with_diagonal,
    "MatrixDiagPartV3": matrices.diagonal_part,
    "MatrixDiagV3": matrices.diagonal,
    "MatrixBandPart": _band,
    "FFT": lambda x: torch.fft.fft(x),
    "FFT2D": lambda x: torch.fft.fft2(x),
    "IFFT": lambda x: torch.fft.ifft(x),
    "IFFT2D": lambda x: torch.fft.ifft2(x),
    "RFFT": lambda x, shape: torch.fft.rfft(x, _listed(shape)[0]),
    "IRFFT": lambda x, shape: torch.fft.irfft(x, _listed(shape)[0]),
    # Activations and losses
    "BiasAdd": _bias_add,
    "Relu": lambda x: torch.relu(x),
    "Relu6": lambda x: F.relu6(x),
    "LeakyRelu": lambda x, *, alpha: F.leaky_relu(x, alpha),
    "Elu": lambda x: F.elu(x),
    "Selu": _selu,
    "Sigmoid": lambda x: torch.sigmoid(x),
    "Softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "Softsign": lambda x: F.softsign(x),
    "Softmax": lambda x: torch.softmax(x, -1),
    "LogSoftmax": lambda x: torch.log_softmax(x, -1),
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
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
    "ResizeBilinear": images.resized_bilinear,
    "ResizeBicubic": images.resized_bicubic,
    "ScaleAndTranslate": images.spanned,
    "ResizeNearestNeighbor": images.resized_nearest,
    "ImageProjectiveTransformV3": images.projected,
    "RGBToHSV": lambda x: images.rgb_to_hsv(x),
    "HSVToRGB": lambda x: images.hsv_to_rgb(x),
    # Random numbers
    "StatelessRandomNormalV2": _normal,
    "StatelessRandomGetKeyCounter": lambda seed: list(philox.key_and_counter(seed)),
    "StatelessRandomUniformFullIntV2": _random_bits,
    "StatelessRandomUniformIntV2": _uniform_integers,
    "StatelessRandomUniformV2": _uniform,
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


def _pull(function: Callable[..., Any], dy: Tensor, *arguments: Tensor) -> tuple[Any, ...]:
    y, back = torch.func.vjp(function, *arguments)
    return tuple(back(dy.to(y.dtype)))


def _zeros(shape: Any, like: Tensor) -> Tensor:
    return like.new_zeros(shape)


FORMULAS |= gradients.gradients(FORMULAS, gradients.Kit(torch, torch.sigmoid, _zeros, _pull))
