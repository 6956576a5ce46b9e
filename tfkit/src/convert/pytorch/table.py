"""TensorFlow's operations as formulas of PyTorch, one a line: `n` is the operation, with its attributes.

`HOST` gives the inputs that are numbers, not tensors: sizes, axes, indices. They are arrays of NumPy here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tfkit.src.convert.pytorch import convolutions, images, philox, sizes
from tfkit.src.convert.pytorch.dtypes import WORD, dtype_of, wrapped
from tfkit.src.convert.pytorch.operation import Operation as Node

# --- Numbers among the inputs -------------------------------------------------------------------------


def ints(value: Any) -> list[Any]:
    """Returns numbers as a list; those of a tensor are read from it."""
    return (
        np.atleast_1d(value).tolist()
        if isinstance(value, np.ndarray)
        else value.reshape(-1).tolist()
    )


def integer(value: Any) -> Any:
    """Returns one number."""
    return ints(value)[0]


def _axes(value: Any, x: Tensor) -> list[int]:
    return [axis % x.ndim for axis in ints(value)] if x.ndim else []


# --- Formulas of more than a line ---------------------------------------------------------------------


def _maximum(n: Node, x: Tensor, y: Tensor) -> Tensor:
    """Returns the larger elements. The gradient of equal ones goes to the first, as in TensorFlow."""
    if not x.is_floating_point() or not torch.is_grad_enabled():
        return torch.maximum(x, y)
    return torch.where((x >= y) | x.isnan(), x, y)


def _minimum(n: Node, x: Tensor, y: Tensor) -> Tensor:
    if not x.is_floating_point() or not torch.is_grad_enabled():
        return torch.minimum(x, y)
    return torch.where((x <= y) | x.isnan(), x, y)


def _mean(n: Node, x: Tensor, axis: Any) -> Tensor:
    axes = _axes(axis, x)
    return x.mean(axes, keepdim=n["keep_dims"]) if axes else x


def _sum(n: Node, x: Tensor, axis: Any) -> Tensor:
    axes = _axes(axis, x)
    return x.sum(axes, keepdim=n["keep_dims"], dtype=x.dtype) if axes else x


def _prod(n: Node, x: Tensor, axis: Any) -> Tensor:
    for each in sorted(_axes(axis, x), reverse=True):
        x = x.prod(each, keepdim=n["keep_dims"], dtype=x.dtype)
    return x


def _extreme(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def formula(n: Node, x: Tensor, axis: Any) -> Tensor:
        axes = _axes(axis, x)
        return function(x, axes, n["keep_dims"]) if axes else x

    return formula


def _truth(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def formula(n: Node, x: Tensor, axis: Any) -> Tensor:
        for each in sorted(_axes(axis, x), reverse=True):
            x = function(x, each, n["keep_dims"])
        return x

    return formula


def _strided_slice(n: Node, x: Tensor, begin: Any, end: Any, strides: Any) -> Tensor:
    index = list(sizes.indices(n, x.ndim, ints(begin), ints(end), ints(strides)))
    consumed = sum(item is not None and item is not Ellipsis for item in index)
    flips, axis = [], 0
    for place, item in enumerate(index):
        if item is Ellipsis:
            axis += x.ndim - consumed
        elif item is not None:
            if isinstance(item, slice) and item.step is not None and item.step < 0:
                # PyTorch has no negative steps: the same elements of the mirrored axis.
                first, last, step = item.indices(x.shape[axis])
                size = x.shape[axis]
                flips.append(axis)
                index[place] = slice(size - 1 - first, size - 1 - last, -step)
            axis += 1
    return (x.flip(flips) if flips else x)[tuple(index)]


def _slice(n: Node, x: Tensor, begin: Any, size: Any) -> Tensor:
    for axis, (at, count) in enumerate(zip(ints(begin), ints(size), strict=True)):
        if count == -1:
            x = x.narrow(axis, at, x.shape[axis] - at)
        elif not (type(at) is type(count) is int and at == 0 and count == x.shape[axis]):
            x = x.narrow(axis, at, count)
    return x


def _gather(n: Node, x: Tensor, indices: Tensor, axis: Any = 0) -> Tensor:
    """Returns the elements at indices; these may have the axes of a batch in front."""
    batch = n.attributes.get("batch_dims", 0)
    axis = (axis if type(axis) is int else integer(axis)) % x.ndim
    if batch == 0:
        y = x.index_select(axis, indices.reshape(-1).to(torch.int64))
        return y.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    x = x.movedim(axis, batch)
    flat = indices.flatten(batch).to(torch.int64)
    rest = x.shape[batch + 1 :]
    places = flat.reshape(*flat.shape, *[1] * len(rest)).expand(*flat.shape, *rest)
    y = x.gather(batch, places).reshape(*indices.shape, *rest)
    inner = indices.ndim - batch
    return y.movedim(tuple(range(batch, batch + inner)), tuple(range(axis, axis + inner)))


def _gather_nd(n: Node, x: Tensor, indices: Tensor) -> Tensor:
    return x[tuple(indices.to(torch.int64).unbind(-1))] if indices.shape[-1] else x


def _scatter_nd(n: Node, indices: Tensor, updates: Tensor, shape: Any) -> Tensor:
    x = updates.new_zeros(ints(shape))
    return x.index_put(tuple(indices.to(torch.int64).unbind(-1)), updates, accumulate=True)


def _scattered(accumulate: bool) -> Callable[..., Tensor]:
    def formula(n: Node, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        places = tuple(indices.to(torch.int64).unbind(-1))
        return x.index_put(places, updates, accumulate=accumulate)

    return formula


def _segment_sum(n: Node, x: Tensor, segments: Tensor, count: Any) -> Tensor:
    """Returns the sums of rows by segment, without those of negative segments."""
    flat = x.reshape(-1, *x.shape[segments.ndim :])
    places = segments.reshape(-1).to(torch.int64)
    kept = places >= 0
    masked = torch.where(kept.reshape(-1, *[1] * (flat.ndim - 1)), flat, 0)
    empty = x.new_zeros([integer(count), *flat.shape[1:]])
    return empty.index_add(0, places.clamp(min=0), masked)


def _one_hot(n: Node, indices: Tensor, depth: Any, on: Tensor, off: Tensor) -> Tensor:
    axis = n["axis"] if n["axis"] >= 0 else indices.ndim
    numbers = torch.arange(integer(depth), device=indices.device)
    return torch.where(indices[..., None] == numbers, on, off).movedim(-1, axis)


def _cumulative(function: Callable[..., Tensor], first: float) -> Callable[..., Tensor]:
    def formula(n: Node, x: Tensor, axis: Any) -> Tensor:
        (along,) = _axes(axis, x)
        x = x.flip(along) if n["reverse"] else x
        if n["exclusive"]:
            start = torch.full_like(x.narrow(along, 0, 1), first)
            x = torch.cat([start, x.narrow(along, 0, x.shape[along] - 1)], along)
        y = function(x, along).to(x.dtype)
        return y.flip(along) if n["reverse"] else y

    return formula


def _broadcast_pair(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return x.expand(*batch, *x.shape[-2:]), y.expand(*batch, *y.shape[-2:])


def _matmul(n: Node, x: Tensor, y: Tensor) -> Tensor:
    x = x.mT if n.attributes.get("transpose_a") or n.attributes.get("adj_x") else x
    y = y.mT if n.attributes.get("transpose_b") or n.attributes.get("adj_y") else y
    return x @ y


def _solve(n: Node, x: Tensor, y: Tensor) -> Tensor:
    return torch.linalg.solve(x.mT if n["adjoint"] else x, y)


def _band(n: Node, x: Tensor, below: Any, above: Any) -> Tensor:
    """Returns matrices with zeros away from the diagonal; a negative width keeps all on its side."""
    rows, columns = x.shape[-2:]
    distance = torch.arange(columns, device=x.device) - torch.arange(rows, device=x.device)[:, None]
    low, high = integer(below), integer(above)
    outside = (distance < -low) & (low >= 0) | (distance > high) & (high >= 0)
    return torch.where(outside, 0, x).to(x.dtype)


def _sparse_cross_entropy(n: Node, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    labels = labels.to(torch.int64)
    logs = F.log_softmax(logits, -1)
    hot = F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    return -logs.gather(-1, labels[..., None])[..., 0], logs.exp() - hot


def _cross_entropy(n: Node, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    logs = F.log_softmax(logits, -1)
    return -(labels * logs).sum(-1), logs.exp() - labels


def _top_k(n: Node, x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
    """Returns the largest elements and their places; of equal ones the first, unlike `torch.topk`."""
    values, indices = x.sort(dim=-1, descending=True, stable=True)
    count = integer(k)
    return values[..., :count], indices[..., :count].to(
        dtype_of(n.attributes.get("index_type", "int32"))
    )


def _divided(n: Node, x: Tensor, y: Tensor) -> Tensor:
    """Returns a quotient that is 0 where the divisor is, with a gradient of 0 there."""
    zero = y == 0
    return torch.where(zero, 0, x / torch.where(zero, 1, y)).to(x.dtype)


def _cast(n: Node, x: Tensor) -> Tensor:
    if n["DstT"] in ("uint32", "uint16"):
        return wrapped(x.to(torch.int64), n["DstT"]).to(dtype_of(n["DstT"]))
    if n["SrcT"] == "uint32" and n["DstT"] == "int32":
        return _signed(x)
    if x.is_complex() and "complex" not in n["DstT"]:
        x = x.real
    return x.to(dtype_of(n["DstT"]))


def _signed(x: Tensor) -> Tensor:
    """Returns words of 32 bits as signed integers of 32."""
    return (((x + 2**31) & WORD) - 2**31).to(torch.int32)


def _bitcast(n: Node, x: Tensor) -> Tensor:
    source, target = n["T"], n["type"]
    if source == "uint32":
        x = _signed(x)
    if target == "uint32":
        return x.view(torch.int32).to(torch.int64) & WORD
    return x.view(dtype_of(target))


def _right_shift(n: Node, x: Tensor, y: Tensor) -> Tensor:
    if n["T"] != "uint64":
        return x >> y
    return torch.where(y == 0, x, (x >> y) & ((1 << (64 - y)) - 1))


def _whole(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Returns the formula of an operation whose integers wrap around."""
    return lambda n, x, y: wrapped(operation(x, y), n.attributes.get("T", ""))


