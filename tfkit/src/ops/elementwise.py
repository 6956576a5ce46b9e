"""Operations on one operand, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.ops.promotion import as_tensor, to_float, to_float32, to_wide_float, without_bool
from tfkit.src.ops.sparse import made_dense, zeros_stay

# --- Powers, exponentials, logarithms -------------------------------------------------------------


@zeros_stay
def square(x: Any) -> tf.Tensor:
    """Returns `x * x`.

    Args:
        x: a tensor of any shape and of any number dtype; bools are cast to int32.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse. Squares of
        integers that do not fit into the dtype wrap around.

    Example:
        >>> ops.square([-2, 3]).numpy().tolist()
        [4, 9]
    """
    return tf.square(without_bool(x))


@zeros_stay
def sqrt(x: Any) -> tf.Tensor:
    """Returns the square root of each element, NaN where a real `x` is negative.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.sqrt([0, 4, 9]).numpy()
        array([0., 2., 3.], dtype=float32)
        >>> ops.sqrt(tf.constant([-1.0])).numpy()
        array([nan], dtype=float32)
    """
    return tf.sqrt(to_float(x))


@made_dense
def rsqrt(x: Any) -> tf.Tensor:
    """Returns `1 / sqrt(x)`: infinity at 0, NaN where a real `x` is negative.

    Args:
        x: a tensor of any shape, of a float or complex dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for integers and bools; cast them first.

    Example:
        >>> ops.rsqrt([0.25, 1.0, 4.0]).numpy().tolist()
        [2.0, 1.0, 0.5]
    """
    return tf.math.rsqrt(as_tensor(x))


@zeros_stay
def cbrt(x: Any) -> tf.Tensor:
    """Returns the real cube root of each element, which is negative for negative numbers.

    Args:
        x: a real tensor of any shape; int64 is cast to float64, other integers and bools to the
            default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.cbrt([-8.0, 0.0, 27.0]).numpy().round(4)
        array([-2.,  0.,  3.], dtype=float32)
    """
    x = to_wide_float(x)
    # A third in half precision is off by enough to change powers of large numbers by a twentieth.
    wide = to_float32(x)
    return tf.cast(tf.sign(wide) * tf.pow(tf.abs(wide), 1.0 / 3.0), x.dtype)


@made_dense
def reciprocal(x: Any) -> tf.Tensor:
    """Returns `1 / x`, plus or minus infinity at plus or minus 0.

    Args:
        x: a tensor of any shape, of a float or complex dtype. For integers use
            `ops.divide(1, x)`.

    Returns:
        A dense tensor of the shape and dtype of `x`.

    Example:
        >>> ops.reciprocal([0.5, -4.0, 0.0]).numpy().tolist()
        [2.0, -0.25, inf]
    """
    return tf.math.reciprocal(as_tensor(x))


@made_dense
def exp(x: Any) -> tf.Tensor:
    """Returns e to the power of `x`, element by element.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype. Results that are too large for
        it are infinity: in float32 from about 88.7 on.

    Example:
        >>> ops.exp([0, 1]).numpy().round(4)
        array([1.    , 2.7183], dtype=float32)
    """
    return tf.exp(to_float(x))


@made_dense
def exp2(x: Any) -> tf.Tensor:
    """Returns 2 to the power of `x`, element by element.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype.

    Example:
        >>> ops.exp2([-1, 0, 3]).numpy().tolist()
        [0.5, 1.0, 8.0]
    """
    x = to_float(x)
    return tf.pow(tf.constant(2.0, x.dtype), x)


@zeros_stay
def expm1(x: Any) -> tf.Tensor:
    """Returns `exp(x) - 1`, exact also for `x` near 0, where the difference would lose digits.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.expm1([0.0, 1.0]).numpy().round(4)
        array([0.    , 1.7183], dtype=float32)
        >>> float(ops.expm1(1e-10)) > 0, float(ops.exp(1e-10) - 1) > 0
        (True, False)
    """
    return tf.math.expm1(to_float(x))


@made_dense
def log(x: Any) -> tf.Tensor:
    """Returns the natural logarithm: minus infinity at 0, NaN where a real `x` is negative.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype.

    Example:
        >>> ops.log([1.0, 10.0, 0.0]).numpy().round(4)
        array([0.    , 2.3026,   -inf], dtype=float32)
    """
    return tf.math.log(to_float(x))


@made_dense
def log10(x: Any) -> tf.Tensor:
    """Returns the logarithm to base 10: minus infinity at 0, NaN where a real `x` is negative.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype.

    Example:
        >>> ops.log10([1, 1000]).numpy().round(4)
        array([0., 3.], dtype=float32)
    """
    x = to_float(x)
    return tf.math.log(x) / tf.math.log(tf.constant(10, x.dtype))


@made_dense
def log2(x: Any) -> tf.Tensor:
    """Returns the logarithm to base 2: minus infinity at 0, NaN where a real `x` is negative.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype.

    Example:
        >>> ops.log2([1, 8]).numpy().round(4)
        array([0., 3.], dtype=float32)
    """
    x = to_float(x)
    return tf.math.log(x) / tf.math.log(tf.constant(2, x.dtype))


@zeros_stay
def log1p(x: Any) -> tf.Tensor:
    """Returns `log(1 + x)`, exact also for `x` near 0, where the sum would lose digits.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype. The
            result is minus infinity at -1 and NaN below.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.log1p([0.0, 1.0]).numpy().round(4)
        array([0.    , 0.6931], dtype=float32)
        >>> float(ops.log1p(1e-10)) > 0, float(ops.log(1 + tf.constant(1e-10))) > 0
        (True, False)
    """
    return tf.math.log1p(to_float(x))


# --- Trigonometry ---------------------------------------------------------------------------------


@zeros_stay
def sin(x: Any) -> tf.Tensor:
    """Returns the sine of angles in radians.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse. Its
        values are in [-1, 1], or NaN for infinity and NaN.

    Example:
        >>> ops.sin([0.0, np.pi / 6, np.pi / 2]).numpy().round(4)
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return tf.sin(to_float(x))


