"""Sums of products: matrix products and their relatives."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import tensorflow_faults
from tfkit.ops.convolution import convolve
from tfkit.ops.promotion import as_tensor, cast, common_dtype, promote_tensors, to_float
from tfkit.ops.shaping import moveaxis, static_or_dynamic_shape
from tfkit.ops.sparse import is_sparse
from tfkit.ops.sparse import matmul as sparse_matmul
from tfkit.symbolic import symbolic_op


def _promote_for_product(x1: Any, x2: Any) -> Any:
    """Both operands in a dtype that TensorFlow multiplies, and the dtype of the result."""
    x1, x2 = promote_tensors(x1, x2)
    return to_float(x1), to_float(x2), x1.dtype


@symbolic_op
def matmul(x1: Any, x2: Any) -> tf.Tensor:
    """The matrix product over the last two axes; a vector is a row (left) or column (right).

    Integers are multiplied as floats and cast back; `int8` times `int8` gives `int32`. The product
    of two sparse tensors is sparse.
    """
    if is_sparse(x1) or is_sparse(x2):
        dtype = common_dtype(as_tensor(x1).dtype, as_tensor(x2).dtype, float)
        return sparse_matmul(cast(x1, dtype), cast(x2, dtype))
    x1, x2 = as_tensor(x1), as_tensor(x2)
    rank1, rank2 = x1.shape.rank, x2.shape.rank
    if x1.dtype == x2.dtype == tf.int8 and rank1 != 1 and rank2 != 1:
        return tf.matmul(x1, x2, output_type=tf.int32)
    x1, x2, dtype = _promote_for_product(x1, x2)
    if rank2 == 1:
        result = tf.tensordot(x1, x2, 1)
    elif rank1 == 1:
        result = tf.tensordot(x1, x2, [[0], [-2]])
    elif rank2 == 2 and rank1 is not None and rank1 > 2:
        result = tf.tensordot(x1, x2, [[-1], [0]])  # One large product beats many small ones.
    else:
        result = tf.matmul(x1, x2)
    return tf.cast(result, dtype)


@symbolic_op
def dot(x1: Any, x2: Any) -> tf.Tensor:
    """The sum of products over the last axis of `x1` and the last but one of `x2`."""
    x1, x2, dtype = _promote_for_product(x1, x2)
    if x1.shape.rank == 0 or x2.shape.rank == 0:
        return tf.cast(x1 * x2, dtype)
    return tf.cast(tf.tensordot(x1, x2, [[-1], [-1 if x2.shape.rank == 1 else -2]]), dtype)


@symbolic_op
def inner(x1: Any, x2: Any) -> tf.Tensor:
    """The sum of products over the last axes of both."""
    x1, x2, dtype = _promote_for_product(x1, x2)
    if x1.shape.rank == 0 or x2.shape.rank == 0:
        return tf.cast(x1 * x2, dtype)
    if not x1.shape[-1:].is_compatible_with(x2.shape[-1:]):
        raise ValueError(
            "The last dimension of `x1` and of `x2` must be equal. "
            f"Received: x1.shape={x1.shape}, x2.shape={x2.shape}"
        )
    return tf.cast(tf.tensordot(x1, x2, [[-1], [-1]]), dtype)


@symbolic_op
def vdot(x1: Any, x2: Any) -> tf.Tensor:
    """The sum of products of all elements of both."""
    x1, x2, dtype = _promote_for_product(x1, x2)
    return tf.cast(tf.tensordot(tf.reshape(x1, [-1]), tf.reshape(x2, [-1]), 1), dtype)


@symbolic_op
def outer(x1: Any, x2: Any) -> tf.Tensor:
    """Each element of `x1` times each element of `x2`, as a matrix."""
    x1, x2 = promote_tensors(x1, x2)
    return tf.reshape(x1, [-1, 1]) * tf.reshape(x2, [-1])


@symbolic_op
def tensordot(x1: Any, x2: Any, axes: Any = 2) -> tf.Tensor:
    """The sum of products over pairs of axes.

    Args:
        x1: a tensor.
        x2: a tensor.
        axes: how many last axes of `x1` meet the first axes of `x2`, or two lists of axes.
    """
    x1, x2, dtype = _promote_for_product(x1, x2)
    return tf.cast(tf.tensordot(x1, x2, axes), dtype)


@symbolic_op
def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> tf.Tensor:
    """The sum of products that Einstein's notation describes.

    Args:
        subscripts: axes of the operands by letter and of the result: `"ij,jk->ik"`.
        *operands: tensors.
        **kwargs: `optimize`, as `tf.einsum` takes it.

    Example:
        >>> int(einsum("i,i->", [1, 2, 3], [4, 5, 6]))
        32
    """
    operands = tuple(map(as_tensor, operands))
    dtype = tf.int32 if all(x.dtype == tf.int8 for x in operands) else None
    operands = promote_tensors(*operands)
    dtype = dtype or operands[0].dtype
    if "..." in subscripts and "->" not in subscripts:
        # As NumPy has it: what broadcasts, then the letters that occur once, in order.
        letters = [c for c in subscripts if c.isalpha()]
        subscripts += "->..." + "".join(sorted(c for c in letters if letters.count(c) == 1))
    result = tensorflow_faults.einsum(subscripts, *map(to_float, operands), **kwargs)
    return tf.cast(result, dtype)


@symbolic_op
def cross(
    x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> tf.Tensor:
    """The vector product; vectors of 2 elements lie in the plane, and two such give a number.

    Args:
        x1: vectors along the axis `axisa`.
        x2: vectors along the axis `axisb`.
        axisa: see `x1`.
        axisb: see `x2`.
        axisc: where the vectors of the result stand.
        axis: stands for all three.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = promote_tensors(x1, x2)
    x1, x2 = moveaxis(x1, axisa, -1), moveaxis(x2, axisb, -1)
    planar = x1.shape[-1] == 2 and x2.shape[-1] == 2
    x1, x2 = (
        tf.concat([x, tf.zeros_like(x[..., :1])], -1) if x.shape[-1] == 2 else x for x in (x1, x2)
    )
    shape = tf.broadcast_dynamic_shape(tf.shape(x1), tf.shape(x2))
    static_shape = tf.broadcast_static_shape(x1.shape, x2.shape)
    x1, x2 = (tf.ensure_shape(tf.broadcast_to(x, shape), static_shape) for x in (x1, x2))
    result = tf.linalg.cross(x1, x2)
    return result[..., 2] if planar else moveaxis(result, -1, axisc)


