"""Complex numbers and their parts."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.ops.promotion import as_tensor, promote, to_float, to_float32
from tfkit.ops.sparse import zeros_stay
from tfkit.symbolic import symbolic_op


@symbolic_op
@zeros_stay
def real(x: Any) -> tf.Tensor:
    """The real part."""
    return tf.math.real(as_tensor(x))


@symbolic_op
@zeros_stay
def imag(x: Any) -> tf.Tensor:
    """The imaginary part."""
    return tf.math.imag(x)


@symbolic_op
@zeros_stay
def conjugate(x: Any) -> tf.Tensor:
    """`x` with the sign of its imaginary part changed."""
    return tf.math.conj(x)


conj = conjugate


@symbolic_op
def angle(x: Any) -> tf.Tensor:
    """The angle of a complex number, in radians; 0 or pi for real numbers."""
    return tf.math.angle(to_float(x))


@symbolic_op
def polar(abs_: Any, angle: Any) -> tf.Tensor:
    """The complex number of this length and this angle in radians."""
    length, angle = promote(to_float32(to_float(abs_)), to_float32(to_float(angle)))
    return tf.complex(length * tf.cos(angle), length * tf.sin(angle))


@symbolic_op
def view_as_complex(x: Any) -> tf.Tensor:
    """The last axis, real and imaginary part, read as one complex number.

    Raises:
        ValueError: when the last axis has not size 2.
    """
    x = as_tensor(x)
    if x.shape.rank == 0 or x.shape[-1] != 2:
        raise ValueError(f"Last dimension of input must be size 2. Received: x.shape={x.shape}")
    x = to_float32(to_float(x))  # No complex number has parts of 16 bits.
    return tf.complex(x[..., 0], x[..., 1])


@symbolic_op
def view_as_real(x: Any) -> tf.Tensor:
    """Complex numbers as a new last axis of size 2: real and imaginary part."""
    x = as_tensor(x)
    return tf.stack([tf.math.real(x), tf.math.imag(x)], axis=-1)
