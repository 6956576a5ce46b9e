"""Operations on one operand, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.ops.promotion import as_tensor, to_float, without_bool
from tfkit.ops.sparse import made_dense, zeros_stay
from tfkit.symbolic import symbolic_op

# --- Powers, exponentials, logarithms -------------------------------------------------------------


@symbolic_op
@zeros_stay
def square(x: Any) -> tf.Tensor:
    """`x * x`."""
    return tf.square(without_bool(x))


@symbolic_op
@zeros_stay
def sqrt(x: Any) -> tf.Tensor:
    """The square root."""
    return tf.sqrt(to_float(x))


@symbolic_op
@made_dense
def rsqrt(x: Any) -> tf.Tensor:
    """`1 / sqrt(x)`."""
    return tf.math.rsqrt(as_tensor(x))


@symbolic_op
@zeros_stay
def cbrt(x: Any) -> tf.Tensor:
    """The cube root, of negative numbers too."""
    x = as_tensor(x)
    x = tf.cast(x, tf.float64) if x.dtype == tf.int64 else to_float(x)
    return tf.sign(x) * tf.pow(tf.abs(x), 1.0 / 3.0)


@symbolic_op
@made_dense
def reciprocal(x: Any) -> tf.Tensor:
    """`1 / x`."""
    return tf.math.reciprocal(as_tensor(x))


@symbolic_op
@made_dense
def exp(x: Any) -> tf.Tensor:
    """e to the power of `x`."""
    return tf.exp(to_float(x))


@symbolic_op
@made_dense
def exp2(x: Any) -> tf.Tensor:
    """2 to the power of `x`."""
    x = to_float(x)
    return tf.pow(tf.constant(2.0, x.dtype), x)


@symbolic_op
@zeros_stay
def expm1(x: Any) -> tf.Tensor:
    """`exp(x) - 1`, exact for small `x`."""
    return tf.math.expm1(to_float(x))


@symbolic_op
@made_dense
def log(x: Any) -> tf.Tensor:
    """The natural logarithm."""
    return tf.math.log(to_float(x))


@symbolic_op
@made_dense
def log10(x: Any) -> tf.Tensor:
    """The logarithm to base 10."""
    x = to_float(x)
    return tf.math.log(x) / tf.math.log(tf.constant(10, x.dtype))


@symbolic_op
@made_dense
def log2(x: Any) -> tf.Tensor:
    """The logarithm to base 2."""
    x = to_float(x)
    return tf.math.log(x) / tf.math.log(tf.constant(2, x.dtype))


@symbolic_op
@zeros_stay
def log1p(x: Any) -> tf.Tensor:
    """`log(1 + x)`, exact for small `x`."""
    return tf.math.log1p(to_float(x))


# --- Trigonometry ---------------------------------------------------------------------------------


@symbolic_op
@zeros_stay
def sin(x: Any) -> tf.Tensor:
    """The sine of radians."""
    return tf.sin(to_float(x))


@symbolic_op
@made_dense
def cos(x: Any) -> tf.Tensor:
    """The cosine of radians."""
    return tf.cos(to_float(x))


@symbolic_op
@zeros_stay
def tan(x: Any) -> tf.Tensor:
    """The tangent of radians."""
    return tf.tan(to_float(x))


@symbolic_op
@zeros_stay
def arcsin(x: Any) -> tf.Tensor:
    """The angle whose sine is `x`, in radians."""
    return tf.asin(to_float(x))


@symbolic_op
@made_dense
def arccos(x: Any) -> tf.Tensor:
    """The angle whose cosine is `x`, in radians."""
    return tf.acos(to_float(x))


@symbolic_op
@zeros_stay
def arctan(x: Any) -> tf.Tensor:
    """The angle whose tangent is `x`, in radians."""
    return tf.atan(to_float(x))


@symbolic_op
@zeros_stay
def sinh(x: Any) -> tf.Tensor:
    """The hyperbolic sine."""
    return tf.sinh(to_float(x))


@symbolic_op
@made_dense
def cosh(x: Any) -> tf.Tensor:
    """The hyperbolic cosine."""
    return tf.cosh(to_float(x))


@symbolic_op
@zeros_stay
def tanh(x: Any) -> tf.Tensor:
    """The hyperbolic tangent."""
    return tf.tanh(to_float(x))


@symbolic_op
@zeros_stay
def arcsinh(x: Any) -> tf.Tensor:
    """The number whose hyperbolic sine is `x`."""
    return tf.asinh(to_float(x))


@symbolic_op
@made_dense
def arccosh(x: Any) -> tf.Tensor:
    """The number whose hyperbolic cosine is `x`."""
    return tf.acosh(to_float(x))


@symbolic_op
@zeros_stay
def arctanh(x: Any) -> tf.Tensor:
    """The number whose hyperbolic tangent is `x`."""
    return tf.atanh(to_float(x))


@symbolic_op
@made_dense
def sinc(x: Any) -> tf.Tensor:
    """`sin(pi x) / (pi x)`, and 1 at 0."""
    x = to_float(x)
    angle = x * tf.constant(math.pi, x.dtype)
    return tf.where(x == 0, tf.ones_like(x), tf.sin(angle) / angle)


def _to_wide_float(x: Any) -> Any:
    x = as_tensor(x)
    return tf.cast(x, tf.float64) if x.dtype == tf.int64 else to_float(x)


@symbolic_op
@zeros_stay
def deg2rad(x: Any) -> tf.Tensor:
    """Degrees to radians."""
    x = _to_wide_float(x)
    return x * (tf.constant(math.pi, x.dtype) / tf.constant(180.0, x.dtype))


@symbolic_op
@zeros_stay
def rad2deg(x: Any) -> tf.Tensor:
    """Radians to degrees."""
    x = _to_wide_float(x)
    return x * (tf.constant(180.0, x.dtype) / tf.constant(math.pi, x.dtype))


@symbolic_op
@made_dense
def i0(x: Any) -> tf.Tensor:
    """The modified Bessel function of the first kind, order 0."""
    return tf.math.bessel_i0(_to_wide_float(x))


@symbolic_op
@zeros_stay
def erf(x: Any) -> tf.Tensor:
    """The Gauss error function."""
    return tf.math.erf(as_tensor(x))


@symbolic_op
@made_dense
def erfc(x: Any) -> tf.Tensor:
    """`1 - erf(x)`, exact for large `x`."""
    return tf.math.erfc(x)


@symbolic_op
@zeros_stay
def erfinv(x: Any) -> tf.Tensor:
    """The number whose error function is `x`."""
    x = as_tensor(x)
    if x.dtype in (tf.float16, tf.bfloat16):
        return tf.cast(tf.math.erfinv(tf.cast(x, tf.float32)), x.dtype)
    return tf.math.erfinv(x)


# --- Signs, rounding, ranges ----------------------------------------------------------------------


@symbolic_op
@zeros_stay
def abs(x: Any) -> tf.Tensor:
    """The absolute value."""
    x = as_tensor(x)
    return x if x.dtype.is_unsigned or x.dtype == tf.bool else tf.abs(x)


absolute = abs


@symbolic_op
@zeros_stay
def fabs(x: Any) -> tf.Tensor:
    """The absolute value as a float."""
    return tf.abs(to_float(x))


@symbolic_op
@zeros_stay
def negative(x: Any) -> tf.Tensor:
    """`-x`."""
    return tf.negative(x)


@symbolic_op
@zeros_stay
def sign(x: Any) -> tf.Tensor:
    """-1, 0 or 1 for negative, zero and positive numbers."""
    x = as_tensor(x)
    if x.dtype.is_unsigned:
        return tf.cast(x > 0, x.dtype)
    return tf.sign(x)


@symbolic_op
@made_dense
def signbit(x: Any) -> tf.Tensor:
    """Whether the sign bit is set: for negative numbers and for -0.0."""
    x = as_tensor(x)
    if x.dtype == tf.bool:
        return tf.zeros_like(x)
    if x.dtype.is_integer:
        return x < 0
    return tf.bitcast(tf.cast(x, tf.float32), tf.int32) < 0


@symbolic_op
@zeros_stay
def ceil(x: Any) -> tf.Tensor:
    """The smallest whole number that is not below `x`, as a float."""
    return tf.math.ceil(to_float(x))


@symbolic_op
@zeros_stay
def floor(x: Any) -> tf.Tensor:
    """The largest whole number that is not above `x`, as a float."""
    return tf.floor(to_float(x))


@symbolic_op
@zeros_stay
def trunc(x: Any) -> tf.Tensor:
    """`x` rounded towards zero."""
    x = as_tensor(x)
    if not x.dtype.is_floating:
        return x
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))


@symbolic_op
@zeros_stay
def round(x: Any, decimals: int = 0) -> tf.Tensor:
    """`x` rounded to `decimals` places (before the point where negative), halves to even."""
    x = as_tensor(x)
    if decimals == 0:
        return tf.round(x)
    if x.dtype.is_integer and decimals > 0:
        return x
    scaled = to_float(x)
    factor = tf.constant(10.0**decimals, scaled.dtype)
    return tf.cast(tf.round(scaled * factor) / factor, x.dtype)


@symbolic_op
@made_dense
def clip(x: Any, x_min: Any, x_max: Any) -> tf.Tensor:
    """`x` limited to the range from `x_min` to `x_max`."""
    return tf.clip_by_value(without_bool(x), x_min, x_max)


@symbolic_op
@zeros_stay
def nan_to_num(
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> tf.Tensor:
    """`x` with NaN and infinities replaced by numbers.

    Args:
        x: a tensor.
        nan: stands in for NaN.
        posinf: stands in for infinity; the largest number of the dtype unless given.
        neginf: stands in for minus infinity; the smallest number of the dtype unless given.
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        return x
    posinf = x.dtype.max if posinf is None else posinf
    neginf = x.dtype.min if neginf is None else neginf
    infinite = tf.math.is_inf(x)
    x = tf.where(tf.math.is_nan(x), tf.constant(nan, x.dtype), x)
    x = tf.where(infinite & (x > 0), tf.constant(posinf, x.dtype), x)
    return tf.where(infinite & (x < 0), tf.constant(neginf, x.dtype), x)


