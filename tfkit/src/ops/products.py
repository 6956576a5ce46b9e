"""Sums of products: matrix products and related operations."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine import tensorflow_faults
from tfkit.src.ops.convolution import convolve
from tfkit.src.ops.promotion import (
    as_tensor,
    cast,
    common_dtype,
    promote_tensors,
    to_float,
    to_float32,
    to_wide_float,
)
from tfkit.src.ops.shaping import moveaxis, static_or_dynamic_shape
from tfkit.src.ops.sparse import is_sparse
from tfkit.src.ops.sparse import matmul as sparse_matmul
from tfkit.src.symbolic.tensors import symbolic_op


def _promote_for_product(x1: Any, x2: Any) -> Any:
    """Returns both operands in a dtype that TensorFlow multiplies, and the dtype of the result."""
    x1, x2 = promote_tensors(x1, x2)
    return to_float(x1), to_float(x2), x1.dtype


@symbolic_op
def matmul(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the matrix product over the last two axes.

    It is `sum(x1[..., i, k] * x2[..., k, j])` over `k`.

    Args:
        x1: a tensor of shape `(..., n, k)`, or a vector of `k` elements, which counts as a row.
        x2: a tensor of shape `(..., k, m)`, or a vector of `k` elements, which counts as a
            column. Leading axes broadcast.

    Returns:
        A tensor of shape `(..., n, m)`, without the axis that a vector lacks, of the common dtype
        of both. Integers are multiplied as floats of the default dtype and cast back; int8 times
        int8 gives int32. The product of two sparse tensors is sparse.

    Example:
        >>> ops.matmul([[1, 2], [3, 4]], [[1, 0], [1, 1]]).numpy().tolist()
        [[3, 2], [7, 4]]
        >>> ops.matmul([[1, 2], [3, 4]], [1, 10]).numpy().tolist()
        [21, 43]
    """
    if is_sparse(x1) or is_sparse(x2):
        dtype = common_dtype(as_tensor(x1).dtype, as_tensor(x2).dtype, float)
        return sparse_matmul(cast(x1, dtype), cast(x2, dtype))
    x1, x2 = as_tensor(x1), as_tensor(x2)
    rank1, rank2 = x1.shape.rank, x2.shape.rank
    if x1.dtype == x2.dtype == tf.int8 and rank1 != 1 and rank2 != 1:
        # Sums of products of int8 do not fit into int8.
        return tf.matmul(x1, x2, output_type=tf.int32)
    x1, x2, dtype = _promote_for_product(x1, x2)
    if rank2 == 1:
        result = tf.tensordot(x1, x2, 1)
    elif rank1 == 1:
        result = tf.tensordot(x1, x2, [[0], [-2]])
    elif rank2 == 2 and rank1 is not None and rank1 > 2:
        # One large product is faster than many small ones.
        result = tf.tensordot(x1, x2, [[-1], [0]])
    else:
        result = tf.matmul(x1, x2)
    return tf.cast(result, dtype)