def _padded(n: Node, x: Tensor, pairs: Any, value: Any = 0) -> Tensor:
    flat = [ints(pair) for pair in pairs]
    number = value if isinstance(value, (int, float)) else value.item()
    return convolutions.padded(x, flat, number)


def _uniform_integers(
    n: Node, shape: Any, key: Tensor, counter: Tensor, alg: Any, low: Any, high: Any
) -> Tensor:
    dtype = dtype_of(n["dtype"])
    sizes, count = ints(shape), math.prod(ints(shape))
    if n["dtype"] in ("int64", "uint64"):
        words = philox.bits(2 * count, key, counter).reshape(-1, 2)
        drawn = words[:, 0] | words[:, 1] << 32
        span = high - low
        # The remainder of an unsigned number, of which the sign bit is a part.
        half = (drawn >> 1) & (2**63 - 1)
        rest = ((half % span) * 2 + (drawn & 1)) % span
    else:
        rest = philox.bits(count, key, counter) % (high.to(torch.int64) - low)
    return (rest + low).to(dtype).reshape(sizes)


def _uniform(n: Node, shape: Any, key: Tensor, counter: Tensor, alg: Any) -> Tensor:
    sizes, dtype = ints(shape), dtype_of(n["dtype"])
    if dtype != torch.float32:
        raise ValueError(f"uniform random numbers of {n['dtype']} have no entry")
    words = philox.bits(math.prod(sizes), key, counter) & 0x7FFFFF
    return (words.to(dtype) * 2.0**-23).reshape(sizes)


