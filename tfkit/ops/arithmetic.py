"""Operations on two operands, element by element: arithmetic, comparison, logic, bits."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.ops.promotion import (
    as_tensor,
    common_dtype,
    promote,
    promote_tensors,
    to_float,
    without_bool,
)
from tfkit.ops.sparse import zeros_divided, zeros_meet, zeros_win
from tfkit.symbolic import symbolic_op

# --- Arithmetic -----------------------------------------------------------------------------------


@symbolic_op
@zeros_meet
def add(x1: Any, x2: Any) -> tf.Tensor:
    """`x1 + x2`."""
    return tf.add(*promote(x1, x2))


@symbolic_op
@zeros_meet
def subtract(x1: Any, x2: Any) -> tf.Tensor:
    """`x1 - x2`."""
    return tf.subtract(*promote(x1, x2))


@symbolic_op
@zeros_win
def multiply(x1: Any, x2: Any) -> tf.Tensor:
    """`x1 * x2`."""
    return tf.multiply(*promote(x1, x2))


def _as_float_pair(x1: Any, x2: Any) -> Any:
    x1, x2 = promote(x1, x2)
    return to_float(x1), to_float(x2)


@symbolic_op
@zeros_divided
def divide(x1: Any, x2: Any) -> tf.Tensor:
    """`x1 / x2`, a float also where both are integers."""
    return tf.divide(*_as_float_pair(x1, x2))


@symbolic_op
@zeros_divided
def true_divide(x1: Any, x2: Any) -> tf.Tensor:
    """`x1 / x2`, a float also where both are integers; the same as `divide`."""
    return tf.divide(*_as_float_pair(x1, x2))


@symbolic_op
def divide_no_nan(x1: Any, x2: Any) -> tf.Tensor:
    """`x1 / x2`, and 0 where `x2` is 0."""
    return tf.math.divide_no_nan(*_as_float_pair(x1, x2))


@symbolic_op
def floor_divide(x1: Any, x2: Any) -> tf.Tensor:
    """The largest whole number that is not above `x1 / x2`."""
    return tf.math.floordiv(*promote(x1, x2))


@symbolic_op
def mod(x1: Any, x2: Any) -> tf.Tensor:
    """What floor division leaves: `x1 - floor(x1 / x2) * x2`, with the sign of `x2`."""
    x1, x2 = promote_tensors(x1, x2)
    return tf.math.floormod(without_bool(x1), without_bool(x2))


@symbolic_op
def fmod(x1: Any, x2: Any) -> tf.Tensor:
    """What division rounded towards zero leaves, with the sign of `x1`."""
    x1, x2 = map(without_bool, promote_tensors(x1, x2))
    dtype = x1.dtype
    if dtype.is_unsigned:
        return tf.math.floormod(x1, x2)
    return tf.sign(x1) * tf.math.floormod(tf.abs(x1), tf.abs(x2))


@symbolic_op
def power(x1: Any, x2: Any) -> tf.Tensor:
    """`x1` to the power of `x2`."""
    x1, x2 = promote(x1, x2)
    if x1.dtype.is_unsigned:  # TensorFlow has no kernel for unsigned powers.
        return tf.cast(tf.pow(tf.cast(x1, tf.int32), tf.cast(x2, tf.int32)), x1.dtype)
    return tf.pow(x1, x2)


@symbolic_op
@zeros_meet
def maximum(x1: Any, x2: Any) -> tf.Tensor:
    """The larger of `x1` and `x2`; NaN where either is NaN."""
    return tf.maximum(*promote(x1, x2))


@symbolic_op
@zeros_meet
def minimum(x1: Any, x2: Any) -> tf.Tensor:
    """The smaller of `x1` and `x2`; NaN where either is NaN."""
    return tf.minimum(*promote(x1, x2))


def _prefer_numbers(result: Any, x1: Any, x2: Any) -> Any:
    if not x1.dtype.is_floating:
        return result
    return tf.where(tf.math.is_nan(x1), x2, tf.where(tf.math.is_nan(x2), x1, result))


@symbolic_op
def fmax(x1: Any, x2: Any) -> tf.Tensor:
    """The larger of `x1` and `x2`; where one is NaN, the other."""
    x1, x2 = promote(x1, x2)
    return _prefer_numbers(tf.maximum(x1, x2), x1, x2)


@symbolic_op
def fmin(x1: Any, x2: Any) -> tf.Tensor:
    """The smaller of `x1` and `x2`; where one is NaN, the other."""
    x1, x2 = promote(x1, x2)
    return _prefer_numbers(tf.minimum(x1, x2), x1, x2)


@symbolic_op
def arctan2(x1: Any, x2: Any) -> tf.Tensor:
    """The angle of the point `(x2, x1)`, in radians from -pi to pi."""
    return tf.atan2(*map(to_float, promote_tensors(x1, x2)))


def _to_wide_float(x: Any) -> Any:
    """Where Keras's precedent asks for it, int64 becomes float64 and not the default float."""
    return tf.cast(x, tf.float64) if x.dtype == tf.int64 else to_float(x)


