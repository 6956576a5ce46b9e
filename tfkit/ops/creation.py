"""Tensors made from numbers and shapes."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import config
from tfkit.dtypes import standardize_dtype
from tfkit.ops.arguments import positive_axes, require_integers
from tfkit.ops.promotion import as_tensor, common_dtype, to_dtype
from tfkit.symbolic import symbolic_op


def _kind(x: Any) -> Any:
    return getattr(x, "dtype", type(x))


@symbolic_op
def zeros(shape: Any, dtype: Any = None) -> tf.Tensor:
    """A tensor of zeros; of the default float type unless given."""
    return tf.zeros(shape, standardize_dtype(dtype))


@symbolic_op
def ones(shape: Any, dtype: Any = None) -> tf.Tensor:
    """A tensor of ones; of the default float type unless given."""
    return tf.ones(shape, standardize_dtype(dtype))


@symbolic_op
def empty(shape: Any, dtype: Any = None) -> tf.Tensor:
    """A tensor whose values do not matter (zeros); of the default float type unless given."""
    return tf.zeros(shape, standardize_dtype(dtype))


@symbolic_op
def full(shape: Any, fill_value: Any, dtype: Any = None) -> tf.Tensor:
    """A tensor of `fill_value`; of the default float type unless given."""
    return tf.broadcast_to(to_dtype(fill_value, tf.as_dtype(standardize_dtype(dtype))), shape)


@symbolic_op
def zeros_like(x: Any, dtype: Any = None) -> tf.Tensor:
    """Zeros in the shape of `x`, and of its dtype unless given."""
    return tf.zeros_like(x, None if dtype is None else standardize_dtype(dtype))


@symbolic_op
def ones_like(x: Any, dtype: Any = None) -> tf.Tensor:
    """Ones in the shape of `x`, and of its dtype unless given."""
    return tf.ones_like(x, None if dtype is None else standardize_dtype(dtype))


@symbolic_op
def empty_like(x: Any, dtype: Any = None) -> tf.Tensor:
    """A tensor in the shape of `x` whose values do not matter, of its dtype unless given."""
    return tf.zeros_like(x, None if dtype is None else standardize_dtype(dtype))


@symbolic_op
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> tf.Tensor:
    """`fill_value` in the shape of `x`, and of its dtype unless given."""
    x = as_tensor(x)
    dtype = x.dtype if dtype is None else tf.as_dtype(standardize_dtype(dtype))
    return tf.broadcast_to(to_dtype(fill_value, dtype), tf.shape(x))


@symbolic_op
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> tf.Tensor:
    """Evenly spaced numbers from `start` up to, and without, `stop`.

    Args:
        start: first number; with one argument alone this is `stop`, and counting starts at 0.
        stop: where to end.
        step: distance between numbers, 1 unless given.
        dtype: that in which the arguments meet unless given.

    Example:
        >>> arange(3).numpy().tolist()
        [0, 1, 2]
    """
    if dtype is None:
        dtype = common_dtype(*(_kind(x) for x in (start, stop, step) if x is not None))
    dtype = tf.as_dtype(standardize_dtype(dtype))
    step = 1 if step is None else step
    if dtype in (tf.int32, tf.int64, tf.float32, tf.float64):
        return tf.range(start, stop, delta=step, dtype=dtype)
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
    """`num` evenly spaced numbers from `start` to `stop`.

    Args:
        start: first number, or a tensor of them.
        stop: last number, or a tensor of them.
        num: how many.
        endpoint: whether `stop` is the last of them, or the first that is left out.
        retstep: whether to give the distance between numbers too.
        dtype: a float type in which the arguments meet unless given.
        axis: where the new axis stands when `start` and `stop` are tensors.

    Raises:
        ValueError: when `num` is negative.
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
    step = (stop - start) / intervals if intervals > 0 else tf.fill(tf.shape(start), _nan(computed))
    last = stop if endpoint or num <= 1 else stop - step
    result = tf.linspace(start, last, num, axis=axis)
    shape = tf.broadcast_static_shape(start.shape, stop.shape).as_list()
    place = positive_axes([axis], len(shape) + 1)[0]
    shape.insert(place, None if tf.is_tensor(num) else num)
    result = tf.ensure_shape(result, shape)
    if dtype.is_integer:
        result = tf.floor(result)
    result = tf.cast(result, dtype)
    return (result, step) if retstep else result