@made_dense
def cos(x: Any) -> tf.Tensor:
    """Returns the cosine of angles in radians.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype. Its values are in [-1, 1], or
        NaN for infinity and NaN.

    Example:
        >>> ops.cos([0.0, np.pi / 3, np.pi]).numpy().round(4)
        array([ 1. ,  0.5, -1. ], dtype=float32)
    """
    return tf.cos(to_float(x))


@zeros_stay
def tan(x: Any) -> tf.Tensor:
    """Returns the tangent `sin(x) / cos(x)` of angles in radians.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.tan([0.0, np.pi / 4, -np.pi / 4]).numpy().round(4)
        array([ 0.,  1., -1.], dtype=float32)
    """
    return tf.tan(to_float(x))


@zeros_stay
def arcsin(x: Any) -> tf.Tensor:
    """Returns the angle whose sine is `x`, in radians from -pi / 2 to pi / 2.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.
        Real numbers outside [-1, 1] give NaN.

    Example:
        >>> ops.arcsin([0.0, 0.5, 1.0, 2.0]).numpy().round(4)
        array([0.    , 0.5236, 1.5708,    nan], dtype=float32)
    """
    return tf.asin(to_float(x))


@made_dense
def arccos(x: Any) -> tf.Tensor:
    """Returns the angle whose cosine is `x`, in radians from 0 to pi.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype. Real numbers outside [-1, 1]
        give NaN.

    Example:
        >>> ops.arccos([1.0, 0.0, -1.0, 2.0]).numpy().round(4)
        array([0.    , 1.5708, 3.1416,    nan], dtype=float32)
    """
    return tf.acos(to_float(x))


@zeros_stay
def arctan(x: Any) -> tf.Tensor:
    """Returns the angle whose tangent is `x`, in radians from -pi / 2 to pi / 2.

    For the angle of a point in any quadrant, see `arctan2`.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.arctan([0.0, 1.0, -np.inf]).numpy().round(4)
        array([ 0.    ,  0.7854, -1.5708], dtype=float32)
    """
    return tf.atan(to_float(x))


@zeros_stay
def sinh(x: Any) -> tf.Tensor:
    """Returns the hyperbolic sine `(exp(x) - exp(-x)) / 2`.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.sinh([0.0, 1.0, -1.0]).numpy().round(4)
        array([ 0.    ,  1.1752, -1.1752], dtype=float32)
    """
    return tf.sinh(to_float(x))


@made_dense
def cosh(x: Any) -> tf.Tensor:
    """Returns the hyperbolic cosine `(exp(x) + exp(-x)) / 2`.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype. Its real values are at least 1.

    Example:
        >>> ops.cosh([0.0, 1.0, -1.0]).numpy().round(4)
        array([1.    , 1.5431, 1.5431], dtype=float32)
    """
    return tf.cosh(to_float(x))


