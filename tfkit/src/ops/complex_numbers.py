"""Complex numbers and their parts."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.ops.promotion import as_tensor, promote, to_float, to_float32
from tfkit.src.ops.sparse import zeros_stay
from tfkit.src.symbolic.tensors import symbolic_op


@zeros_stay
def real(x: Any) -> tf.Tensor:
    """Returns the real part of each element.

    Args:
        x: a tensor of any shape and number dtype; real numbers are returned unchanged.

    Returns:
        A tensor of the shape of `x` and of its real dtype: float32 for complex64, float64 for
        complex128.

    Example:
        >>> ops.real(tf.constant([1 + 2j, 3 - 4j])).numpy()
        array([1., 3.])
    """
    return tf.math.real(as_tensor(x))


@zeros_stay
def imag(x: Any) -> tf.Tensor:
    """Returns the imaginary part of each element, 0 for real numbers.

    Args:
        x: a tensor of any shape and dtype.

    Returns:
        A tensor of the shape of `x` and of its real dtype: float32 for complex64, float64 for
        complex128.

    Example:
        >>> ops.imag(tf.constant([1 + 2j, 3 - 4j])).numpy()
        array([ 2., -4.])
    """
    return tf.math.imag(x)


@zeros_stay
def conjugate(x: Any) -> tf.Tensor:
    """Returns `x` with the sign of its imaginary part changed; `conj` is the same function.

    Args:
        x: a tensor of any shape and number dtype; real numbers are returned unchanged.

    Returns:
        A tensor of the shape and dtype of `x`.

    Example:
        >>> ops.conjugate(tf.constant([1 + 2j, 3 - 4j])).numpy().tolist()
        [(1-2j), (3+4j)]
    """
    return tf.math.conj(x)


conj = conjugate


@symbolic_op
def angle(x: Any) -> tf.Tensor:
    """Returns the angle of complex numbers in radians, from -pi to pi.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its real dtype. For real numbers it is 0, or pi where
        they are negative.

    Example:
        >>> ops.angle(tf.constant([1j, -1 + 0j, 1 + 1j])).numpy().round(4)
        array([1.5708, 3.1416, 0.7854])
    """
    x = to_float(x)
    angles = tf.math.angle(x)
    return angles if x.dtype.is_complex else tf.where(tf.math.is_nan(x), x, angles)


@symbolic_op
def polar(abs_: Any, angle: Any) -> tf.Tensor:
    """Returns the complex numbers of given lengths and angles: `abs_ * exp(1j * angle)`.

    Args:
        abs_: lengths, a real tensor; integers are cast to the default float dtype, 16-bit floats
            to float32.
        angle: angles in radians, a real tensor that broadcasts with `abs_`.

    Returns:
        A tensor of complex64, or of complex128 for float64.

    Example:
        >>> ops.polar([1.0, 2.0], [0.0, np.pi / 3]).numpy().round(4)
        array([1.+0.j    , 1.+1.7321j], dtype=complex64)
    """
    length, angle = promote(to_float32(to_float(abs_)), to_float32(to_float(angle)))
    return tf.complex(length * tf.cos(angle), length * tf.sin(angle))


@symbolic_op
def view_as_complex(x: Any) -> tf.Tensor:
    """Returns complex numbers whose real and imaginary parts are the pairs in the last axis.

    Args:
        x: a real tensor of shape `(..., 2)`; integers are cast to the default float dtype.

    Returns:
        A tensor of shape `(...)`, of complex64, or of complex128 for float64.

    Raises:
        ValueError: when the size of the last axis is not 2.

    Example:
        >>> ops.view_as_complex([[1.0, 2.0], [3.0, -4.0]]).numpy().tolist()
        [(1+2j), (3-4j)]
    """
    x = as_tensor(x)
    if x.shape.rank == 0 or x.shape[-1] != 2:
        raise ValueError(f"Last dimension of input must be size 2. Received: x.shape={x.shape}")
    x = to_float32(to_float(x))  # No complex number has parts of 16 bits.
    return tf.complex(x[..., 0], x[..., 1])


@symbolic_op
def view_as_real(x: Any) -> tf.Tensor:
    """Returns the real and imaginary parts of complex numbers as a new last axis of size 2.

    Args:
        x: a complex tensor of any shape `(...)`. The imaginary parts of real numbers are 0.

    Returns:
        A tensor of shape `(..., 2)` and of the real dtype: float32 for complex64.

    Example:
        >>> ops.view_as_real(tf.constant([1 + 2j, 3 - 4j])).numpy().tolist()
        [[1.0, 2.0], [3.0, -4.0]]
    """
    x = as_tensor(x)
    return tf.stack([tf.math.real(x), tf.math.imag(x)], axis=-1)
