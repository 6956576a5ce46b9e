"""Formulas in JAX for TensorFlow's operations, by type; `interpreter.py` says how they are called.

Where two branches meet (`Maximum` of equal numbers, `Relu6` at 6) the derivative is TensorFlow's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfkit.src.export.convert import gradients, hashing
from tfkit.src.export.convert.alike import alike, segments, turned
from tfkit.src.export.convert.graph import JAX_FUNCTION
from tfkit.src.export.convert.host import strided_slice
from tfkit.src.export.convert.interpreter import ConversionError
from tfkit.src.export.convert.jax import lists, neighbours, philox, recurrence
from tfkit.src.export.convert.jax.kit import KIT, dtype_of, padded

# --- Numbers ------------------------------------------------------------------------------------------


def _cast(x: Any, *, DstT: str) -> Any:
    if DstT == "bool":
        return x != 0
    if "float8" in DstT or "float8" in x.dtype.name:  # TensorFlow has no gradient of these.
        x = lax.stop_gradient(x)
    if jnp.iscomplexobj(x) and not DstT.startswith("complex"):
        x = jnp.real(x)
    return x.astype(dtype_of(DstT))


def _absolute(x: Any) -> Any:
    """Returns absolute values, with a gradient of 0 at 0, where JAX's is 1."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.abs(x)
    return x * lax.stop_gradient(jnp.sign(x))


def _maximum(x: Any, y: Any) -> Any:
    return jnp.where((x >= y) | (x != x), x, y)


def _minimum(x: Any, y: Any) -> Any:
    return jnp.where((x <= y) | (x != x), x, y)


def _clip(x: Any, low: Any, high: Any) -> Any:
    return jnp.where(x < low, low, jnp.where(x > high, high, x)).astype(x.dtype)