@zeros_stay
def tanh(x: Any) -> tf.Tensor:
    """Returns the hyperbolic tangent `sinh(x) / cosh(x)`.

    As an activation function it maps real numbers to (-1, 1).

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.tanh([0.0, 1.0, -20.0]).numpy().round(4)
        array([ 0.    ,  0.7616, -1.    ], dtype=float32)
    """
    return tf.tanh(to_float(x))


@zeros_stay
def arcsinh(x: Any) -> tf.Tensor:
    """Returns the number whose hyperbolic sine is `x`: `log(x + sqrt(x**2 + 1))`.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.arcsinh([0.0, 1.0, -1.0]).numpy().round(4)
        array([ 0.    ,  0.8814, -0.8814], dtype=float32)
    """
    return tf.asinh(to_float(x))


@made_dense
def arccosh(x: Any) -> tf.Tensor:
    """Returns the number from 0 on whose hyperbolic cosine is `x`: `log(x + sqrt(x**2 - 1))`.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype. Real numbers below 1 give NaN.

    Example:
        >>> ops.arccosh([1.0, 2.0, 0.5]).numpy().round(4)
        array([0.   , 1.317,   nan], dtype=float32)
    """
    return tf.acosh(to_float(x))


@zeros_stay
def arctanh(x: Any) -> tf.Tensor:
    """Returns the number whose hyperbolic tangent is `x`: `log((1 + x) / (1 - x)) / 2`.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse. It
        is plus or minus infinity at 1 and -1; real numbers outside [-1, 1] give NaN.

    Example:
        >>> ops.arctanh([0.0, 0.5, 1.0, 2.0]).numpy().round(4)
        array([0.    , 0.5493,    inf,    nan], dtype=float32)
    """
    return tf.atanh(to_float(x))


@made_dense
def sinc(x: Any) -> tf.Tensor:
    """Returns the normalized sinc function `sin(pi * x) / (pi * x)`, which is 1 at 0.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype.

    Example:
        >>> ops.sinc([0.0, 0.5, 1.5]).numpy().round(4)
        array([ 1.    ,  0.6366, -0.2122], dtype=float32)
    """
    x = to_float(x)
    dtype, x = x.dtype, to_float32(x)
    pi = tf.constant(math.pi, x.dtype)
    if x.dtype.is_complex:
        return tf.where(x == 0, tf.ones_like(x), tf.sin(pi * x) / (pi * x))
    # Around 0 a parabola is exact; the quotient has no gradient at 0. At infinity the limit is 0.
    near, far = tf.abs(x) < 1e-4, tf.math.is_inf(x)
    regular = tf.where(near | far, tf.ones_like(x), x)
    turns = regular - 2 * tf.round(regular / 2)  # Exact; pi times a large number is not.
    quotient = tf.sin(pi * turns) / pi / regular
    parabola = 1 - tf.square(pi * tf.where(near, x, tf.zeros_like(x))) / 6
    return tf.cast(tf.where(near, parabola, tf.where(far, tf.zeros_like(x), quotient)), dtype)


@zeros_stay
def deg2rad(x: Any) -> tf.Tensor:
    """Returns angles in radians from angles in degrees: `x * pi / 180`.

    Args:
        x: a tensor of any shape; int64 is cast to float64, other integers and bools to the
            default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.deg2rad([0, 90, 180]).numpy().round(4)
        array([0.    , 1.5708, 3.1416], dtype=float32)
    """
    x = to_wide_float(x)
    return x * (tf.constant(math.pi, x.dtype) / tf.constant(180.0, x.dtype))


@zeros_stay
def rad2deg(x: Any) -> tf.Tensor:
    """Returns angles in degrees from angles in radians: `x * 180 / pi`.

    Args:
        x: a tensor of any shape; int64 is cast to float64, other integers and bools to the
            default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.rad2deg([0.0, np.pi / 2, np.pi]).numpy().round(3)
        array([  0.,  90., 180.], dtype=float32)
    """
    x = to_wide_float(x)
    return x * (tf.constant(180.0, x.dtype) / tf.constant(math.pi, x.dtype))


