"""Tensors made from numbers and shapes."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.ops.checks import positive_axes, require_integers
from tfkit.src.ops.promotion import as_tensor, common_dtype, to_dtype
from tfkit.src.symbolic.tensors import symbolic_op


def _kind(x: Any) -> Any:
    return getattr(x, "dtype", type(x))


@symbolic_op
def zeros(shape: Any, dtype: Any = None) -> tf.Tensor:
    """Returns a tensor of zeros.

    Args:
        shape: a tuple or tensor of sizes.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        A tensor of shape `shape`.

    Example:
        >>> ops.zeros((2, 3)).numpy().tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        >>> ops.zeros((2,), dtype="int32").numpy().tolist()
        [0, 0]
    """
    return tf.zeros(shape, standardize_dtype(dtype))


@symbolic_op
def ones(shape: Any, dtype: Any = None) -> tf.Tensor:
    """Returns a tensor of ones.

    Args:
        shape: a tuple or tensor of sizes.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        A tensor of shape `shape`.

    Example:
        >>> ops.ones((2, 3)).numpy().tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        >>> ops.ones((2,), dtype="int32").numpy().tolist()
        [1, 1]
    """
    return tf.ones(shape, standardize_dtype(dtype))


@symbolic_op
def empty(shape: Any, dtype: Any = None) -> tf.Tensor:
    """Returns a tensor whose values are not promised; they are zeros here.

    Args:
        shape: a tuple or tensor of sizes.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        A tensor of shape `shape`. TensorFlow has no tensors without values, so that this saves no
        time over `zeros`.

    Example:
        >>> ops.empty((2, 3), dtype="float16").shape
        TensorShape([2, 3])
    """
    return tf.zeros(shape, standardize_dtype(dtype))


@symbolic_op
def full(shape: Any, fill_value: Any, dtype: Any = None) -> tf.Tensor:
    """Returns a tensor filled with one value.

    Args:
        shape: a tuple or tensor of sizes.
        fill_value: a number, or a tensor that broadcasts to `shape`.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        A tensor of shape `shape`. Unlike in NumPy, integers too become floats unless `dtype` says
        otherwise.

    Example:
        >>> ops.full((2, 2), 7).numpy().tolist()
        [[7.0, 7.0], [7.0, 7.0]]
        >>> ops.full((2, 2), [1, 2], dtype="int32").numpy().tolist()
        [[1, 2], [1, 2]]
    """
    return tf.broadcast_to(to_dtype(fill_value, tf.as_dtype(standardize_dtype(dtype))), shape)


@symbolic_op
def zeros_like(x: Any, dtype: Any = None) -> tf.Tensor:
    """Returns zeros in the shape of a tensor.

    Args:
        x: a tensor of any shape.
        dtype: dtype of the result; `None` for the dtype of `x`.

    Returns:
        A tensor of the shape of `x`.

    Example:
        >>> ops.zeros_like([[1, 2], [3, 4]]).numpy().tolist()
        [[0, 0], [0, 0]]
    """
    return tf.zeros_like(x, None if dtype is None else standardize_dtype(dtype))


@symbolic_op
def ones_like(x: Any, dtype: Any = None) -> tf.Tensor:
    """Returns ones in the shape of a tensor.

    Args:
        x: a tensor of any shape.
        dtype: dtype of the result; `None` for the dtype of `x`.

    Returns:
        A tensor of the shape of `x`.

    Example:
        >>> ops.ones_like([[1, 2], [3, 4]], dtype="float32").numpy().tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    return tf.ones_like(x, None if dtype is None else standardize_dtype(dtype))


@symbolic_op
def empty_like(x: Any, dtype: Any = None) -> tf.Tensor:
    """Returns a tensor of the same shape, whose values are not promised (they are zeros).

    Args:
        x: a tensor of any shape.
        dtype: dtype of the result; `None` for the dtype of `x`.

    Returns:
        A tensor of the shape of `x`.

    Example:
        >>> ops.empty_like(tf.ones((2, 3))).shape
        TensorShape([2, 3])
    """
    return tf.zeros_like(x, None if dtype is None else standardize_dtype(dtype))


@symbolic_op
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> tf.Tensor:
    """Returns a tensor of the same shape, filled with one value.

    Args:
        x: a tensor of any shape.
        fill_value: a number, or a tensor that broadcasts to the shape of `x`; cast to the dtype
            of the result.
        dtype: dtype of the result; `None` for the dtype of `x`.

    Returns:
        A tensor of the shape of `x`.

    Example:
        >>> ops.full_like([[1, 2], [3, 4]], 7).numpy().tolist()
        [[7, 7], [7, 7]]
    """
    x = as_tensor(x)
    dtype = x.dtype if dtype is None else tf.as_dtype(standardize_dtype(dtype))
    return tf.broadcast_to(to_dtype(fill_value, dtype), tf.shape(x))


