"""Operations on two operands, element by element: arithmetic, comparison, logic, bits."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.engine.apart import kept_apart
from tfkit.src.ops.promotion import (
    as_tensor,
    common_dtype,
    promote,
    promote_tensors,
    to_float,
    to_wide_float,
    without_bool,
)
from tfkit.src.ops.roots import root_of_sum
from tfkit.src.ops.sparse import zeros_divided, zeros_meet, zeros_win
from tfkit.src.symbolic.tensors import is_described, symbolic_op

# --- Arithmetic -----------------------------------------------------------------------------------


@zeros_meet
def add(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1 + x2`, element by element.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. The sum of two sparse tensors is sparse.

    Raises:
        InvalidArgumentError: for two bools; use `logical_or`.

    Example:
        >>> ops.add([[1, 2], [3, 4]], [10, 20]).numpy().tolist()
        [[11, 22], [13, 24]]
        >>> ops.add(tf.constant([1.0], "float16"), 1.5).dtype.name
        'float16'
    """
    return tf.add(*promote(x1, x2))


@zeros_meet
def subtract(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1 - x2`, element by element.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. The difference of two sparse tensors is sparse.

    Raises:
        InvalidArgumentError: for two bools; use `logical_xor`.

    Example:
        >>> ops.subtract([5, 7], [1, 10]).numpy().tolist()
        [4, -3]
    """
    return tf.subtract(*promote(x1, x2))


@zeros_win
def multiply(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1 * x2`, element by element.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. The product with a sparse tensor is sparse.

    Raises:
        InvalidArgumentError: for two bools; use `logical_and`.

    Example:
        >>> ops.multiply([[1, 2], [3, 4]], [[10], [100]]).numpy().tolist()
        [[10, 20], [300, 400]]
    """
    return tf.multiply(*promote(x1, x2))


def _as_float_pair(x1: Any, x2: Any) -> Any:
    x1, x2 = promote(x1, x2)
    return to_float(x1), to_float(x2)


@zeros_divided
def divide(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1 / x2`, a float also where both are integers.

    Division by 0 gives infinity, or NaN for `0 / 0`; `divide_no_nan` gives 0 instead.

    Args:
        x1: the dividend, a tensor of any shape, or a number.
        x2: the divisor, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype, the default one for
        integers and bools.

    Example:
        >>> ops.divide([3, -1, 0], [2, 0, 0]).numpy().tolist()
        [1.5, -inf, nan]
    """
    return tf.divide(*_as_float_pair(x1, x2))


@zeros_divided
def true_divide(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1 / x2`, a float also where both are integers: the same as `divide`.

    Args:
        x1: the dividend, a tensor of any shape, or a number.
        x2: the divisor, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype, the default one for
        integers and bools.

    Example:
        >>> ops.true_divide([3, 4], 2).numpy().tolist()
        [1.5, 2.0]
    """
    return tf.divide(*_as_float_pair(x1, x2))


@symbolic_op
def divide_no_nan(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1 / x2`, and 0 where `x2` is 0.

    Args:
        x1: the dividend, a tensor of any shape, or a number.
        x2: the divisor, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype, the default one for
        integers and bools.

    Example:
        >>> ops.divide_no_nan([3.0, 1.0, 0.0], [2.0, 0.0, 0.0]).numpy().tolist()
        [1.5, 0.0, 0.0]
    """
    return tf.math.divide_no_nan(*_as_float_pair(x1, x2))


@symbolic_op
def floor_divide(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `floor(x1 / x2)`: the greatest whole number that is not above the exact quotient.

    Args:
        x1: the dividend, a tensor of any shape, or a number. It must be real.
        x2: the divisor, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor.

    Raises:
        InvalidArgumentError: when an integer is divided by 0, or both are bools.

    Example:
        >>> ops.floor_divide([7, -7], 2).numpy().tolist()
        [3, -4]
        >>> ops.floor_divide(-7.0, 2).numpy().tolist()
        -4.0
    """
    x1, x2 = promote(x1, x2)
    if not x1.dtype.is_floating:
        return tf.math.floordiv(x1, x2)
    # The rounded quotient can be the next whole number: 1 / 0.1 is less than 10 in float32. So the remainder,
    # which is exact, is subtracted before the division.
    wide = tf.cast(x1, tf.float32) if x1.dtype.size < 4 else x1
    divisor = tf.cast(x2, wide.dtype)
    whole = tf.round((wide - tf.math.floormod(wide, divisor)) / divisor)
    exact = tf.math.is_finite(wide) & tf.math.is_finite(divisor) & (divisor != 0)
    return tf.cast(tf.where(exact, whole, tf.floor(wide / divisor)), x1.dtype)


@symbolic_op
def mod(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the remainder `x1 - floor(x1 / x2) * x2`, which has the sign of `x2`.

    Args:
        x1: the dividend, a tensor of any shape, or a number. It must be real; bools are cast to
            int32.
        x2: the divisor, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both. NaN where a float is
        divided by 0.

    Raises:
        InvalidArgumentError: when an integer is divided by 0.

    Example:
        >>> ops.mod([7, -7], 3).numpy().tolist()
        [1, 2]
        >>> ops.mod(5.5, 2).numpy().tolist()
        1.5
    """
    x1, x2 = promote_tensors(x1, x2)
    return tf.math.floormod(without_bool(x1), without_bool(x2))


@symbolic_op
def fmod(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the remainder `x1 - trunc(x1 / x2) * x2`, which has the sign of `x1`.

    Args:
        x1: the dividend, a tensor of any shape, or a number. It must be real; bools are cast to
            int32.
        x2: the divisor, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both. NaN where a float is
        divided by 0.

    Raises:
        InvalidArgumentError: when an integer is divided by 0.

    Example:
        >>> ops.fmod([7, -7], 3).numpy().tolist()
        [1, -1]
    """
    x1, x2 = map(without_bool, promote_tensors(x1, x2))
    dtype = x1.dtype
    if dtype.is_unsigned:
        return tf.math.floormod(x1, x2)
    if dtype.is_integer:
        # It has the sign of x2; the smallest integer has no positive counterpart.
        rest = tf.math.floormod(x1, x2)
        return tf.where((rest != 0) & ((rest < 0) != (x1 < 0)), rest - x2, rest)
    size = tf.abs(x2)
    negative = x1 < 0
    rest = tf.math.floormod(tf.where(negative, -x1, x1), size)
    return tf.where(negative, -rest, rest)


@symbolic_op
def power(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1` to the power of `x2`, element by element.

    Args:
        x1: the base, a tensor of any shape, or a number.
        x2: the exponent, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. NaN for a negative real base with an exponent that is not
        whole.

    Raises:
        InvalidArgumentError: when both are integers and an exponent is negative, or both are
            bools.

    Example:
        >>> ops.power([2, 3], [3, 2]).numpy().tolist()
        [8, 9]
        >>> ops.power(4.0, [0.5, -1.0]).numpy().tolist()
        [2.0, 0.25]
    """
    varies_from_zero = type(x2) in (int, float) and x2 != 0
    x1, x2 = promote(x1, x2)
    # TensorFlow has no kernel for unsigned powers; the lower bits are the same.
    if x1.dtype.is_unsigned:
        signed = tf.int64 if x1.dtype == tf.uint64 else tf.int32
        return tf.cast(tf.pow(tf.cast(x1, signed), tf.cast(x2, signed)), x1.dtype)
    if x1.dtype.is_floating and not varies_from_zero:
        # The slope of a constant 1 is 0; the formula of the slope is 0 * infinity there.
        x1 = tf.where(tf.equal(x1, 0) & tf.equal(x2, 0), tf.ones_like(x1), x1)
    return tf.pow(x1, x2)


@zeros_meet
def maximum(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the larger of `x1` and `x2`, element by element; NaN where either is NaN.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. The result is sparse where both are.

    Example:
        >>> ops.maximum([1.0, 5.0, np.nan], 3.0).numpy().tolist()
        [3.0, 5.0, nan]
    """
    return kept_apart(tf.maximum(*promote(x1, x2)))


@zeros_meet
def minimum(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the smaller of `x1` and `x2`, element by element; NaN where either is NaN.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. The result is sparse where both are.

    Example:
        >>> ops.minimum([1.0, 5.0, np.nan], 3.0).numpy().tolist()
        [1.0, 3.0, nan]
    """
    return tf.minimum(*promote(x1, x2))


def _prefer_numbers(result: Any, x1: Any, x2: Any) -> Any:
    if not x1.dtype.is_floating:
        return result
    return tf.where(tf.math.is_nan(x1), x2, tf.where(tf.math.is_nan(x2), x1, result))


@symbolic_op
def fmax(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the larger of `x1` and `x2`; where one of them is NaN, the other.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. NaN only where both are NaN.

    Example:
        >>> ops.fmax([1.0, 5.0, np.nan], 3.0).numpy().tolist()
        [3.0, 5.0, 3.0]
    """
    x1, x2 = promote(x1, x2)
    return _prefer_numbers(tf.maximum(x1, x2), x1, x2)


@symbolic_op
def fmin(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the smaller of `x1` and `x2`; where one of them is NaN, the other.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both; a Python number does not
        widen the dtype of a tensor. NaN only where both are NaN.

    Example:
        >>> ops.fmin([1.0, 5.0, np.nan], 3.0).numpy().tolist()
        [1.0, 3.0, 3.0]
    """
    x1, x2 = promote(x1, x2)
    return _prefer_numbers(tf.minimum(x1, x2), x1, x2)


@symbolic_op
def arctan2(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the angle of the point `(x2, x1)` from the positive `x2` axis, in radians.

    Unlike `arctan(x1 / x2)` it distinguishes the quadrants and allows `x2 = 0`.

    Args:
        x1: ordinates, a real tensor of any shape, or a number.
        x2: abscissas, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype, the default one for
        integers and bools. Angles are in [-pi, pi].

    Example:
        >>> ops.arctan2([1.0, 1.0, -1.0], [1.0, -1.0, 0.0]).numpy().round(4)
        array([ 0.7854,  2.3562, -1.5708], dtype=float32)
    """
    return tf.atan2(*map(to_float, promote_tensors(x1, x2)))


@symbolic_op
def hypot(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `sqrt(x1**2 + x2**2)`, without overflow in the squares.

    It is infinity where one of the two is infinite, even if the other is NaN. At `(0, 0)` the gradient is 0.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype: float64 for int64, the
        default one for other integers and bools.

    Example:
        >>> ops.hypot([3.0, 3e30], [4.0, 4e30]).numpy()
        array([5.e+00, 5.e+30], dtype=float32)
    """
    x1, x2 = map(to_wide_float, promote_tensors(x1, x2))
    infinite = tf.math.is_inf(x1) | tf.math.is_inf(x2)
    larger = tf.stop_gradient(tf.maximum(tf.abs(x1), tf.abs(x2)))
    scale = tf.where(infinite | tf.equal(larger, 0), tf.ones_like(larger), larger)
    # Infinities are left out of the root: its gradient there would be NaN.
    parts = [tf.where(infinite, tf.zeros_like(x), x) / scale for x in (x1, x2)]
    result = scale * root_of_sum(tf.square(parts[0]) + tf.square(parts[1]))
    return tf.where(infinite, tf.abs(tf.where(tf.math.is_inf(x1), x1, x2)), result)


@symbolic_op
def heaviside(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the unit step function: 0 for `x1 < 0`, 1 for `x1 > 0`, and `x2` for `x1 = 0`.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: the value at 0, a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype: float64 for int64, the
        default one for other integers and bools. NaN where `x1` is NaN.

    Example:
        >>> ops.heaviside([-2.0, 0.0, 3.0], 0.5).numpy().tolist()
        [0.0, 0.5, 1.0]
    """
    x1, x2 = map(to_wide_float, promote_tensors(x1, x2))
    at_zero = tf.where(tf.math.is_nan(x1), x1, x2)
    return tf.where(x1 < 0, tf.zeros_like(x1), tf.where(x1 > 0, tf.ones_like(x1), at_zero))


def _log_of_sum(x1: Any, x2: Any, log_of_base: float) -> tf.Tensor:
    """Returns the logarithm of the sum of two powers of a base."""
    x1, x2 = map(to_float, promote_tensors(x1, x2))
    delta = x1 - x2
    unknown = tf.math.is_nan(delta)  # For NaN, and for two infinities of the same sign.
    delta = tf.where(unknown, tf.zeros_like(delta), delta)
    first = delta >= 0
    # Not the absolute value, which has no gradient where both are equal: each has half of it there.
    rest = tf.math.softplus(tf.where(first, -delta, delta) * log_of_base) / log_of_base
    return tf.where(unknown, x1 + x2, tf.where(first, x1, x2) + rest)


@symbolic_op
def logaddexp(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `log(exp(x1) + exp(x2))`, without overflow in the exponentials.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype, the default one for
        integers and bools.

    Example:
        >>> ops.logaddexp([0.0, 1000.0], [0.0, 1000.0]).numpy().round(3)
        array([6.930000e-01, 1.000693e+03], dtype=float32)
    """
    return _log_of_sum(x1, x2, 1.0)


@symbolic_op
def logaddexp2(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `log2(2**x1 + 2**x2)`, without overflow in the powers.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype, the default one for
        integers and bools.

    Example:
        >>> ops.logaddexp2([0.0, 1000.0], [0.0, 1000.0]).numpy()
        array([1.000e+00, 1.001e+03], dtype=float32)
    """
    return _log_of_sum(x1, x2, math.log(2.0))


@symbolic_op
def ldexp(x1: Any, x2: Any) -> tf.Tensor:
    """Returns `x1 * 2**x2`, element by element.

    Args:
        x1: the factor, a real tensor of any shape; integers are cast to the default float dtype.
        x2: the exponent, a tensor of integers that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the float dtype of `x1`.

    Raises:
        TypeError: when `x2` is not of an integer dtype.

    Example:
        >>> ops.ldexp([0.5, 3.0], [3, -1]).numpy().tolist()
        [4.0, 1.5]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x2.dtype.is_integer and not is_described():
        raise TypeError(f"The exponent `x2` must be an integer. Received: x2.dtype={x2.dtype.name}")
    dtype = common_dtype(x1.dtype, x2.dtype, float)
    wide = tf.float64 if dtype == tf.float64 else tf.float32
    integers, offset, digits = _EXPONENTS[wide]
    # Three factors: the power by itself can be infinite or 0 where the product is neither.
    rest = tf.clip_by_value(tf.cast(x2, tf.int64), -2 * offset - digits, 2 * offset + digits)
    scaled = tf.cast(x1, wide)
    for share in (3, 2, 1):
        part = rest // share
        rest -= part
        bits = tf.bitwise.left_shift(tf.cast(part + offset, integers), tf.cast(digits, integers))
        # A condition between the factors keeps graph optimizers from multiplying these first.
        scaled = tf.where(tf.math.is_inf(scaled), scaled, scaled * tf.bitcast(bits, wide))
    return tf.cast(scaled, dtype)


# The integer of the same size, the exponent of 1, and the number of bits after the exponent.
_EXPONENTS = {tf.float32: (tf.int32, 127, 23), tf.float64: (tf.int64, 1023, 52)}


@symbolic_op
def nextafter(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the float64 number next to `x1` in the direction of `x2`, in the dtype of `x1`.

    The step is a step of float64, as in Keras: in a narrower dtype it is mostly rounded away, and
    the result is `x1`.

    Args:
        x1: a real tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common float dtype, the default one for
        integers and bools.

    Example:
        >>> x = tf.constant(1.0, "float64")
        >>> float(ops.nextafter(x, 2.0) - x)
        2.220446049250313e-16
    """
    x1, x2 = promote_tensors(x1, x2)
    dtype = common_dtype(x1.dtype, float)
    return tf.cast(tf.math.nextafter(tf.cast(x1, tf.float64), tf.cast(x2, tf.float64)), dtype)


@symbolic_op
def gcd(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the greatest common divisor of the absolute values of integers; `gcd(0, 0)` is 0.

    Args:
        x1: a tensor of integers of any shape.
        x2: a tensor of integers that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both.

    Raises:
        TypeError: when an operand is not of an integer dtype.

    Example:
        >>> ops.gcd([12, 0], [-18, 5]).numpy().tolist()
        [6, 5]
    """
    x1, x2 = promote_tensors(x1, x2)
    if not x1.dtype.is_integer and not is_described():
        raise TypeError(f"`gcd` is defined for integers. Received: dtype={x1.dtype.name}")
    shape = tf.broadcast_dynamic_shape(tf.shape(x1), tf.shape(x2))
    static_shape = tf.broadcast_static_shape(x1.shape, x2.shape)
    x1, x2 = tf.broadcast_to(x1, shape), tf.broadcast_to(x2, shape)
    if not x1.dtype.is_unsigned:
        x1, x2 = tf.abs(x1), tf.abs(x2)

    # Euclid's algorithm on all elements at once; those that are finished stay as they are.
    def step(a: Any, b: Any) -> Any:
        divisor = tf.where(b == 0, tf.ones_like(b), b)
        remainder = tf.where(b == 0, tf.zeros_like(b), tf.math.floormod(a, divisor))
        return tf.where(b == 0, a, b), remainder

    result, _ = tf.while_loop(lambda a, b: tf.reduce_any(b != 0), step, (x1, x2))
    return tf.ensure_shape(result, static_shape)


@symbolic_op
def lcm(x1: Any, x2: Any) -> tf.Tensor:
    """Returns the least common multiple of integers, never negative; 0 where one of them is 0.

    Args:
        x1: a tensor of integers of any shape.
        x2: a tensor of integers that broadcasts with `x1`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both.

    Raises:
        TypeError: when an operand is not of an integer dtype.

    Example:
        >>> ops.lcm([4, 0], [-6, 5]).numpy().tolist()
        [12, 0]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not ((x1.dtype.is_integer and x2.dtype.is_integer) or is_described()):
        raise TypeError(
            f"`lcm` is defined for integers. Received: x1.dtype={x1.dtype.name}, x2.dtype={x2.dtype.name}"
        )
    x1, x2 = promote(x1, x2)
    if not x1.dtype.is_unsigned:
        x1, x2 = tf.abs(x1), tf.abs(x2)
    divisor = gcd(x1, x2)
    # Divided first, so that the product overflows only if the result does.
    product = x1 * (x2 // tf.where(divisor == 0, tf.ones_like(divisor), divisor))
    return tf.where(divisor == 0, tf.zeros_like(product), product)


# --- Comparison -----------------------------------------------------------------------------------


@symbolic_op
def equal(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether `x1 == x2`, element by element; NaN equals nothing, not even NaN.

    Both are compared in their common dtype.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.equal([1, 2, 3], [1.0, 2.5, 3.0]).numpy().tolist()
        [True, False, True]
    """
    return tf.equal(*promote_tensors(x1, x2))


@symbolic_op
def not_equal(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether `x1 != x2`, element by element; NaN differs from everything.

    Both are compared in their common dtype.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.not_equal([1.0, np.nan], [1.0, np.nan]).numpy().tolist()
        [False, True]
    """
    return tf.not_equal(*promote_tensors(x1, x2))


@symbolic_op
def less(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether `x1 < x2`, element by element; false where either is NaN.

    Both are compared in their common dtype.

    Args:
        x1: a tensor of real numbers (no bools) of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.less([1, 2, 3], 2).numpy().tolist()
        [True, False, False]
    """
    return tf.less(*promote_tensors(x1, x2))


@symbolic_op
def less_equal(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether `x1 <= x2`, element by element; false where either is NaN.

    Both are compared in their common dtype.

    Args:
        x1: a tensor of real numbers (no bools) of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.less_equal([1, 2, 3], 2).numpy().tolist()
        [True, True, False]
    """
    return tf.less_equal(*promote_tensors(x1, x2))


@symbolic_op
def greater(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether `x1 > x2`, element by element; false where either is NaN.

    Both are compared in their common dtype.

    Args:
        x1: a tensor of real numbers (no bools) of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.greater([1, 2, 3], 2).numpy().tolist()
        [False, False, True]
    """
    return tf.greater(*promote_tensors(x1, x2))


@symbolic_op
def greater_equal(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether `x1 >= x2`, element by element; false where either is NaN.

    Both are compared in their common dtype.

    Args:
        x1: a tensor of real numbers (no bools) of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.greater_equal([1, 2, 3], 2).numpy().tolist()
        [False, True, True]
    """
    return tf.greater_equal(*promote_tensors(x1, x2))


@symbolic_op
def isclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> tf.Tensor:
    """Returns whether `abs(x1 - x2) <= atol + rtol * abs(x2)`, element by element.

    Infinities are close only to themselves. Integers and complex numbers are compared for equality.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.
        rtol: allowed difference relative to `x2`. Default: `1e-05`.
        atol: allowed absolute difference. Default: `1e-08`.
        equal_nan: whether NaN is close to NaN. Default: `False`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.isclose([1.0, 2.0], [1.000001, 2.1]).numpy().tolist()
        [True, False]
    """
    x1, x2 = promote_tensors(x1, x2)
    if not x1.dtype.is_floating:
        return tf.equal(x1, x2)
    # Infinities of the same sign differ by NaN: they are close only because they are equal.
    close = tf.abs(x1 - x2) <= atol + rtol * tf.abs(x2)
    finite = tf.math.is_finite(x1) & tf.math.is_finite(x2)
    result = (close & finite) | tf.equal(x1, x2)
    return result | (tf.math.is_nan(x1) & tf.math.is_nan(x2)) if equal_nan else result


@symbolic_op
def allclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> tf.Tensor:
    """Returns whether all elements of `x1` and `x2` are close, as `isclose` defines it.

    Args:
        x1: a tensor of any shape, or a number.
        x2: a tensor or a number that broadcasts with `x1`.
        rtol: allowed difference relative to `x2`. Default: `1e-05`.
        atol: allowed absolute difference. Default: `1e-08`.
        equal_nan: whether NaN is close to NaN. Default: `False`.

    Returns:
        A bool tensor without axes.

    Example:
        >>> bool(ops.allclose([1.0, 2.0], [1.000001, 2.0]))
        True
    """
    return tf.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


# --- Logic and bits -------------------------------------------------------------------------------


@symbolic_op
def logical_and(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether both are true, element by element.

    Args:
        x1: a tensor of any shape and dtype; a number is true where it is not 0, NaN included.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.logical_and([1, 0, 2], [True, True, False]).numpy().tolist()
        [True, False, False]
    """
    return tf.logical_and(tf.cast(x1, tf.bool), tf.cast(x2, tf.bool))


@symbolic_op
def logical_or(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether at least one of the two is true, element by element.

    Args:
        x1: a tensor of any shape and dtype; a number is true where it is not 0, NaN included.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.logical_or([1, 0, 2], [True, False, False]).numpy().tolist()
        [True, False, True]
    """
    return tf.logical_or(tf.cast(x1, tf.bool), tf.cast(x2, tf.bool))


@symbolic_op
def logical_xor(x1: Any, x2: Any) -> tf.Tensor:
    """Returns whether exactly one of the two is true, element by element.

    Args:
        x1: a tensor of any shape and dtype; a number is true where it is not 0, NaN included.
        x2: a tensor or a number that broadcasts with `x1`.

    Returns:
        A bool tensor of the broadcast shape.

    Example:
        >>> ops.logical_xor([1, 0, 2], [True, False, False]).numpy().tolist()
        [False, False, True]
    """
    return tf.math.logical_xor(tf.cast(x1, tf.bool), tf.cast(x2, tf.bool))


@symbolic_op
def logical_not(x: Any) -> tf.Tensor:
    """Returns whether each element is false.

    Args:
        x: a tensor of any shape and dtype; a number is true where it is not 0, NaN included.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.logical_not([1.5, 0.0, -2.0]).numpy().tolist()
        [False, True, False]
    """
    return kept_apart(tf.logical_not(tf.cast(x, tf.bool)))


@symbolic_op
def bitwise_and(x: Any, y: Any) -> tf.Tensor:
    """Returns the integers whose bits are set in both `x` and `y`.

    Args:
        x: a tensor of integers of any shape.
        y: a tensor of integers that broadcasts with `x`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both.

    Raises:
        InvalidArgumentError: for bools and floats.

    Example:
        >>> ops.bitwise_and([6, 12], 10).numpy().tolist()
        [2, 8]
    """
    return _of_bits(tf.bitwise.bitwise_and, *promote_tensors(x, y))


@symbolic_op
def bitwise_or(x: Any, y: Any) -> tf.Tensor:
    """Returns the integers whose bits are set in `x`, in `y` or in both.

    Args:
        x: a tensor of integers of any shape.
        y: a tensor of integers that broadcasts with `x`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both.

    Raises:
        InvalidArgumentError: for bools and floats.

    Example:
        >>> ops.bitwise_or([6, 12], 10).numpy().tolist()
        [14, 14]
    """
    return _of_bits(tf.bitwise.bitwise_or, *promote_tensors(x, y))


@symbolic_op
def bitwise_xor(x: Any, y: Any) -> tf.Tensor:
    """Returns the integers whose bits are set in exactly one of `x` and `y`.

    Args:
        x: a tensor of integers of any shape.
        y: a tensor of integers that broadcasts with `x`.

    Returns:
        A tensor of the broadcast shape and of the common dtype of both.

    Raises:
        InvalidArgumentError: for bools and floats.

    Example:
        >>> ops.bitwise_xor([6, 12], 10).numpy().tolist()
        [12, 6]
    """
    return _of_bits(tf.bitwise.bitwise_xor, *promote_tensors(x, y))


@symbolic_op
def bitwise_invert(x: Any) -> tf.Tensor:
    """Returns the integers with every bit flipped: `-x - 1` for signed ones.

    `bitwise_not` is the same function.

    Args:
        x: a tensor of integers of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for bools and floats; for bools use `logical_not`.

    Example:
        >>> ops.bitwise_invert([0, 5]).numpy().tolist()
        [-1, -6]
        >>> ops.bitwise_invert(tf.constant([0, 5], "uint8")).numpy().tolist()
        [255, 250]
    """
    return _of_bits(tf.bitwise.invert, as_tensor(x))


@symbolic_op
def bitwise_left_shift(x: Any, y: Any) -> tf.Tensor:
    """Returns the bits of `x` moved up by `y` positions: `x * 2**y` as long as it fits into the dtype.

    `left_shift` is the same function.

    Args:
        x: a tensor of integers of any shape.
        y: number of bits, an integer tensor that broadcasts with `x`; a Python number gets the
            dtype of `x`. It should be in [0, bits of the dtype).

    Returns:
        A tensor of the broadcast shape and of the common dtype of both.

    Raises:
        InvalidArgumentError: for bools and floats.

    Example:
        >>> ops.bitwise_left_shift([1, 3], 2).numpy().tolist()
        [4, 12]
    """
    return _of_bits(tf.bitwise.left_shift, *promote(as_tensor(x), y))


@symbolic_op
def bitwise_right_shift(x: Any, y: Any) -> tf.Tensor:
    """Returns the bits of `x` moved down by `y` positions: `floor(x / 2**y)`.

    `right_shift` is the same function.

    Args:
        x: a tensor of integers of any shape.
        y: number of bits, an integer tensor that broadcasts with `x`; a Python number gets the
            dtype of `x`. It should be in [0, bits of the dtype).

    Returns:
        A tensor of the broadcast shape and of the common dtype of both.

    Raises:
        InvalidArgumentError: for bools and floats.

    Example:
        >>> ops.bitwise_right_shift([8, -5], 1).numpy().tolist()
        [4, -3]
    """
    return _of_bits(tf.bitwise.right_shift, *promote(as_tensor(x), y))


def _of_bits(function: Callable[..., tf.Tensor], *operands: tf.Tensor) -> tf.Tensor:
    """Returns `function` of integers.

    Symbolic tensors are floats where no dtype was given. For these, the result has Keras's shape and dtype,
    and is refused when it is computed.
    """
    if is_described() and operands[0].dtype.is_floating:
        return functools.reduce(tf.add, operands)
    return function(*operands)


bitwise_not = bitwise_invert
left_shift = bitwise_left_shift
right_shift = bitwise_right_shift