@made_dense
def i0(x: Any) -> tf.Tensor:
    """Returns the modified Bessel function of the first kind of order 0.

    It is the series `sum((x / 2)**(2 * k) / factorial(k)**2)` over all `k` from 0 on; `kaiser` uses it.

    Args:
        x: a tensor of any shape; int64 is cast to float64, other integers and bools to the
            default float dtype. Complex numbers are refused.

    Returns:
        A dense tensor of the shape of `x` and of its float dtype.

    Example:
        >>> ops.i0([0.0, 1.0, -1.0]).numpy().round(4)
        array([1.    , 1.2661, 1.2661], dtype=float32)
    """
    x = to_wide_float(x)
    if x.dtype in (tf.float16, tf.bfloat16):
        return tf.cast(tf.math.bessel_i0(tf.cast(x, tf.float32)), x.dtype)
    return tf.math.bessel_i0(x)


@zeros_stay
def erf(x: Any) -> tf.Tensor:
    """Returns the error function `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `x`.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse. Its
        values are in [-1, 1].

    Raises:
        InvalidArgumentError: for integers, bools and complex numbers.

    Example:
        >>> ops.erf([0.0, 1.0, -1.0]).numpy().round(4)
        array([ 0.    ,  0.8427, -0.8427], dtype=float32)
    """
    x = as_tensor(x)
    # The kernel of float64 returns NaN for large numbers, where the function is 1 or -1.
    return tf.math.erf(tf.clip_by_value(x, -10.0, 10.0) if x.dtype == tf.float64 else x)


@made_dense
def erfc(x: Any) -> tf.Tensor:
    """Returns the complementary error function `1 - erf(x)`, exact also where `erf(x)` is nearly 1.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`, with values in [0, 2].

    Raises:
        InvalidArgumentError: for integers, bools and complex numbers.

    Example:
        >>> ops.erfc([0.0, 1.0]).numpy().round(4)
        array([1.    , 0.1573], dtype=float32)
        >>> bool(ops.erfc(5.0) > 0)
        True
    """
    return tf.math.erfc(x)


@zeros_stay
def erfinv(x: Any) -> tf.Tensor:
    """Returns the number whose error function is `x`: the inverse of `erf`.

    Args:
        x: a tensor of any shape, of a real float dtype, with values in [-1, 1].

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse. It
        is plus or minus infinity at 1 and -1, NaN outside.

    Raises:
        InvalidArgumentError: for integers, bools and complex numbers.

    Example:
        >>> ops.erfinv([0.0, 0.5, 1.0, 2.0]).numpy().round(4)
        array([0.    , 0.4769,    inf,    nan], dtype=float32)
    """
    x = as_tensor(x)
    if x.dtype in (tf.float16, tf.bfloat16):
        return tf.cast(tf.math.erfinv(tf.cast(x, tf.float32)), x.dtype)
    return tf.math.erfinv(x)


# --- Signs, rounding, ranges ----------------------------------------------------------------------


@zeros_stay
def abs(x: Any) -> tf.Tensor:
    """Returns the absolute value of each element; `absolute` is the same function.

    Args:
        x: a tensor of any shape and dtype. The result for a complex number is its modulus.

    Returns:
        A tensor of the shape and dtype of `x`, of the real dtype where `x` is complex. The least
        number of a signed integer dtype has no absolute value there and is not changed.

    Example:
        >>> ops.abs([-2, 3]).numpy().tolist()
        [2, 3]
        >>> ops.abs(tf.constant(3 + 4j)).numpy()
        np.float64(5.0)
    """
    x = as_tensor(x)
    # TensorFlow has no kernel for these.
    return x if x.dtype.is_unsigned or x.dtype == tf.bool else tf.abs(x)


absolute = abs


@zeros_stay
def fabs(x: Any) -> tf.Tensor:
    """Returns the absolute value of each element as a float.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype. The result
            for a complex number is its modulus.

    Returns:
        A tensor of the shape of `x`, of its float dtype, or of the real dtype where `x` is
        complex.

    Example:
        >>> ops.fabs([-2, 3]).numpy()
        array([2., 3.], dtype=float32)
    """
    return tf.abs(to_float(x))


@zeros_stay
def negative(x: Any) -> tf.Tensor:
    """Returns `-x`, element by element.

    Args:
        x: a tensor of any shape, of a signed integer, float or complex dtype.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Raises:
        InvalidArgumentError: for bools and 8-bit unsigned integers.

    Example:
        >>> ops.negative([1, -2, 0]).numpy().tolist()
        [-1, 2, 0]
    """
    return tf.negative(x)


