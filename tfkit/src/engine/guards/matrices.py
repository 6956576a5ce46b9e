"""Checks of matrices that must be invertible, or finite.

TensorFlow's kernel refuses a matrix when elimination meets a pivot of exactly zero. XLA computes by other
steps and returns finite values there: a singular float32 matrix of two rows has an "inverse" of 1.5e7. What
elimination computes is exact for a matrix that differs from the given one by rounding. So it cannot meet a
zero if there is an inverse and the condition number is well below the inverse of the rounding unit. Both are
checked. Matrices that are nearly singular are thus left to TensorFlow, which may accept them.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tfkit.src.engine.guards.check import Check, Operation

# The required distance from the rounding limit, which grows with the number of rows.
_MARGIN = 10.0


def _invertible(matrix: tf.Tensor, inverse: tf.Tensor, adjoint: bool = False) -> tf.Tensor:
    real = matrix.dtype.real_dtype
    rows = tf.shape(matrix)[-1]
    # XLA's inverse of a matrix of very small values (1e-30) is wrong, so the inverse itself is checked.
    unit = tf.matmul(matrix, inverse, adjoint_a=adjoint)
    difference = _sizes(unit - tf.eye(rows, dtype=matrix.dtype))
    margin = tf.cast(_MARGIN * np.finfo(real.as_numpy_dtype).eps, real) * tf.cast(rows, real)
    # Each pair of columns is compared, without a maximum: XLA's maximum of NaN and a value may be the value.
    condition = _sizes(matrix)[..., :, tf.newaxis] * _sizes(inverse)[..., tf.newaxis, :]
    # The product of the norms is the condition number: if it is near 1 / eps, the inverse has no
    # correct digit, whether LU met an exact zero or not.
    return tf.reduce_all(difference < 0.5) & tf.reduce_all(condition * margin < 1)


def _sizes(matrix: tf.Tensor) -> tf.Tensor:
    """Returns the sum of the magnitudes in each column: without squares, which could underflow to zero."""
    return tf.reduce_sum(tf.abs(matrix), -2)


def _inverse(op: Operation) -> tf.Tensor:
    return _invertible(op.inputs[0], op.outputs[0], op.attr["adjoint"].b)


def _solve(op: Operation) -> tf.Tensor:
    matrix, right = op.inputs
    # The outputs do not contain the inverse, so it is computed for the check.
    same = tf.shape(matrix)[:-1] == tf.shape(right)[:-1]
    return _invertible(matrix, tf.linalg.inv(matrix)) & tf.reduce_all(same)


def _finite(op: Operation) -> tf.Tensor:
    # The magnitude of a complex number that is not finite is not finite either.
    return tf.reduce_all(tf.math.is_finite(tf.abs(op.inputs[0])))


MATRICES = {
    "MatrixInverse": Check("a singular matrix", _inverse),
    "MatrixSolve": Check("a singular matrix", _solve),
    "SelfAdjointEigV2": Check("a matrix with NaN or infinity", _finite),
}
