"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine.tensorflow_faults import matrix_of_diagonal
from tfkit.src.ops.promotion import as_tensor, widen_for_sum
from tfkit.src.ops.shaping import moveaxis, static_or_dynamic_shape
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def diag(x: Any, k: int = 0) -> tf.Tensor:
    """Returns a matrix with a given diagonal, or the diagonal of a matrix.

    Args:
        x: a vector of `n` elements, or a matrix.
        k: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.

    Returns:
        For a vector a matrix of size `n + abs(k)` with `x` on its diagonal `k` and zeros
        elsewhere; for a matrix the vector on its diagonal `k`. The dtype is the dtype of `x`.

    Raises:
        ValueError: when `x` is neither a vector nor a matrix.

    Example:
        >>> ops.diag([1, 2], k=1).numpy().tolist()
        [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
        >>> ops.diag([[1, 2], [3, 4]]).numpy().tolist()
        [1, 4]
    """
    x = as_tensor(x)
    if x.shape.rank not in (1, 2):
        raise ValueError(f"`x` must be 1d or 2d. Received: x.shape={x.shape}")
    return matrix_of_diagonal(x, k) if x.shape.rank == 1 else diagonal(x, k)


@symbolic_op
def diagflat(x: Any, k: int = 0) -> tf.Tensor:
    """Returns a matrix with all elements of a tensor, in order, on a diagonal and zeros elsewhere.

    Args:
        x: a tensor of any shape with `n` elements.
        k: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.

    Returns:
        A tensor of shape `(n + abs(k), n + abs(k))` and of the dtype of `x`.

    Example:
        >>> ops.diagflat([[1, 2]]).numpy().tolist()
        [[1, 0], [0, 2]]
    """
    return matrix_of_diagonal(tf.reshape(x, [-1]), k)


@symbolic_op
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> tf.Tensor:
    """Returns the diagonal of the matrices in two axes of a tensor.

    Args:
        x: a tensor with at least two axes.
        offset: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.
        axis1: axis of the rows. Default: `0`.
        axis2: axis of the columns. Default: `1`.

    Returns:
        A tensor of the dtype of `x`, without the two axes and with the diagonal as a new last
        one.

    Example:
        >>> ops.diagonal([[1, 2, 3], [4, 5, 6]], offset=1).numpy().tolist()
        [2, 6]
    """
    x = moveaxis(as_tensor(x), (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    if None not in (rows, columns) and not -rows < offset < columns:
        # A diagonal outside of the matrix is empty; TensorFlow's kernel refuses it.
        return tf.reshape(x[..., :0, :0], [*static_or_dynamic_shape(x)[:-2], 0])
    return tf.linalg.diag_part(x, k=offset)


@symbolic_op
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> tf.Tensor:
    """Returns the sum of the diagonal of the matrices in two axes of a tensor.

    Args:
        x: a tensor with at least two axes.
        offset: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.
        axis1: axis of the rows. Default: `0`.
        axis2: axis of the columns. Default: `1`.

    Returns:
        A tensor without the two axes, of the dtype of `x`; integers of 8 and 16 bits and bools
        are added up in 32 bits.

    Example:
        >>> ops.trace([[1, 2], [3, 4]]).numpy().tolist()
        5
    """
    return tf.reduce_sum(diagonal(widen_for_sum(x), offset, axis1, axis2), -1)


def _offsets(x: Any) -> tf.Tensor:
    """Returns the distances of the matrices' elements from the main diagonal, upwards."""
    shape = tf.shape(x)
    return tf.range(shape[-1])[None, :] - tf.range(shape[-2])[:, None]


@symbolic_op
def tril(x: Any, k: int = 0) -> tf.Tensor:
    """Returns the lower triangle of matrices: `x` with zeros above a diagonal.

    Args:
        x: a tensor of shape `(..., rows, columns)`.
        k: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Example:
        >>> ops.tril([[1, 2, 3], [4, 5, 6]]).numpy().tolist()
        [[1, 0, 0], [4, 5, 0]]
        >>> ops.tril([[1, 2], [3, 4]], k=-1).numpy().tolist()
        [[0, 0], [3, 0]]
    """
    x = as_tensor(x)
    if isinstance(k, int) and k >= 0:
        return tf.linalg.band_part(x, -1, k)
    # `band_part` cannot leave out the main diagonal.
    return tf.where(_offsets(x) <= k, x, tf.zeros_like(x))


@symbolic_op
def triu(x: Any, k: int = 0) -> tf.Tensor:
    """Returns the upper triangle of matrices: `x` with zeros below a diagonal.

    Args:
        x: a tensor of shape `(..., rows, columns)`.
        k: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Example:
        >>> ops.triu([[1, 2, 3], [4, 5, 6]]).numpy().tolist()
        [[1, 2, 3], [0, 5, 6]]
        >>> ops.triu([[1, 2], [3, 4]], k=1).numpy().tolist()
        [[0, 2], [0, 0]]
    """
    x = as_tensor(x)
    if isinstance(k, int) and k <= 0:
        return tf.linalg.band_part(x, -k, -1)
    return tf.where(_offsets(x) >= k, x, tf.zeros_like(x))