@symbolic_op
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> tf.Tensor:
    """Returns evenly spaced values from `start` up to, but without, `stop`.

    Args:
        start: first value. A single argument is `stop`, and the values start at 0.
        stop: bound that is not reached any more.
        step: distance between values, not 0; `None` for 1.
        dtype: dtype of the result; `None` for the common dtype of the arguments.

    Returns:
        A vector of `ceil((stop - start) / step)` elements, empty where that is negative.

    Example:
        >>> ops.arange(3).numpy().tolist()
        [0, 1, 2]
        >>> ops.arange(5, 0, -2).numpy().tolist()
        [5, 3, 1]
        >>> ops.arange(0.0, 1.0, 0.25).numpy().tolist()
        [0.0, 0.25, 0.5, 0.75]
    """
    if dtype is None:
        dtype = common_dtype(*(_kind(x) for x in (start, stop, step) if x is not None))
    dtype = tf.as_dtype(standardize_dtype(dtype))
    step = 1 if step is None else step
    if dtype in (tf.int32, tf.int64, tf.float32, tf.float64):
        return tf.range(start, stop, delta=step, dtype=dtype)
    # TensorFlow has ranges of only these four dtypes.
    return tf.cast(tf.range(start, stop, delta=step, dtype=tf.float32), dtype)


@symbolic_op
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Returns a number of evenly spaced values from `start` to `stop`.

    Args:
        start: first value, a number or a tensor.
        stop: last value, a number or a tensor that broadcasts with `start`.
        num: number of values. Default: `50`.
        endpoint: whether `stop` is the last value; if not, it is the first one that is left out.
            Default: `True`.
        retstep: whether to return a pair with the distance between values. Default: `False`.
        dtype: dtype of the result; `None` for the common float dtype of `start` and `stop`.
            Values of an integer dtype are rounded down.
        axis: position of the new axis where `start` or `stop` is a tensor. Default: `0`.

    Returns:
        A tensor of the broadcast shape with a new axis of size `num`; with `retstep=True` a pair
        of it and the distance.

    Raises:
        ValueError: when `num` is negative.

    Example:
        >>> ops.linspace(0, 1, 5).numpy().tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
        >>> values, step = ops.linspace(0, 1, 4, endpoint=False, retstep=True)
        >>> values.numpy().tolist(), float(step)
        ([0.0, 0.25, 0.5, 0.75], 0.25)
    """
    if num < 0:
        raise ValueError(f"`num` must not be negative. Received: num={num}")
    if dtype is None:
        dtype = common_dtype(_kind(_weak(start)), _kind(_weak(stop)), float)
    dtype = tf.as_dtype(standardize_dtype(dtype))
    start, stop = to_dtype(start, dtype), to_dtype(stop, dtype)
    computed = dtype if dtype.is_floating else tf.float64
    start, stop = tf.cast(start, computed), tf.cast(stop, computed)
    intervals = num - 1 if endpoint else num
    if tf.is_tensor(intervals):
        intervals = tf.cast(intervals, computed)
    # NumPy's step for fewer than two values.
    step = (stop - start) / intervals if intervals > 0 else tf.fill(tf.shape(start), _nan(computed))
    last = stop if endpoint or num <= 1 else stop - step
    result = tf.linspace(start, last, num, axis=axis)
    shape = tf.broadcast_static_shape(start.shape, stop.shape).as_list()
    place = positive_axes([axis], len(shape) + 1)[0]
    shape.insert(place, None if tf.is_tensor(num) else num)
    result = tf.ensure_shape(result, shape)
    if dtype.is_integer:
        # Towards minus infinity, as NumPy since 1.20; a cast would round towards zero.
        result = tf.floor(result)
    result = tf.cast(result, dtype)
    return (result, step) if retstep else result


def _weak(x: Any) -> Any:
    """Returns Python numbers unchanged, so that they count as weak; anything else as a tensor."""
    return x if type(x) in (int, float) else as_tensor(x)


def _nan(dtype: Any) -> tf.Tensor:
    return tf.constant(float("nan"), dtype)


@symbolic_op
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10,
    dtype: Any = None,
    axis: int = 0,
) -> tf.Tensor:
    """Returns powers `base**e` of evenly spaced exponents `e` from `start` to `stop`.

    Args:
        start: first exponent, a number or a tensor.
        stop: last exponent, a number or a tensor that broadcasts with `start`.
        num: number of values. Default: `50`.
        endpoint: whether `stop` is the last exponent; if not, it is the first one that is left
            out. Default: `True`.
        base: base of the powers. Default: `10`.
        dtype: dtype of the result; `None` for the common float dtype of `start` and `stop`.
        axis: position of the new axis where `start` or `stop` is a tensor. Default: `0`.

    Returns:
        A tensor of the broadcast shape with a new axis of size `num`.

    Example:
        >>> ops.logspace(0, 3, 4, base=2).numpy().tolist()
        [1.0, 2.0, 4.0, 8.0]
    """
    exponents = linspace(start, stop, num, endpoint, dtype=dtype, axis=axis)
    return tf.pow(to_dtype(base, exponents.dtype), exponents)


@symbolic_op
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> tf.Tensor:
    """Returns values from `start` to `stop`, where each value is the previous one times a constant factor.

    Args:
        start: first value, a number or a tensor, not 0.
        stop: last value, a number or a tensor of the sign of `start`.
        num: number of values. Default: `50`.
        endpoint: whether `stop` is the last value; if not, it is the first one that is left out.
            Default: `True`.
        dtype: float dtype of the result; `None` for the default float dtype.
        axis: position of the new axis where `start` or `stop` is a tensor. Default: `0`.

    Returns:
        A tensor of the broadcast shape with a new axis of size `num`.

    Example:
        >>> ops.geomspace(1, 8, 4).numpy().round(4).tolist()
        [1.0, 2.0, 4.0, 8.0]
    """
    dtype = tf.as_dtype(standardize_dtype(dtype))
    start, stop = to_dtype(start, dtype), to_dtype(stop, dtype)
    # Powers of 10, as in NumPy: round numbers such as 1, 10, 100 are then exact.
    log10 = tf.math.log(tf.constant(10.0, dtype))
    log_start, log_stop = (tf.math.log(tf.abs(x)) / log10 for x in (start, stop))
    powers = logspace(log_start, log_stop, num, endpoint, dtype=dtype, axis=axis)
    shape = tf.broadcast_dynamic_shape(tf.shape(start), tf.shape(stop))
    sign = tf.broadcast_to(tf.sign(start), shape)
    return powers * (tf.expand_dims(sign, axis) if powers.shape.rank else sign)


@symbolic_op
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> tf.Tensor:
    """Returns a matrix with ones on a diagonal and zeros elsewhere.

    Args:
        N: number of rows.
        M: number of columns; `None` for `N`.
        k: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        A tensor of shape `(N, M)`.

    Raises:
        TypeError: for a number of rows or columns that is a float.

    Example:
        >>> ops.eye(2, 3, k=1).numpy().tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    M = N if M is None else M
    require_integers(N=N, M=M)
    dtype = standardize_dtype(dtype)
    if isinstance(k, int) and k == 0:
        return tf.eye(N, M, dtype=dtype)
    rows, columns = tf.cast(tf.range(N), tf.int32)[:, None], tf.cast(tf.range(M), tf.int32)[None, :]
    return tf.cast(tf.equal(columns - rows, tf.cast(k, rows.dtype)), dtype)