@symbolic_op
def hypot(x1: Any, x2: Any) -> tf.Tensor:
    """`sqrt(x1**2 + x2**2)`, without overflow in the squares."""
    x1, x2 = (tf.abs(_to_wide_float(x)) for x in promote_tensors(x1, x2))
    larger = tf.maximum(x1, x2)
    ratio = tf.math.divide_no_nan(tf.minimum(x1, x2), larger)
    return larger * tf.sqrt(1.0 + tf.square(ratio))


@symbolic_op
def heaviside(x1: Any, x2: Any) -> tf.Tensor:
    """The step function: 0 for negative `x1`, 1 for positive `x1`, `x2` at zero."""
    x1, x2 = map(_to_wide_float, promote_tensors(x1, x2))
    return tf.where(x1 < 0, tf.zeros_like(x1), tf.where(x1 > 0, tf.ones_like(x1), x2))


@symbolic_op
def logaddexp(x1: Any, x2: Any) -> tf.Tensor:
    """`log(exp(x1) + exp(x2))`, without overflow."""
    x1, x2 = map(to_float, promote_tensors(x1, x2))
    delta = x1 - x2
    result = tf.maximum(x1, x2) + tf.math.log1p(tf.exp(-tf.abs(delta)))
    return tf.where(tf.math.is_nan(delta), x1 + x2, result)


@symbolic_op
def logaddexp2(x1: Any, x2: Any) -> tf.Tensor:
    """`log2(2**x1 + 2**x2)`, without overflow."""
    x1, x2 = map(to_float, promote_tensors(x1, x2))
    delta = x1 - x2
    log2 = tf.math.log(tf.constant(2.0, x1.dtype))
    result = tf.maximum(x1, x2) + tf.math.log1p(tf.exp(-tf.abs(delta) * log2)) / log2
    return tf.where(tf.math.is_nan(delta), x1 + x2, result)