@zeros_stay
def sign(x: Any) -> tf.Tensor:
    """Returns -1, 0 or 1 for negative, zero and positive numbers.

    Args:
        x: a tensor of any shape and number dtype. A complex number gives `x / abs(x)`, and 0 at
            0.

    Returns:
        A tensor of the shape and dtype of `x`; NaN stays NaN.

    Raises:
        InvalidArgumentError: for bools.

    Example:
        >>> ops.sign([-3.5, 0.0, 2.0]).numpy().tolist()
        [-1.0, 0.0, 1.0]
    """
    x = as_tensor(x)
    if x.dtype.is_unsigned:
        return tf.cast(x > 0, x.dtype)
    return tf.sign(x)


@made_dense
def signbit(x: Any) -> tf.Tensor:
    """Returns whether the sign bit is set: true for negative numbers and for -0.0.

    Args:
        x: a real tensor of any shape. Bools and unsigned integers have no sign bit.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.signbit([-1.0, -0.0, 0.0, 1.0]).numpy().tolist()
        [True, True, False, False]
    """
    x = as_tensor(x)
    if x.dtype == tf.bool:
        return tf.zeros_like(x)
    if x.dtype.is_integer:
        return x < 0
    # The sign bit itself, since -0.0 is not less than 0; the integer has the same sign bit.
    return tf.bitcast(tf.cast(x, tf.float32), tf.int32) < 0


@zeros_stay
def ceil(x: Any) -> tf.Tensor:
    """Returns the smallest whole number that is not below `x`, as a float.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.ceil([-1.5, 0.2, 2.0]).numpy().tolist()
        [-1.0, 1.0, 2.0]
    """
    return tf.math.ceil(to_float(x))


@zeros_stay
def floor(x: Any) -> tf.Tensor:
    """Returns the largest whole number that is not above `x`, as a float.

    Args:
        x: a real tensor of any shape; integers and bools are cast to the default float dtype.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.floor([-1.5, 0.2, 2.0]).numpy().tolist()
        [-2.0, 0.0, 2.0]
    """
    return tf.floor(to_float(x))


@zeros_stay
def trunc(x: Any) -> tf.Tensor:
    """Returns `x` rounded towards zero.

    Args:
        x: a real tensor of any shape; integers and bools are returned unchanged.

    Returns:
        A tensor of the shape and dtype of `x`.

    Example:
        >>> ops.trunc([-1.7, -0.2, 1.7]).numpy().tolist()
        [-1.0, -0.0, 1.0]
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        return x
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))


@zeros_stay
def round(x: Any, decimals: int = 0) -> tf.Tensor:
    """Returns `x` rounded to a number of decimal places, halves to the even neighbour.

    Args:
        x: a real tensor of any shape.
        decimals: number of decimal places. A negative number counts digits before the point: -1
            rounds to tens. Default: `0`.

    Returns:
        A tensor of the shape and dtype of `x`; integers stay unchanged unless `decimals` is
        negative.

    Example:
        >>> ops.round([0.5, 1.5, -1.25]).numpy().tolist()
        [0.0, 2.0, -1.0]
        >>> ops.round([1234, 1278], -2).numpy().tolist()
        [1200, 1300]
    """
    x = as_tensor(x)
    if decimals == 0:
        return tf.round(x)
    if x.dtype.is_integer and decimals > 0:
        return x
    if x.dtype.is_integer:
        return _rounded_to(x, 10**-decimals)
    factor = tf.constant(10.0**decimals, x.dtype)
    scaled = x * factor
    # A number so large that its product is infinite has no decimals.
    return tf.where(tf.math.is_inf(scaled), x, tf.round(scaled) / factor)


def _rounded_to(x: tf.Tensor, unit: int) -> tf.Tensor:
    """Returns integers rounded to multiples of `unit`, from the middle to even multiples."""
    wide = x if x.dtype == tf.uint64 else tf.cast(x, tf.int64)
    if unit > wide.dtype.max:
        return tf.zeros_like(x)
    below = tf.math.floordiv(wide, unit)
    rest = wide - below * unit
    odd = tf.equal(tf.math.floormod(below, 2), 1)
    # Not `2 * rest > unit`, which could overflow.
    up = (rest > unit - rest) | (tf.equal(rest, unit - rest) & odd)
    return tf.cast((below + tf.cast(up, wide.dtype)) * unit, x.dtype)


@made_dense
def clip(x: Any, x_min: Any, x_max: Any) -> tf.Tensor:
    """Returns `x` limited to a range: `minimum(maximum(x, x_min), x_max)`.

    Args:
        x: a real tensor of any shape; bools are cast to int32.
        x_min: smallest value of the result, a number or a tensor that broadcasts to the shape of
            `x`.
        x_max: largest value of the result, a number or a tensor that broadcasts to the shape of
            `x`.

    Returns:
        A dense tensor of the shape and dtype of `x`; NaN stays NaN.

    Example:
        >>> ops.clip([-2.0, 0.5, 7.0], -1.0, 1.0).numpy().tolist()
        [-1.0, 0.5, 1.0]
    """
    return tf.clip_by_value(without_bool(x), x_min, x_max)


@zeros_stay
def nan_to_num(
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> tf.Tensor:
    """Returns `x` with NaN and infinities replaced by finite numbers.

    Args:
        x: a tensor of any shape; where it is not of a real float dtype, it is returned unchanged.
        nan: replacement of NaN. Default: `0.0`.
        posinf: replacement of infinity; `None` for the largest finite number of the dtype.
        neginf: replacement of minus infinity; `None` for the smallest finite number of the dtype.

    Returns:
        A tensor of the shape and dtype of `x`.

    Example:
        >>> x = tf.constant([np.nan, np.inf, -np.inf, 1.0])
        >>> ops.nan_to_num(x, posinf=9.0, neginf=-9.0).numpy().tolist()
        [0.0, 9.0, -9.0, 1.0]
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        return x
    posinf = x.dtype.max if posinf is None else posinf
    neginf = x.dtype.min if neginf is None else neginf
    infinite = tf.math.is_inf(x)
    x = tf.where(tf.math.is_nan(x), tf.constant(nan, x.dtype), x)
    # By the infinities of the original: a replacement for NaN may be infinite.
    x = tf.where(infinite & (x > 0), tf.constant(posinf, x.dtype), x)
    return tf.where(infinite & (x < 0), tf.constant(neginf, x.dtype), x)