def _weak(x: Any) -> Any:
    """Python numbers as they are, so that they count as weak; anything else as a tensor."""
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
    """`base` to the power of `num` evenly spaced numbers; the arguments are those of `linspace`."""
    exponents = linspace(start, stop, num, endpoint, dtype=dtype, axis=axis)
    return tf.pow(to_dtype(base, exponents.dtype), exponents)


@symbolic_op
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> tf.Tensor:
    """`num` numbers from `start` to `stop`, each the one before it times one factor."""
    dtype = tf.as_dtype(standardize_dtype(dtype))
    start, stop = to_dtype(start, dtype), to_dtype(stop, dtype)
    log10 = tf.math.log(tf.constant(10.0, dtype))
    log_start, log_stop = (tf.math.log(tf.abs(x)) / log10 for x in (start, stop))
    powers = logspace(log_start, log_stop, num, endpoint, dtype=dtype, axis=axis)
    shape = tf.broadcast_dynamic_shape(tf.shape(start), tf.shape(stop))
    sign = tf.broadcast_to(tf.sign(start), shape)
    return powers * (tf.expand_dims(sign, axis) if powers.shape.rank else sign)


@symbolic_op
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> tf.Tensor:
    """A matrix of zeros with ones on a diagonal.

    Args:
        N: number of rows.
        M: number of columns, `N` unless given.
        k: how far the diagonal lies above the main one (below where negative).
        dtype: the default float type unless given.

    Raises:
        TypeError: for a number of rows or columns that is a float.
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
    """The `n` by `n` identity matrix."""
    require_integers(n=n)
    return tf.eye(n, dtype=standardize_dtype(dtype))


@symbolic_op
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> tf.Tensor:
    """A matrix with ones on and below the diagonal `k`; the arguments are those of `eye`."""
    M = N if M is None else M
    require_integers(N=N, M=M)
    rows, columns = tf.cast(tf.range(N), tf.int32)[:, None], tf.cast(tf.range(M), tf.int32)[None, :]
    return tf.cast(columns - rows <= tf.cast(k, rows.dtype), standardize_dtype(dtype))


@symbolic_op
def meshgrid(*x: Any, indexing: str = "xy") -> list[tf.Tensor]:
    """Coordinates of the grid that these axes span, one tensor an axis.

    Args:
        *x: one-dimensional tensors.
        indexing: `"xy"` for images (the second axis comes first), `"ij"` for matrices.
    """
    return tf.meshgrid(*x, indexing=indexing)


@symbolic_op
def vander(x: Any, N: int | None = None, increasing: bool = False) -> tf.Tensor:
    """The powers of each element of `x`, `N` of them, as a matrix (Vandermonde's)."""
    x = as_tensor(x)
    count = N if N is not None else x.shape[0] or tf.shape(x)[0]
    powers = tf.range(count) if increasing else tf.range(count - 1, -1, -1)
    computed = common_dtype(x.dtype, tf.float32)
    return tf.cast(tf.pow(tf.cast(x[..., None], computed), tf.cast(powers, computed)), x.dtype)


# --- Windows --------------------------------------------------------------------------------------


@symbolic_op
def bartlett(x: Any) -> tf.Tensor:
    """The triangular window with `x` points."""
    n = tf.cast(tf.range(tf.cast(x, tf.int32)), config.floatx())
    last = tf.cast(x, n.dtype) - 1
    return tf.where(last == 0, 1.0, 1.0 - tf.abs(tf.math.divide_no_nan(2.0 * n, last) - 1.0))


@symbolic_op
def blackman(x: Any) -> tf.Tensor:
    """Blackman's window with `x` points."""
    n = tf.cast(tf.range(tf.cast(x, tf.int32)), config.floatx())
    phase = tf.math.divide_no_nan(6.283185307179586 * n, tf.cast(x, n.dtype) - 1)
    window = 0.42 - 0.5 * tf.cos(phase) + 0.08 * tf.cos(2 * phase)
    return tf.where(tf.equal(tf.cast(x, n.dtype), 1), tf.ones_like(window), window)


@symbolic_op
def hamming(x: Any) -> tf.Tensor:
    """Hamming's window with `x` points."""
    return tf.signal.hamming_window(tf.cast(x, tf.int32), periodic=False)


@symbolic_op
def hanning(x: Any) -> tf.Tensor:
    """Hann's window with `x` points."""
    return tf.signal.hann_window(tf.cast(x, tf.int32), periodic=False)


@symbolic_op
def kaiser(x: Any, beta: float) -> tf.Tensor:
    """Kaiser's window with `x` points; larger `beta` makes it narrower."""
    return tf.signal.kaiser_window(tf.cast(x, tf.int32), beta)