def _of_two(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Returns a function of two arrays that are broadcast to one shape."""
    return lambda x, y: function(*jnp.broadcast_arrays(x, y))


# --- Sums along axes ----------------------------------------------------------------------------------


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, axis: Any, *, keep_dims: bool) -> Any:
        axes = tuple(axis) if isinstance(axis, list) else (axis,)
        return function(x, axis=axes, keepdims=keep_dims).astype(x.dtype)

    return reduced


def _position(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, *, output_type: function(x, axis).astype(dtype_of(output_type))


def _euclidean_norm(x: Any, axis: Any, keepdims: bool) -> Any:
    return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(x)), axis=axis, keepdims=keepdims))


# --- Shapes and indices -------------------------------------------------------------------------------


def _squeeze(x: Any, *, squeeze_dims: list[int]) -> Any:
    return jnp.squeeze(x, tuple(squeeze_dims) or None)


def _unpack(x: Any, *, num: int, axis: int) -> list[Any]:
    return [lax.index_in_dim(x, place, axis, keepdims=False) for place in range(num)]


def _split_at(x: Any, shape: list[Any], axis: Any) -> list[Any]:
    sizes = [it if it != -1 else x.shape[axis] - sum(shape) - 1 for it in shape]
    ends = np.cumsum(np.array(sizes, object)).tolist()
    return [
        lax.slice_in_dim(x, end - size, end, axis=axis)
        for size, end in zip(sizes, ends, strict=True)
    ]


def _slice(x: Any, begin: Any, size: list[Any]) -> Any:
    if isinstance(begin, list):
        ends = [
            x.shape[axis] if n == -1 else first + n
            for axis, (first, n) in enumerate(zip(begin, size, strict=True))
        ]
        return lax.slice(x, begin, ends)
    sizes = [n if n != -1 else x.shape[axis] for axis, n in enumerate(size)]
    return lax.dynamic_slice(x, list(begin), sizes)


def _gather(x: Any, indices: Any, axis: Any, *, batch_dims: int) -> Any:
    def gather(x: Any, indices: Any) -> Any:
        return jnp.take(x, indices, axis=axis - batch_dims, mode="clip")

    axis += jnp.ndim(x) if axis < 0 else 0
    for _ in range(batch_dims or 0):
        gather = jax.vmap(gather)
    return gather(x, indices)


def _places(indices: Any) -> tuple[Any, ...]:
    return tuple(jnp.moveaxis(indices, -1, 0))


def _scatter(indices: Any, updates: Any, shape: list[Any]) -> Any:
    return jnp.zeros(shape, updates.dtype).at[_places(indices)].add(updates)


def _scattered(method: str) -> Callable[..., Any]:
    return lambda x, indices, updates: getattr(x.at[_places(indices)], method)(updates)


def _updated(x: Any, update: Any, indices: Any) -> Any:
    """Returns `x` with a block replaced, which is moved until it fits."""
    room = np.array(x.shape) - np.array(update.shape)
    starts = jnp.clip(indices, 0, jnp.asarray(room, indices.dtype))
    return lax.dynamic_update_slice(x, update.astype(x.dtype), list(starts))


def _block(x: Any, begin: Any, shape: list[Any]) -> Any:
    """Returns a block of `x`, which is moved until it fits."""
    starts = jnp.asarray(begin)
    room = np.array(x.shape) - np.array(shape)
    return lax.dynamic_slice(x, list(jnp.clip(starts, 0, jnp.asarray(room, starts.dtype))), shape)


def _bucket(x: Any, *, boundaries: list[float]) -> Any:
    edges = jnp.asarray(np.array(boundaries, "float32"))
    return jnp.searchsorted(edges, x.astype(jnp.float32), side="right").astype(jnp.int32)


def _segments(method: str, start: Callable[[Any], Any]) -> Callable[..., Any]:
    def joined(x: Any, ids: Any, num_segments: Any) -> Any:
        rest = x.shape[jnp.ndim(ids) :]
        result = jnp.full((num_segments, *rest), start(x.dtype), x.dtype)
        # Negative indices name no segment; JAX would count them from the end.
        return getattr(result.at[jnp.where(ids < 0, num_segments, ids)], method)(x, mode="drop")

    return joined


def _limits(dtype: Any) -> Any:
    return jnp.iinfo(dtype) if jnp.issubdtype(dtype, jnp.integer) else jnp.finfo(dtype)


def _search(side: str) -> Callable[..., Any]:
    def places(rows: Any, values: Any, *, out_type: str) -> Any:
        search = jax.vmap(functools.partial(jnp.searchsorted, side=side))
        return search(rows, values).astype(dtype_of(out_type))

    return places


def _lower_upper(x: Any, *, output_idx_type: str) -> list[Any]:
    factors, _, order = lax.linalg.lu(x)
    return [factors, order.astype(dtype_of(output_idx_type))]


def _top_k(x: Any, k: Any, *, index_type: str) -> list[Any]:
    values, places = lax.top_k(x, k)
    return [values, places.astype(dtype_of(index_type))]


def _bin_count(x: Any, size: Any, weights: Any, *, binary_output: bool) -> Any:
    def counts(row: Any, weight: Any) -> Any:
        zeros = jnp.zeros((size,), weights.dtype)
        if binary_output:
            return zeros.at[row].set(1, mode="drop")
        return zeros.at[row].add(weight, mode="drop")

    given = weights if jnp.size(weights) else jnp.ones(x.shape, weights.dtype)
    return counts(x, given) if jnp.ndim(x) == 1 else jax.vmap(counts)(x, given)


# --- Matrices -----------------------------------------------------------------------------------------


def _batch_mat_mul(a: Any, b: Any, *, adj_x: bool, adj_y: bool, Tout: str | None) -> Any:
    a, b = turned(KIT, a, adj_x), turned(KIT, b, adj_y)
    return a @ b if Tout is None else jnp.matmul(a, b, preferred_element_type=dtype_of(Tout))


def _triangular_solve(matrix: Any, right: Any, *, lower: bool, adjoint: bool) -> Any:
    batch = jnp.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix = jnp.broadcast_to(matrix, (*batch, *matrix.shape[-2:]))
    right = jnp.broadcast_to(right, (*batch, *right.shape[-2:]))
    return lax.linalg.triangular_solve(
        matrix, right, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
    )


# --- Networks -----------------------------------------------------------------------------------------


def _sparse_cross_entropy(logits: Any, labels: Any) -> list[Any]:
    logs = jax.nn.log_softmax(logits)
    loss = -jnp.squeeze(jnp.take_along_axis(logs, labels[:, None], -1, mode="fill"), -1)
    hot = jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype)
    return [loss, lax.stop_gradient(jnp.exp(logs) - hot)]


def _range(start: Any, limit: Any, delta: Any, *, Tidx: str) -> Any:
    if all(isinstance(it, (int, float)) for it in (start, limit, delta)):
        return jnp.asarray(np.arange(start, limit, delta), dtype_of(Tidx))
    return jnp.arange(start, limit, delta, dtype=dtype_of(Tidx))  # To a size that is a symbol.


def _integer_hash(x: Any, *, num_buckets: int) -> Any:
    """Returns the bucket of each integer, by the hash of its decimal string."""
    if num_buckets >= 2**31:
        raise ConversionError(
            f"JAX has integers of 32 bits, and the hash has {num_buckets} buckets."
        )
    digits = 10 if x.dtype.itemsize <= 4 else 19
    ten = jnp.asarray(10, x.dtype)
    characters, length = hashing.decimal(
        x, digits, jnp.where, lambda it: lax.div(it, ten), lambda it: it.astype(jnp.uint32)
    )
    high, low = hashing.farmhash(characters, length, jnp.where)
    limit = jnp.uint32(num_buckets)

    def step(n: Any, rest: Any) -> Any:
        word, place = jnp.where(n < 32, high, low), jnp.uint32(31) - n % jnp.uint32(32)
        rest = rest * 2 + ((word >> place) & 1)
        return jnp.where(rest >= limit, rest - limit, rest)

    rest = lax.fori_loop(jnp.uint32(0), jnp.uint32(64), step, jnp.zeros_like(low))
    return rest.astype(dtype_of("int64"))


def _bitcast(x: Any, *, type: str) -> Any:
    if dtype_of(type).itemsize != jnp.dtype(type).itemsize:
        raise ConversionError(
            f"The call reads bits as {type}, and JAX computes in {dtype_of(type)}. Let it use 64 bits before "
            "anything else: jax.config.update('jax_enable_x64', True)"
        )
    return lax.bitcast_convert_type(x, dtype_of(type))


# --- Random numbers -----------------------------------------------------------------------------------


def _words(shape: list[Any], key: Any, counter: Any, alg: Any, *, dtype: str) -> Any:
    words = philox.bits(math.prod(shape), key, counter).reshape(shape)
    return lax.bitcast_convert_type(words, dtype_of(dtype))


def _integers(
    shape: list[Any], key: Any, counter: Any, alg: Any, low: Any, high: Any, *, dtype: str
) -> Any:
    draw = philox.wide_integers if dtype in ("int64", "uint64") else philox.integers
    return draw(shape, key, counter, low, high)


# JAX's own draws have other values than TensorFlow's, with the same distribution.


def _own_key(key: Any, counter: Any) -> Any:
    return jax.random.wrap_key_data(key ^ counter, impl="threefry2x32")


def _gamma(shape: list[Any], key: Any, counter: Any, alg: Any, alpha: Any) -> Any:
    return jax.random.gamma(_own_key(key, counter), alpha, shape, alpha.dtype)


def _truncated_normal(shape: list[Any], key: Any, counter: Any, alg: Any, *, dtype: str) -> Any:
    return jax.random.truncated_normal(_own_key(key, counter), -2.0, 2.0, shape, dtype_of(dtype))


def _categorical(logits: Any, size: Any, seed: Any, *, output_dtype: str) -> Any:
    key = _own_key(*philox.key_and_counter(seed))
    drawn = jax.random.categorical(key, logits[:, None, :], -1, (logits.shape[0], size))
    return drawn.astype(dtype_of(output_dtype))


FORMULAS: dict[str, Callable[..., Any]] = {
    **alike(KIT),
    # Numbers
    "Abs": _absolute,
    "AddV2": lambda x, y: x + y,
    "Bitcast": _bitcast,
    "Cast": _cast,
    "ClipByValue": _clip,
    "Complex": _of_two(lax.complex),
    "LeftShift": _of_two(lax.shift_left),
    "Maximum": _maximum,
    "Minimum": _minimum,
    "Mul": lambda x, y: x * y,
    "Ndtri": lambda x: jax.scipy.special.ndtri(x),
    "Polygamma": lambda n, x: jax.scipy.special.polygamma(n, x),
    "Pow": lambda x, y: jnp.power(x, y),
    "RightShift": _of_two(
        lambda x, y: (
            lax.shift_right_logical(x, y)
            if jnp.issubdtype(x.dtype, jnp.unsignedinteger)
            else lax.shift_right_arithmetic(x, y)
        )
    ),
    "Sub": lambda x, y: x - y,
    "TruncateDiv": _of_two(lax.div),
    "ZerosLike": lambda x: jax.tree.map(jnp.zeros_like, x),
    # Along axes
    "All": _along(jnp.all),
    "Any": _along(jnp.any),
    "ArgMax": _position(jnp.argmax),
    "ArgMin": _position(jnp.argmin),
    "EuclideanNorm": _along(_euclidean_norm),
    "Max": _along(jnp.max),
    "Mean": _along(jnp.mean),
    "Min": _along(jnp.min),
    "Prod": _along(jnp.prod),
    "Sum": _along(jnp.sum),
    "TopKV2": _top_k,
    # Shapes and indices
    "Bucketize": _bucket,
    "DenseBincount": _bin_count,
    "Empty": lambda shape, *, dtype: jnp.zeros(shape, dtype_of(dtype)),
    "ExpandDims": lambda x, axis: jnp.expand_dims(x, int(np.ravel(axis)[0])),
    "Fill": lambda shape, value: jnp.full(shape, value),
    "GatherNd": lambda x, indices: x[_places(indices)],
    "GatherV2": _gather,
    "InplaceUpdate": lambda x, rows, values: x.at[rows].set(values),
    JAX_FUNCTION: lambda values, *, function: [*function.flat(values), *values],
    "LinSpace": lambda begin, end, size: jnp.linspace(
        begin, end, size, dtype=jnp.asarray(begin).dtype
    ),
    "LowerBound": _search("left"),
    "MirrorPad": lambda x, paddings, *, mode: jnp.pad(
        x, [tuple(pair) for pair in paddings], mode=mode.lower()
    ),
    "Pad": padded,
    "PadV2": lambda x, paddings, value: padded(x, paddings, value),
    "Range": _range,
    "Reshape": lambda x, shape: jnp.reshape(x, shape),
    "ScatterNd": _scatter,
    "Slice": _slice,
    "Split": lambda axis, x, *, num_split: jnp.split(x, num_split, axis),
    "SplitV": _split_at,
    "Squeeze": _squeeze,
    "StridedSlice": strided_slice,
    "TensorScatterAdd": _scattered("add"),
    "TensorScatterMax": _scattered("max"),
    "TensorScatterMin": _scattered("min"),
    "TensorScatterSub": lambda x, indices, updates: x.at[_places(indices)].add(-updates),
    "TensorScatterUpdate": _scattered("set"),
    "Transpose": lambda x, perm: jnp.transpose(x, perm),
    "Unpack": _unpack,
    "UnsortedSegmentMax": _segments("max", lambda dtype: _limits(dtype).min),
    "UnsortedSegmentMin": _segments("min", lambda dtype: _limits(dtype).max),
    "UnsortedSegmentProd": _segments("multiply", lambda dtype: 1),
    "UnsortedSegmentSum": _segments("add", lambda dtype: 0),
    "UpperBound": _search("right"),
    "XlaDynamicSlice": _block,
    "XlaDynamicUpdateSlice": _updated,
    # Lists
    "TensorListFromTensor": lists.from_tensor,
    "TensorListGetItem": lists.get_item,
    "TensorListLength": lambda items: jnp.asarray(items.length, jnp.int32),
    "TensorListReserve": lambda element_shape, num_elements, *, element_dtype: lists.reserve(
        element_shape, num_elements, element_dtype=str(dtype_of(element_dtype))
    ),
    "TensorListSetItem": lists.set_item,
    "TensorListStack": lists.stack,
    # Matrices
    "BatchMatMulV2": _batch_mat_mul,
    "BatchMatMulV3": _batch_mat_mul,
    "Einsum": lambda values, *, equation: jnp.einsum(equation, *values),
    "Lu": _lower_upper,
    "MatrixTriangularSolve": _triangular_solve,
    # Networks
    "AvgPool": neighbours.average_pool,
    "AvgPool3D": neighbours.average_pool,
    "IntegerHash": _integer_hash,
    "LSTM": recurrence.lstm,  # Of several operations: the loop over time.
    "Conv2D": neighbours.convolution,
    "Conv2DBackpropInput": neighbours.transposed_convolution,
    "Conv3D": neighbours.convolution,
    "Conv3DBackpropInputV2": neighbours.transposed_convolution,
    "DepthwiseConv2dNative": neighbours.depthwise_convolution,
    "ExtractImagePatches": neighbours.patches,
    "LeakyRelu": lambda x, *, alpha: jnp.where(x > 0, x, x * alpha),
    "MaxPool": neighbours.max_pool,
    "MaxPool3D": neighbours.max_pool,
    "PreventGradient": lambda x: lax.stop_gradient(x),
    "Relu6": lambda x: jnp.where(x >= 6, 6, jax.nn.relu(x)).astype(x.dtype),
    "Softplus": lambda x: jax.nn.softplus(x),
    "Softsign": lambda x: jax.nn.soft_sign(x),
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    # Random numbers
    "StatelessMultinomial": _categorical,
    "StatelessRandomGammaV3": _gamma,
    "StatelessRandomUniformFullIntV2": _words,
    "StatelessRandomUniformIntV2": _integers,
    "StatelessTruncatedNormalV2": _truncated_normal,
}


FORMULAS |= gradients.gradients(FORMULAS, KIT) | segments(FORMULAS, KIT)