# --- Tests for special values ---------------------------------------------------------------------


def _always(x: Any, value: bool) -> tf.Tensor:
    return tf.fill(tf.shape(x), value)


@made_dense
def isfinite(x: Any) -> tf.Tensor:
    """Returns whether each element is neither infinite nor NaN.

    Args:
        x: a tensor of any shape; integers and bools are always finite.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.isfinite([1.0, np.inf, np.nan]).numpy().tolist()
        [True, False, False]
    """
    x = as_tensor(x)
    return tf.math.is_finite(x) if x.dtype.is_floating else _always(x, True)


@zeros_stay
def isinf(x: Any) -> tf.Tensor:
    """Returns whether each element is plus or minus infinity.

    Args:
        x: a tensor of any shape; integers and bools are never infinite.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.isinf([1.0, -np.inf, np.nan]).numpy().tolist()
        [False, True, False]
    """
    x = as_tensor(x)
    return tf.math.is_inf(x) if x.dtype.is_floating else _always(x, False)


@zeros_stay
def isnan(x: Any) -> tf.Tensor:
    """Returns whether each element is NaN ("not a number").

    Args:
        x: a tensor of any shape; integers and bools are never NaN.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.isnan([1.0, np.inf, np.nan]).numpy().tolist()
        [False, False, True]
    """
    x = as_tensor(x)
    return tf.math.is_nan(x) if x.dtype.is_floating else _always(x, False)


@zeros_stay
def isposinf(x: Any) -> tf.Tensor:
    """Returns whether each element is plus infinity.

    Args:
        x: a real tensor of any shape; integers and bools are never infinite.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.isposinf([1.0, np.inf, -np.inf]).numpy().tolist()
        [False, True, False]
    """
    x = as_tensor(x)
    return tf.equal(x, np.inf) if x.dtype.is_floating else _always(x, False)


@zeros_stay
def isneginf(x: Any) -> tf.Tensor:
    """Returns whether each element is minus infinity.

    Args:
        x: a real tensor of any shape; integers and bools are never infinite.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.isneginf([1.0, np.inf, -np.inf]).numpy().tolist()
        [False, False, True]
    """
    x = as_tensor(x)
    return tf.equal(x, -np.inf) if x.dtype.is_floating else _always(x, False)


@made_dense
def isreal(x: Any) -> tf.Tensor:
    """Returns whether the imaginary part of each element is 0.

    Args:
        x: a tensor of any shape; every element of a real tensor is real.

    Returns:
        A bool tensor of the shape of `x`.

    Example:
        >>> ops.isreal(tf.constant([1 + 0j, 1 + 2j])).numpy().tolist()
        [True, False]
    """
    x = as_tensor(x)
    return tf.equal(tf.math.imag(x), 0) if x.dtype.is_complex else _always(x, True)