def _random_bits(n: Node, shape: Any, key: Tensor, counter: Tensor, alg: Any) -> Tensor:
    sizes = ints(shape)
    if n["dtype"] in ("uint64", "int64"):
        words = philox.bits(2 * math.prod(sizes), key, counter).reshape(-1, 2)
        return (words[:, 0] | words[:, 1] << 32).reshape(sizes)
    words = philox.bits(math.prod(sizes), key, counter).reshape(sizes)
    return words if n["dtype"] == "uint32" else _signed(words)


def _split(n: Node, axis: Any, x: Tensor) -> tuple[Tensor, ...]:
    along = integer(axis) % x.ndim
    return x.split(x.shape[along] // n["num_split"], along)


def _split_sizes(n: Node, x: Tensor, sizes: Any, axis: Any) -> tuple[Tensor, ...]:
    along, counts = integer(axis) % x.ndim, ints(sizes)
    if -1 in counts:
        counts[counts.index(-1)] = x.shape[along] - sum(counts) - 1
    return x.split(counts, along)


def _squeezed(n: Node, x: Tensor) -> Tensor:
    axes = n["squeeze_dims"]
    return x.squeeze(tuple(axes)) if axes else x.squeeze()


def _range(n: Node, first: Any, last: Any, step: Any) -> Tensor:
    numbers = [integer(value) for value in (first, last, step)]
    device = next(
        (value.device for value in (first, last, step) if isinstance(value, Tensor)), None
    )
    return torch.arange(*numbers, dtype=dtype_of(n["Tidx"]), device=device)


def _repeated(n: Node, x: Tensor, counts: Any) -> Tensor:
    return x.repeat(ints(counts)) if x.ndim else x


def _frames(n: Node, x: Tensor, length: Any) -> Tensor:
    return torch.fft.rfft(x, integer(length))


def _real_inverse(n: Node, x: Tensor, length: Any) -> Tensor:
    return torch.fft.irfft(x, integer(length))


def _found(right: bool) -> Callable[..., Tensor]:
    def formula(n: Node, ordered: Tensor, values: Tensor) -> Tensor:
        places = torch.searchsorted(ordered.contiguous(), values.contiguous(), right=right)
        return places.to(dtype_of(n["out_type"]))

    return formula


def _selected(n: Node, where: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Returns elements, or rows for a condition of rank 1, which the older form of the operation allows."""
    if where.ndim == 1 and x.ndim > 1:
        where = where.reshape(-1, *[1] * (x.ndim - 1))
    return torch.where(where, x, y)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda n, *inputs: function(*inputs)


def _argument(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda n, x, axis: function(x.int() if x.dtype == torch.bool else x, integer(axis)).to(
        dtype_of(n.attributes.get("output_type", "int64"))
    )


# --- The table ----------------------------------------------------------------------------------------

TABLE: dict[str, Callable[..., Any]] = {
    # Shapes
    "Shape": lambda n, x: sizes.array(x.shape),
    "Size": lambda n, x: np.asarray(math.prod(x.shape)),
    "Rank": lambda n, x: np.asarray(x.ndim),
    "Reshape": lambda n, x, shape: x.reshape(ints(shape)),
    "ExpandDims": lambda n, x, axis: x.unsqueeze(integer(axis)),
    "Squeeze": _squeezed,
    "Transpose": lambda n, x, order: x.permute(ints(order)),
    "BroadcastTo": lambda n, x, shape: x.expand(ints(shape)),
    "Fill": lambda n, shape, x: x.expand(ints(shape)).clone(),
    "Tile": _repeated,
    "Pack": lambda n, *x: torch.stack(x, n["axis"]),
    "Unpack": lambda n, x: x.unbind(n["axis"]),
    "ConcatV2": lambda n, *x: torch.cat(x[:-1], integer(x[-1])),
    "Split": _split,
    "SplitV": _split_sizes,
    "StridedSlice": _strided_slice,
    "Slice": _slice,
    "GatherV2": _gather,
    "ResourceGather": _gather,
    "GatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    "TensorScatterUpdate": _scattered(False),
    "TensorScatterAdd": _scattered(True),
    "UnsortedSegmentSum": _segment_sum,
    "ReverseV2": lambda n, x, axes: x.flip(_axes(axes, x)),
    "Roll": lambda n, x, shift, axis: x.roll(ints(shift), ints(axis)),
    "Pad": _padded,
    "PadV2": _padded,
    "MirrorPad": lambda n, x, pairs: images.mirrored(x, map(ints, pairs), n["mode"]),
    "SpaceToBatchND": lambda n, x, size, pads: convolutions.space_to_batch(
        n, x, ints(size), [*map(ints, pads)]
    ),
    "BatchToSpaceND": lambda n, x, size, crops: convolutions.batch_to_space(
        n, x, ints(size), [*map(ints, crops)]
    ),
    "Range": _range,
    "OneHot": _one_hot,
    "ZerosLike": _plain(torch.zeros_like),
    "OnesLike": _plain(torch.ones_like),
    "Identity": _plain(lambda x: x),
    "EnsureShape": _plain(lambda x: x),
    "PreventGradient": _plain(lambda x: x),
    "StopGradient": _plain(lambda x: x.detach()),
    "IdentityN": _plain(lambda *x: x),
    "Cast": _cast,
    "Bitcast": _bitcast,
    "SelectV2": _plain(torch.where),
    "Select": _selected,
    # Arithmetic
    "AddV2": _whole(lambda x, y: x + y),
    "Add": _whole(lambda x, y: x + y),
    "Sub": _whole(lambda x, y: x - y),
    "Mul": _whole(lambda x, y: x * y),
    "MulNoNan": lambda n, x, y: torch.where(y == 0, 0, x * y).to(x.dtype),
    "AddN": _plain(lambda *x: sum(x[1:], x[0])),
    "RealDiv": _plain(torch.div),
    "DivNoNan": _divided,
    "FloorDiv": _plain(lambda x, y: torch.div(x, y, rounding_mode="floor")),
    "FloorMod": _plain(torch.remainder),
    "Mod": _plain(torch.fmod),
    "TruncateDiv": _plain(lambda x, y: torch.div(x, y, rounding_mode="trunc")),
    "TruncateMod": _plain(torch.fmod),
    "Pow": _plain(torch.pow),
    "SquaredDifference": _plain(lambda x, y: (x - y) * (x - y)),
    "Maximum": _maximum,
    "Minimum": _minimum,
    "ClipByValue": _plain(torch.clamp),
    "Neg": _plain(torch.neg),
    "Abs": _plain(torch.abs),
    "ComplexAbs": _plain(torch.abs),
    "Sign": _plain(torch.sign),
    "Square": _plain(torch.square),
    "Sqrt": _plain(torch.sqrt),
    "Rsqrt": _plain(torch.rsqrt),
    "Reciprocal": _plain(torch.reciprocal),
    "Inv": _plain(torch.reciprocal),
    "Exp": _plain(torch.exp),
    "Expm1": _plain(torch.expm1),
    "Log": _plain(torch.log),
    "Log1p": _plain(torch.log1p),
    "Xlogy": _plain(torch.xlogy),
    "Xlog1py": _plain(torch.special.xlog1py),
    "Sin": _plain(torch.sin),
    "Cos": _plain(torch.cos),
    "Tan": _plain(torch.tan),
    "Asin": _plain(torch.asin),
    "Acos": _plain(torch.acos),
    "Atan": _plain(torch.atan),
    "Atan2": _plain(torch.atan2),
    "Sinh": _plain(torch.sinh),
    "Cosh": _plain(torch.cosh),
    "Asinh": _plain(torch.asinh),
    "Acosh": _plain(torch.acosh),
    "Atanh": _plain(torch.atanh),
    "Erf": _plain(torch.erf),
    "Erfc": _plain(torch.erfc),
    "Erfinv": _plain(torch.erfinv),
    "Lgamma": _plain(torch.lgamma),
    "Digamma": _plain(torch.digamma),
    "Floor": _plain(lambda x: x.floor()),
    "Ceil": _plain(torch.ceil),
    "Round": _plain(torch.round),
    "Rint": _plain(torch.round),
    "Real": _plain(torch.real),
    "Imag": _plain(torch.imag),
    "Complex": _plain(torch.complex),
    "Conj": _plain(torch.conj),
    "IsFinite": _plain(torch.isfinite),
    "IsNan": _plain(torch.isnan),
    "IsInf": _plain(torch.isinf),
    # Comparison and bits
    "Equal": _plain(torch.eq),
    "NotEqual": _plain(torch.ne),
    "Less": _plain(torch.lt),
    "LessEqual": _plain(torch.le),
    "Greater": _plain(torch.gt),
    "GreaterEqual": _plain(torch.ge),
    "LogicalAnd": _plain(torch.logical_and),
    "LogicalOr": _plain(torch.logical_or),
    "LogicalNot": _plain(torch.logical_not),
    "BitwiseAnd": _plain(torch.bitwise_and),
    "BitwiseOr": _plain(torch.bitwise_or),
    "BitwiseXor": _plain(torch.bitwise_xor),
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
    "L2Loss": _plain(lambda x: x.square().sum() / 2),
    "TopKV2": _top_k,
    "UpperBound": _found(True),
    "LowerBound": _found(False),
    "MatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "Einsum": lambda n, *x: torch.einsum(n["equation"], *x),
    "MatrixSolve": _solve,
    "MatrixSetDiagV3": lambda n, x, values, k: x.diagonal_scatter(values, integer(k), -2, -1),
    "MatrixDiagPartV3": lambda n, x, k, fill: x.diagonal(integer(k), -2, -1),
    "MatrixDiagV3": lambda n, x, k, rows, columns, fill: torch.diag_embed(x, integer(k)),
    "MatrixBandPart": _band,
    "RFFT": _frames,
    "IRFFT": _real_inverse,
    # Activations and losses
    "BiasAdd": lambda n, x, bias: (
        x + bias if n["data_format"] == "NHWC" else x + bias.reshape(-1, *[1] * (x.ndim - 2))
    ),
    "Relu": _plain(torch.relu),
    "Relu6": _plain(F.relu6),
    "LeakyRelu": lambda n, x: F.leaky_relu(x, n["alpha"]),
    "Elu": _plain(F.elu),
    "Selu": _plain(F.selu),
    "Sigmoid": _plain(torch.sigmoid),
    "Tanh": _plain(torch.tanh),
    "Softplus": _plain(lambda x: torch.logaddexp(x, torch.zeros_like(x))),
    "Softsign": _plain(F.softsign),
    "Softmax": _plain(lambda x: torch.softmax(x, -1)),
    "LogSoftmax": _plain(lambda x: torch.log_softmax(x, -1)),
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    # Convolutions and images
    "Conv2D": convolutions.convolution,
    "Conv3D": convolutions.convolution,
    "DepthwiseConv2dNative": convolutions.depthwise,
    "Conv2DBackpropInput": lambda n, sizes, kernel, y: convolutions.transposed(
        n, ints(sizes), kernel, y
    ),
    "Conv3DBackpropInputV2": lambda n, sizes, kernel, y: convolutions.transposed(
        n, ints(sizes), kernel, y
    ),
    "MaxPool": convolutions.maximum,
    "MaxPool3D": convolutions.maximum,
    "AvgPool": convolutions.mean,
    "AvgPool3D": convolutions.mean,
    "ResizeBilinear": lambda n, x, size: images.resized(n, x, ints(size), "bilinear"),
    "ResizeBicubic": lambda n, x, size: images.resized(n, x, ints(size), "bicubic"),
    "ResizeNearestNeighbor": lambda n, x, size: images.resized(n, x, ints(size), "nearest"),
    "ImageProjectiveTransformV3": lambda n, x, transforms, size, fill: images.projected(
        n, x, transforms, ints(size), fill
    ),
    "RGBToHSV": _plain(images.to_hsv),
    "HSVToRGB": _plain(images.to_rgb),
    # Random numbers
    "StatelessRandomGetKeyCounter": _plain(philox.key_and_counter),
    "StatelessRandomUniformFullIntV2": _random_bits,
    "StatelessRandomUniformIntV2": _uniform_integers,
    "StatelessRandomUniformV2": _uniform,
}

# The numbers of the inputs that are no tensors; -1 is the last.
HOST: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        ("Reshape", "ExpandDims", "Transpose", "BroadcastTo", "Tile", "ReverseV2", "Pad", "MirrorPad")
        + ("Mean", "Sum", "Prod", "Max", "Min", "All", "Any", "ArgMax", "ArgMin", "Cumsum", "Cumprod")
        + ("TopKV2", "RFFT", "IRFFT", "ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor", "OneHot"),
        (1,),
    ),
    **dict.fromkeys(("Slice", "SplitV", "Roll", "SpaceToBatchND", "BatchToSpaceND"), (1, 2)),
    "MatrixBandPart": (1, 2),
    **dict.fromkeys(("Fill", "Split", "Conv2DBackpropInput", "Conv3DBackpropInputV2"), (0,)),
    **dict.fromkeys(("GatherV2", "ScatterNd", "UnsortedSegmentSum", "ImageProjectiveTransformV3"), (2,)),
    **dict.fromkeys(
        ("StatelessRandomUniformFullIntV2", "StatelessRandomUniformIntV2", "StatelessRandomUniformV2"),
        (0, 3),
    ),
    "MatrixSetDiagV3": (2,),
    "MatrixDiagPartV3": (1,),
    "MatrixDiagV3": (1, 2, 3),
    "ConcatV2": (-1,),
    "StridedSlice": (1, 2, 3),
    "PadV2": (1, 2),
    "Range": (0, 1, 2),
}  # fmt: skip