@symbolic_op
def identity(n: int, dtype: Any = None) -> tf.Tensor:
    """Returns the identity matrix: ones on the main diagonal, zeros elsewhere.

    Args:
        n: number of rows and columns.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        A tensor of shape `(n, n)`.

    Raises:
        TypeError: for a number of rows that is a float.

    Example:
        >>> ops.identity(2).numpy().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        >>> ops.identity(3, dtype="bool").numpy().tolist()[1]
        [False, True, False]
    """
    require_integers(n=n)
    return tf.eye(n, dtype=standardize_dtype(dtype))


@symbolic_op
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> tf.Tensor:
    """Returns a matrix with ones on and below a diagonal and zeros above it.

    Args:
        N: number of rows.
        M: number of columns; `None` for `N`.
        k: number of the diagonal: 0 for the main one, positive above it, negative below.
            Default: `0`.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        A tensor of shape `(N, M)`.

    Raises:
        TypeError: for a number of rows or columns that is a float.

    Example:
        >>> ops.tri(3, dtype="int32").numpy().tolist()
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    M = N if M is None else M
    require_integers(N=N, M=M)
    rows, columns = tf.cast(tf.range(N), tf.int32)[:, None], tf.cast(tf.range(M), tf.int32)[None, :]
    return tf.cast(columns - rows <= tf.cast(k, rows.dtype), standardize_dtype(dtype))


@symbolic_op
def meshgrid(*x: Any, indexing: str = "xy") -> list[tf.Tensor]:
    """Returns the coordinates of the points of the grid that vectors span, one tensor for each vector.

    Args:
        *x: one vector for each axis of the grid.
        indexing: `"xy"` (the first vector runs along the second axis, as in pictures) or `"ij"`
            (vector `i` runs along axis `i`). Default: `"xy"`.

    Returns:
        A list with one tensor for each vector; all have the shape of the grid.

    Example:
        >>> columns, rows = ops.meshgrid([1, 2, 3], [4, 5])
        >>> columns.numpy().tolist(), rows.numpy().tolist()
        ([[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]])
    """
    return tf.meshgrid(*x, indexing=indexing)


@symbolic_op
def vander(x: Any, N: int | None = None, increasing: bool = False) -> tf.Tensor:
    """Returns a Vandermonde matrix, whose columns are powers of the elements of a vector.

    Args:
        x: a vector of shape `(n,)`.
        N: number of columns; `None` for `n`.
        increasing: whether powers increase from 0 to `N - 1` from left to right, instead of decreasing.
            Default: `False`.

    Returns:
        A tensor of shape `(n, N)` and of the dtype of `x`.

    Example:
        >>> ops.vander([1, 2, 3]).numpy().tolist()
        [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
        >>> ops.vander([2], N=4, increasing=True).numpy().tolist()
        [[1, 2, 4, 8]]
    """
    x = as_tensor(x)
    count = N if N is not None else x.shape[0] or tf.shape(x)[0]
    powers = tf.range(count) if increasing else tf.range(count - 1, -1, -1)
    computed = common_dtype(x.dtype, tf.float32)
    return tf.cast(tf.pow(tf.cast(x[..., None], computed), tf.cast(powers, computed)), x.dtype)


# --- Windows --------------------------------------------------------------------------------------


@symbolic_op
def bartlett(x: Any) -> tf.Tensor:
    """Returns Bartlett's window, a triangle from 0 up to 1 and down to 0.

    With `n` from 0 to `x - 1` it is `1 - abs(2 * n / (x - 1) - 1)`.

    Args:
        x: number of points, a scalar.

    Returns:
        A vector of `x` elements of the default float dtype.

    Example:
        >>> ops.bartlett(5).numpy().tolist()
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    n = tf.cast(tf.range(tf.cast(x, tf.int32)), settings.floatx())
    last = tf.cast(x, n.dtype) - 1
    return tf.where(last == 0, 1.0, 1.0 - tf.abs(tf.math.divide_no_nan(2.0 * n, last) - 1.0))


@symbolic_op
def blackman(x: Any) -> tf.Tensor:
    """Returns Blackman's window, a sum of two cosines that vanishes at both ends.

    With `t = 2 * pi * n / (x - 1)` and `n` from 0 to `x - 1` it is
    `0.42 - 0.5 * cos(t) + 0.08 * cos(2 * t)`.

    Args:
        x: number of points, a scalar.

    Returns:
        A vector of `x` elements of the default float dtype.

    Example:
        >>> (ops.blackman(5) + 0.0001).numpy().round(3)
        array([0.  , 0.34, 1.  , 0.34, 0.  ], dtype=float32)
    """
    n = tf.cast(tf.range(tf.cast(x, tf.int32)), settings.floatx())
    phase = tf.math.divide_no_nan(6.283185307179586 * n, tf.cast(x, n.dtype) - 1)
    window = 0.42 - 0.5 * tf.cos(phase) + 0.08 * tf.cos(2 * phase)
    # A window of one sample is 1.
    return tf.where(tf.equal(tf.cast(x, n.dtype), 1), tf.ones_like(window), window)


@symbolic_op
def hamming(x: Any) -> tf.Tensor:
    """Returns Hamming's window, a raised cosine that is 0.08 at both ends.

    With `n` from 0 to `x - 1` it is `0.54 - 0.46 * cos(2 * pi * n / (x - 1))`.

    Args:
        x: number of points, a scalar.

    Returns:
        A vector of `x` elements of float32.

    Example:
        >>> ops.hamming(5).numpy().round(4)
        array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return tf.signal.hamming_window(tf.cast(x, tf.int32), periodic=False)


@symbolic_op
def hanning(x: Any) -> tf.Tensor:
    """Returns Hann's window, a raised cosine that is 0 at both ends.

    With `n` from 0 to `x - 1` it is `0.5 - 0.5 * cos(2 * pi * n / (x - 1))`.

    Args:
        x: number of points, a scalar.

    Returns:
        A vector of `x` elements of float32.

    Example:
        >>> ops.hanning(5).numpy().round(4)
        array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return tf.signal.hann_window(tf.cast(x, tf.int32), periodic=False)


@symbolic_op
def kaiser(x: Any, beta: float) -> tf.Tensor:
    """Returns Kaiser's window `i0(beta * sqrt(1 - t**2)) / i0(beta)`, with `t` from -1 to 1.

    Args:
        x: number of points, a scalar.
        beta: shape of the window: 0 gives ones; the larger, the narrower the window and the lower
            its side lobes.

    Returns:
        A vector of `x` elements of float32.

    Example:
        >>> ops.kaiser(5, 8.6).numpy().round(4)
        array([0.0013, 0.3404, 1.    , 0.3404, 0.0013], dtype=float32)
    """
    return tf.signal.kaiser_window(tf.cast(x, tf.int32), beta)