@symbolic_op
def dot(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the sum of products over the last axis of `x1` and the last but one of `x2`.

    Of two vectors it is their scalar product, of two matrices the matrix product; with a number
    it is a product element by element.

    Args:
        x1: a tensor of any shape.
        x2: a tensor of any shape; the only axis of a vector is summed over.

    Returns:
        A tensor of the common dtype of both; integers are multiplied as floats of the default
        dtype and cast back, so that large sums are rounded. Its shape is the shape of `x1` without
        its last axis, then the shape of `x2` without the other axis.

    Example:
        >>> ops.dot([1, 2, 3], [4, 5, 6]).numpy().tolist()
        32
        >>> ops.dot(tf.ones((2, 3)), tf.ones((4, 3, 5))).shape
        TensorShape([2, 4, 5])
    """
    x1, x2, dtype = _promote_for_product(x1, x2)
    if x1.shape.rank == 0 or x2.shape.rank == 0:
        return tf.cast(x1 * x2, dtype)
    return tf.cast(tf.tensordot(x1, x2, [[-1], [-1 if x2.shape.rank == 1 else -2]]), dtype)


@symbolic_op
def inner(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the sum of products over the last axes of both.

    With a number it is a product element by element.

    Args:
        x1: a tensor of shape `(..., k)`.
        x2: a tensor of shape `(..., k)`.

    Returns:
        A tensor of the common dtype of both; integers are multiplied as floats of the default
        dtype and cast back, so that large sums are rounded. Its shape is the shape of `x1` without
        its last axis, then the shape of `x2` without its last axis.

    Raises:
        ValueError: when the last axes differ in size.

    Example:
        >>> ops.inner([1, 2, 3], [4, 5, 6]).numpy().tolist()
        32
        >>> ops.inner(tf.ones((2, 3)), tf.ones((4, 3))).shape
        TensorShape([2, 4])
    """
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
    """Returns the sum of products of all elements of two tensors, as one number.

    Unlike NumPy's and like Keras's, it does not conjugate complex numbers.

    Args:
        x1: a tensor of any shape.
        x2: a tensor with as many elements, which are taken in order.

    Returns:
        A scalar of the common dtype of both.

    Example:
        >>> ops.vdot([[1, 2], [3, 4]], [[1, 0], [0, 1]]).numpy().tolist()
        5
    """
    x1, x2, dtype = _promote_for_product(x1, x2)
    return tf.cast(tf.tensordot(tf.reshape(x1, [-1]), tf.reshape(x2, [-1]), 1), dtype)


@symbolic_op
def outer(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the product of each element of `x1` with each element of `x2`, as a matrix.

    Args:
        x1: a tensor of any shape with `n` elements.
        x2: a tensor of any shape with `m` elements.

    Returns:
        A tensor of shape `(n, m)` and of the common dtype of both.

    Example:
        >>> ops.outer([1, 2], [3, 4, 5]).numpy().tolist()
        [[3, 4, 5], [6, 8, 10]]
    """
    x1, x2 = promote_tensors(x1, x2)
    return tf.reshape(x1, [-1, 1]) * tf.reshape(x2, [-1])


@symbolic_op
def tensordot(x1: Any, x2: Any, axes: Any = 2) -> tf.Tensor:
    """Returns the sum of products over pairs of axes of two tensors.

    Args:
        x1: a tensor of any shape.
        x2: a tensor of any shape.
        axes: number of last axes of `x1` that meet the first axes of `x2`, or two lists: axes of
            `x1`, and the axes of `x2` that they meet. Default: `2`.

    Returns:
        A tensor of the common dtype of both; integers of fewer than 32 bits are multiplied as
        floats of the default dtype and cast back. Its axes are the remaining axes of `x1`, then the
        remaining axes of `x2`.

    Example:
        >>> ops.tensordot(tf.ones((2, 3, 4)), tf.ones((3, 4, 5))).shape
        TensorShape([2, 5])
        >>> ops.tensordot([[1, 2], [3, 4]], [[1, 10]], axes=[[1], [1]]).numpy().tolist()
        [[21], [43]]
    """
    x1, x2 = promote_tensors(x1, x2)
    dtype = x1.dtype
    if dtype not in (tf.int32, tf.int64):
        x1, x2 = to_float(x1), to_float(x2)
    return tf.cast(tf.tensordot(x1, x2, axes), dtype)


@symbolic_op
def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> tf.Tensor:
    """Returns the sum of products that a formula in Einstein's notation describes.

    Args:
        subscripts: one letter for each axis of each operand, then the letters of the result:
            `"ij,jk->ik"`. Letters that the result lacks are summed over; `...` means axes
            that broadcast. Without an arrow the result has the letters that occur once, in
            alphabetical order.
        *operands: tensors, one for each group of letters.
        **kwargs: `optimize`, the option of `tf.einsum`.

    Returns:
        A tensor of the common dtype of both; integers are multiplied as floats of the default
        dtype and cast back, so that large sums are rounded. Operands that are all of int8 give
        int32.

    Example:
        >>> ops.einsum("i,i->", [1, 2, 3], [4, 5, 6]).numpy().tolist()
        32
        >>> ops.einsum("bij,jk->bik", tf.ones((2, 3, 4)), tf.ones((4, 5))).shape
        TensorShape([2, 3, 5])
    """
    operands = tuple(map(as_tensor, operands))
    dtype = tf.int32 if all(x.dtype == tf.int8 for x in operands) else None
    operands = promote_tensors(*operands)
    dtype = dtype or operands[0].dtype
    if "..." in subscripts and "->" not in subscripts:
        # The same order as NumPy's: broadcast axes, then the letters that occur once, in order.
        letters = [c for c in subscripts if c.isalpha()]
        subscripts += "->..." + "".join(sorted(c for c in letters if letters.count(c) == 1))
    result = tensorflow_faults.einsum(subscripts, *map(to_float, operands), **kwargs)
    return tf.cast(result, dtype)


@symbolic_op
def cross(
    x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> tf.Tensor:
    """Returns the vector product: a vector at right angles to both.

    Args:
        x1: vectors of 2 or 3 elements along the axis `axisa`. The third element of a vector of 2
            elements is 0.
        x2: vectors of 2 or 3 elements along the axis `axisb`; the other axes broadcast with the
            other axes of `x1`.
        axisa: axis of the vectors in `x1`. Default: `-1`.
        axisb: axis of the vectors in `x2`. Default: `-1`.
        axisc: axis of the vectors in the result. Default: `-1`.
        axis: axis of the vectors in all three, if it is not `None`.

    Returns:
        A tensor of the common dtype of both. If all vectors have 2 elements, it has only the third
        elements, without an axis for them.

    Example:
        >>> ops.cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
        [0, 0, 1]
        >>> ops.cross([1, 2], [3, 4]).numpy().tolist()
        -2
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = promote_tensors(x1, x2)
    x1, x2 = moveaxis(x1, axisa, -1), moveaxis(x2, axisb, -1)
    planar = x1.shape[-1] == 2 and x2.shape[-1] == 2
    # Vectors of the plane have a third component of 0.
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
    """Returns the correlation of two vectors: their sums of products at every shift of one of them.

    For the shift `n` that is `sum(x1[n + i] * x2[i])` over `i`.

    Args:
        x1: a vector.
        x2: a vector.
        mode: `"valid"` (shifts with full overlap), `"same"` (as many as the longer vector has
            elements) or `"full"` (all shifts with some overlap). Default: `"valid"`.

    Returns:
        A vector of the common float dtype of both: float64 for int64, the default one for other
        integers.

    Raises:
        ValueError: for any other mode.

    Example:
        >>> ops.correlate([1, 2, 3], [0, 1, 0.5]).numpy().tolist()
        [3.5]
        >>> ops.correlate([1, 2, 3], [0, 1, 0.5], mode="full").numpy().tolist()
        [0.5, 2.0, 3.5, 3.0, 0.0]
    """
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"`mode` must be 'valid', 'same' or 'full'. Received: mode={mode!r}")
    x1, x2 = map(to_wide_float, promote_tensors(x1, x2))
    length1, length2 = x1.shape[0], x2.shape[0]
    if mode == "valid" and None not in (length1, length2) and length1 < length2:
        return tf.reverse(correlate(x2, x1), [0])  # The shorter one moves along the longer one.
    if mode != "valid":
        # "full" begins and ends where only one element overlaps.
        x1 = tf.pad(x1, [[length2 - 1, length2 - 1]])
    # TensorFlow's convolutions are correlations: the kernel is not turned.
    result = convolve(x1[None, :, None], x2[:, None, None], 1, "VALID", 1)[0, :, 0]
    if mode != "same":
        return result
    length = max(length1, length2)
    start = (length1 + length2 - 1 - length) // 2
    return result[start : start + length]


@symbolic_op
def corrcoef(x: Any) -> tf.Tensor:
    """Returns Pearson's correlation coefficients between the rows of a matrix.

    They are the covariances divided by the standard deviations of both rows.

    Args:
        x: a matrix whose rows are variables and whose columns are observations, or one vector.
            Integers are cast to floats.

    Returns:
        A square matrix with values in [-1, 1], of the float dtype of `x`; NaN for a row of equal
        values.

    Example:
        >>> ops.corrcoef([[1, 2, 3], [3, 2, 1]]).numpy().round(4).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    x = to_wide_float(x)
    dtype, x = x.dtype, to_float32(x)
    centered = x - tf.reduce_mean(x, -1, keepdims=True)  # (variables, observations)
    covariance = tf.tensordot(centered, centered, [[-1], [-1]])
    deviation = tf.sqrt(tf.linalg.diag_part(covariance) if x.shape.rank > 1 else covariance)
    scale = tf.tensordot(deviation, deviation, 0)
    return tf.cast(tf.clip_by_value(covariance / scale, -1.0, 1.0), dtype)


@symbolic_op
def kron(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the Kronecker product: each element of `x1` replaced by its product with all of `x2`.

    Args:
        x1: a tensor of any shape.
        x2: a tensor of any shape; axes of size 1 are prepended to the shape of the one with fewer
            axes.

    Returns:
        A tensor of the common dtype of both; each size is the product of the sizes of both.

    Example:
        >>> ops.kron([[1, 10]], [[1, 2], [3, 4]]).numpy().tolist()
        [[1, 2, 10, 20], [3, 4, 30, 40]]
    """
    x1, x2 = promote_tensors(x1, x2)
    ndim = max(x1.shape.rank, x2.shape.rank)
    shape1, shape2 = ((1,) * (ndim - x.shape.rank) + static_or_dynamic_shape(x) for x in (x1, x2))
    # Axes of both operands in turn, each with size 1 in the other: the broadcast product has all
    # pairs.
    spread1 = [size for pair in zip(shape1, (1,) * ndim, strict=True) for size in pair]
    spread2 = [size for pair in zip((1,) * ndim, shape2, strict=True) for size in pair]
    product = tf.reshape(x1, spread1) * tf.reshape(x2, spread2)
    return tf.reshape(product, [a * b for a, b in zip(shape1, shape2, strict=True)])