@symbolic_op
def ldexp(x1: Any, x2: Any) -> tf.Tensor:
    """`x1 * 2**x2`.

    Raises:
        TypeError: when the exponent `x2` is not an integer.
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x2.dtype.is_integer:
        raise TypeError(f"The exponent `x2` must be an integer. Received: x2.dtype={x2.dtype.name}")
    dtype = common_dtype(x1.dtype, x2.dtype, float)
    x1 = tf.cast(x1, dtype)
    scaled = x1 * tf.pow(tf.constant(2.0, dtype), tf.cast(x2, dtype))
    return tf.where(tf.math.is_inf(x1) | (x1 == 0), x1, scaled)


@symbolic_op
def nextafter(x1: Any, x2: Any) -> tf.Tensor:
    """The next float64 after `x1` in the direction of `x2`, in the common float dtype of both."""
    x1, x2 = promote_tensors(x1, x2)
    dtype = common_dtype(x1.dtype, float)
    return tf.cast(tf.math.nextafter(tf.cast(x1, tf.float64), tf.cast(x2, tf.float64)), dtype)


@symbolic_op
def gcd(x1: Any, x2: Any) -> tf.Tensor:
    """The greatest common divisor of integers.

    Raises:
        TypeError: when an operand is not an integer.
    """
    x1, x2 = promote_tensors(x1, x2)
    if not x1.dtype.is_integer:
        raise TypeError(f"`gcd` is defined for integers. Received: dtype={x1.dtype.name}")
    shape = tf.broadcast_dynamic_shape(tf.shape(x1), tf.shape(x2))
    static_shape = tf.broadcast_static_shape(x1.shape, x2.shape)
    x1, x2 = tf.broadcast_to(x1, shape), tf.broadcast_to(x2, shape)
    if not x1.dtype.is_unsigned:
        x1, x2 = tf.abs(x1), tf.abs(x2)

    def step(a: Any, b: Any) -> Any:
        divisor = tf.where(b == 0, tf.ones_like(b), b)
        remainder = tf.where(b == 0, tf.zeros_like(b), tf.math.floormod(a, divisor))
        return tf.where(b == 0, a, b), remainder

    result, _ = tf.while_loop(lambda a, b: tf.reduce_any(b != 0), step, (x1, x2))
    return tf.ensure_shape(result, static_shape)


@symbolic_op
def lcm(x1: Any, x2: Any) -> tf.Tensor:
    """The least common multiple of integers.

    Raises:
        TypeError: when an operand is not an integer.
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not (x1.dtype.is_integer and x2.dtype.is_integer):
        raise TypeError(
            "`lcm` is defined for integers. "
            f"Received: x1.dtype={x1.dtype.name}, x2.dtype={x2.dtype.name}"
        )
    x1, x2 = promote(x1, x2)
    if not x1.dtype.is_unsigned:
        x1, x2 = tf.abs(x1), tf.abs(x2)
    divisor = gcd(x1, x2)
    product = x1 * (x2 // tf.where(divisor == 0, tf.ones_like(divisor), divisor))
    return tf.where(divisor == 0, tf.zeros_like(product), product)


# --- Comparison -----------------------------------------------------------------------------------


@symbolic_op
def equal(x1: Any, x2: Any) -> tf.Tensor:
    """Whether `x1 == x2`."""
    return tf.equal(*promote_tensors(x1, x2))


@symbolic_op
def not_equal(x1: Any, x2: Any) -> tf.Tensor:
    """Whether `x1 != x2`."""
    return tf.not_equal(*promote_tensors(x1, x2))


@symbolic_op
def less(x1: Any, x2: Any) -> tf.Tensor:
    """Whether `x1 < x2`."""
    return tf.less(*promote_tensors(x1, x2))


@symbolic_op
def less_equal(x1: Any, x2: Any) -> tf.Tensor:
    """Whether `x1 <= x2`."""
    return tf.less_equal(*promote_tensors(x1, x2))


@symbolic_op
def greater(x1: Any, x2: Any) -> tf.Tensor:
    """Whether `x1 > x2`."""
    return tf.greater(*promote_tensors(x1, x2))


@symbolic_op
def greater_equal(x1: Any, x2: Any) -> tf.Tensor:
    """Whether `x1 >= x2`."""
    return tf.greater_equal(*promote_tensors(x1, x2))


@symbolic_op
def isclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> tf.Tensor:
    """Whether `x1` and `x2` differ by at most `atol + rtol * abs(x2)`, element by element.

    Args:
        x1: a tensor.
        x2: a tensor.
        rtol: allowed difference relative to `x2`.
        atol: allowed absolute difference.
        equal_nan: whether NaN is close to NaN.
    """
    x1, x2 = promote_tensors(x1, x2)
    if not x1.dtype.is_floating:
        return tf.equal(x1, x2)
    close = tf.abs(x1 - x2) <= atol + rtol * tf.abs(x2)
    finite = tf.math.is_finite(x1) & tf.math.is_finite(x2)
    result = (close & finite) | tf.equal(x1, x2)
    return result | (tf.math.is_nan(x1) & tf.math.is_nan(x2)) if equal_nan else result


@symbolic_op
def allclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> tf.Tensor:
    """Whether all elements are close; the arguments are those of `isclose`."""
    return tf.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


# --- Logic and bits -------------------------------------------------------------------------------


@symbolic_op
def logical_and(x1: Any, x2: Any) -> tf.Tensor:
    """Whether both are true; numbers are true where they are not 0."""
    return tf.logical_and(tf.cast(x1, tf.bool), tf.cast(x2, tf.bool))


@symbolic_op
def logical_or(x1: Any, x2: Any) -> tf.Tensor:
    """Whether at least one is true; numbers are true where they are not 0."""
    return tf.logical_or(tf.cast(x1, tf.bool), tf.cast(x2, tf.bool))


@symbolic_op
def logical_xor(x1: Any, x2: Any) -> tf.Tensor:
    """Whether exactly one is true; numbers are true where they are not 0."""
    return tf.math.logical_xor(tf.cast(x1, tf.bool), tf.cast(x2, tf.bool))


@symbolic_op
def logical_not(x: Any) -> tf.Tensor:
    """Whether `x` is false; numbers are false where they are 0."""
    return tf.logical_not(tf.cast(x, tf.bool))


@symbolic_op
def bitwise_and(x: Any, y: Any) -> tf.Tensor:
    """The bits that are set in both integers."""
    return tf.bitwise.bitwise_and(*promote_tensors(x, y))


@symbolic_op
def bitwise_or(x: Any, y: Any) -> tf.Tensor:
    """The bits that are set in at least one of the integers."""
    return tf.bitwise.bitwise_or(*promote_tensors(x, y))


@symbolic_op
def bitwise_xor(x: Any, y: Any) -> tf.Tensor:
    """The bits that are set in exactly one of the integers."""
    return tf.bitwise.bitwise_xor(*promote_tensors(x, y))


@symbolic_op
def bitwise_invert(x: Any) -> tf.Tensor:
    """Each bit of the integers flipped."""
    return tf.bitwise.invert(x)


@symbolic_op
def bitwise_left_shift(x: Any, y: Any) -> tf.Tensor:
    """The bits of `x` moved `y` places up; a Python number `y` is weak."""
    x = as_tensor(x)
    return tf.bitwise.left_shift(*promote(x, y))


@symbolic_op
def bitwise_right_shift(x: Any, y: Any) -> tf.Tensor:
    """The bits of `x` moved `y` places down; a Python number `y` is weak."""
    x = as_tensor(x)
    return tf.bitwise.right_shift(*promote(x, y))


bitwise_not = bitwise_invert
left_shift = bitwise_left_shift
right_shift = bitwise_right_shift