@symbolic_op
def correlate(x1: Any, x2: Any, mode: str = "valid") -> tf.Tensor:
    """The sum of products of `x2` and the stretch of `x1` under it, for every shift.

    Args:
        x1: a vector.
        x2: a vector.
        mode: `"valid"` (full overlap), `"same"` (as long as the longer one) or `"full"`.

    Raises:
        ValueError: for another mode.
    """
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"`mode` must be 'valid', 'same' or 'full'. Received: mode={mode!r}")
    x1, x2 = promote_tensors(x1, x2)
    dtype = tf.float64 if x1.dtype == tf.int64 else to_float(x1).dtype
    x1, x2 = tf.cast(x1, dtype), tf.cast(x2, dtype)
    length1, length2 = x1.shape[0], x2.shape[0]
    if mode == "valid" and None not in (length1, length2) and length1 < length2:
        return tf.reverse(correlate(x2, x1), [0])  # The shorter one moves along the longer one.
    if mode != "valid":
        x1 = tf.pad(x1, [[length2 - 1, length2 - 1]])
    result = convolve(x1[None, :, None], x2[:, None, None], 1, "VALID", 1)[0, :, 0]
    if mode != "same":
        return result
    length = max(length1, length2)
    start = (length1 + length2 - 1 - length) // 2
    return result[start : start + length]


@symbolic_op
def corrcoef(x: Any) -> tf.Tensor:
    """Pearson's correlation between the rows of `x`."""
    x = as_tensor(x)
    x = tf.cast(x, tf.float64) if x.dtype == tf.int64 else to_float(x)
    centered = x - tf.reduce_mean(x, -1, keepdims=True)
    covariance = tf.tensordot(centered, centered, [[-1], [-1]])
    deviation = tf.sqrt(tf.linalg.diag_part(covariance) if x.shape.rank > 1 else covariance)
    scale = tf.tensordot(deviation, deviation, 0)
    return tf.clip_by_value(covariance / scale, -1.0, 1.0)


@symbolic_op
def kron(x1: Any, x2: Any) -> tf.Tensor:
    """The Kronecker product: each element of `x1` times the whole of `x2`."""
    x1, x2 = promote_tensors(x1, x2)
    ndim = max(x1.shape.rank, x2.shape.rank)
    shape1, shape2 = ((1,) * (ndim - x.shape.rank) + static_or_dynamic_shape(x) for x in (x1, x2))
    spread1 = [size for pair in zip(shape1, (1,) * ndim, strict=True) for size in pair]
    spread2 = [size for pair in zip((1,) * ndim, shape2, strict=True) for size in pair]
    product = tf.reshape(x1, spread1) * tf.reshape(x2, spread2)
    return tf.reshape(product, [a * b for a, b in zip(shape1, shape2, strict=True)])