# --- Tests for special values ---------------------------------------------------------------------


def _always(x: Any, value: bool) -> tf.Tensor:
    return tf.fill(tf.shape(x), value)


@symbolic_op
@made_dense
def isfinite(x: Any) -> tf.Tensor:
    """Whether `x` is neither infinite nor NaN."""
    x = as_tensor(x)
    return tf.math.is_finite(x) if x.dtype.is_floating else _always(x, True)


@symbolic_op
@zeros_stay
def isinf(x: Any) -> tf.Tensor:
    """Whether `x` is infinite."""
    x = as_tensor(x)
    return tf.math.is_inf(x) if x.dtype.is_floating else _always(x, False)


@symbolic_op
@zeros_stay
def isnan(x: Any) -> tf.Tensor:
    """Whether `x` is NaN."""
    x = as_tensor(x)
    return tf.math.is_nan(x) if x.dtype.is_floating else _always(x, False)


@symbolic_op
@zeros_stay
def isposinf(x: Any) -> tf.Tensor:
    """Whether `x` is plus infinity."""
    x = as_tensor(x)
    return tf.equal(x, np.inf) if x.dtype.is_floating else _always(x, False)


@symbolic_op
@zeros_stay
def isneginf(x: Any) -> tf.Tensor:
    """Whether `x` is minus infinity."""
    x = as_tensor(x)
    return tf.equal(x, -np.inf) if x.dtype.is_floating else _always(x, False)


@symbolic_op
@made_dense
def isreal(x: Any) -> tf.Tensor:
    """Whether the imaginary part is 0."""
    x = as_tensor(x)
    return tf.equal(tf.math.imag(x), 0) if x.dtype.is_complex else _always(x, True)
