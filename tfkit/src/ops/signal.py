"""Fourier transforms. Complex numbers are passed and returned as pairs of real tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.engine.tensorflow_faults import with_some_row
from tfkit.src.ops.checks import require_rank
from tfkit.src.ops.promotion import as_tensor
from tfkit.src.symbolic.tensors import symbolic_op

Pair = tuple[tf.Tensor, tf.Tensor]


def _complex(x: Any, least_rank: int) -> tf.Tensor:
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors: real and imaginary part. Received: x={x!r}"
        )
    real, imag = map(as_tensor, x)
    if not real.shape.is_compatible_with(imag.shape):
        raise ValueError(
            "Both the real and imaginary parts should have the same shape. "
            f"Received: x[0].shape={real.shape}, x[1].shape={imag.shape}"
        )
    require_rank("x", real, least_rank)
    if not (real.dtype.is_floating and imag.dtype.is_floating):
        raise ValueError(
            "Real and imaginary part must be floats. "
            f"Received: dtypes {real.dtype.name} and {imag.dtype.name}"
        )
    return tf.complex(real, imag)


def _require_positive(**sizes: Any) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={size}")


def _check_lengths(sequence_length: int, sequence_stride: int, fft_length: int) -> None:
    _require_positive(
        sequence_length=sequence_length, sequence_stride=sequence_stride, fft_length=fft_length
    )
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or exceed `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )


def _pair(x: Any) -> Pair:
    return tf.math.real(x), tf.math.imag(x)


@symbolic_op
def fft(x: Any) -> Pair:
    """Returns the discrete Fourier transform along the last axis.

    Element `k` is `sum(x[n] * exp(-2j * pi * k * n / size))` over `n`.

    Args:
        x: a pair of the real and the imaginary part, tensors of equal shape `(..., size)`, of
            float32 or float64.

    Returns:
        A pair of the real and the imaginary part, with the shapes and the dtype of the pair `x`.

    Raises:
        ValueError: when `x` is not a pair of float tensors of equal shapes with enough axes.

    Example:
        >>> real, imaginary = ops.fft(([1.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]))
        >>> real.numpy().round(4).tolist(), imaginary.numpy().round(4).tolist()
        ([4.0, 0.0, 0.0, 0.0], [0.0, -2.0, 0.0, 2.0])
    """
    return _pair(tf.signal.fft(_complex(x, 1)))


@symbolic_op
def fft2(x: Any) -> Pair:
    """Returns the discrete Fourier transform over the last two axes.

    It is `fft` along the last axis, then along the one before.

    Args:
        x: a pair of the real and the imaginary part, tensors of equal shape
            `(..., height, width)`, of float32 or float64.

    Returns:
        A pair of the real and the imaginary part, with the shapes and the dtype of the pair `x`.

    Raises:
        ValueError: when `x` is not a pair of float tensors of equal shapes with enough axes.

    Example:
        >>> real, imaginary = ops.fft2((tf.ones((2, 2)), tf.zeros((2, 2))))
        >>> real.numpy().tolist()
        [[4.0, 0.0], [0.0, 0.0]]
    """
    return _pair(tf.signal.fft2d(_complex(x, 2)))


@symbolic_op
def ifft2(x: Any) -> Pair:
    """Returns the inverse of the discrete Fourier transform over the last two axes (see `fft2`).

    Args:
        x: a pair of the real and the imaginary part, tensors of equal shape
            `(..., height, width)`, of float32 or float64.

    Returns:
        A pair of the real and the imaginary part, with the shapes and the dtype of the pair `x`.

    Raises:
        ValueError: when `x` is not a pair of float tensors of equal shapes with enough axes.

    Example:
        >>> image = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> real, imaginary = ops.ifft2(ops.fft2((image, tf.zeros((2, 2)))))
        >>> real.numpy().round(4).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return _pair(tf.signal.ifft2d(_complex(x, 2)))


@symbolic_op
def rfft(x: Any, fft_length: int | None = None) -> Pair:
    """Returns the discrete Fourier transform of real numbers along the last axis.

    The upper half, which mirrors the lower one, is left out.

    Args:
        x: a tensor of shape `(..., size)`, of float32 or float64; integers are cast to the
            default float dtype.
        fft_length: size of the transform; `x` is cut or filled up with zeros to it. `None` for
            `size`.

    Returns:
        A pair of the real and the imaginary part, of shape `(..., fft_length // 2 + 1)` and of
        the dtype of `x`.

    Raises:
        ValueError: for a scalar, and for an `fft_length` below 1.

    Example:
        >>> real, imaginary = ops.rfft([1.0, 1.0, 1.0, 1.0])
        >>> real.numpy().tolist(), imaginary.numpy().tolist()
        ([4.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    """
    x = as_tensor(x)
    require_rank("x", x, 1)
    if not x.dtype.is_floating:
        x = tf.cast(x, settings.floatx())
    if fft_length is not None:
        _require_positive(fft_length=fft_length)
        x = x[..., :fft_length]  # Cut by TensorFlow's operation, it would have no gradient.
    spectrum = tf.signal.rfft(x, None if fft_length is None else [fft_length])
    size = x.shape[-1] if fft_length is None else fft_length
    # The other half is the complex conjugate of this one.
    spectrum.set_shape([*x.shape[:-1], None if size is None else size // 2 + 1])
    return _pair(spectrum)


@symbolic_op
def irfft(x: Any, fft_length: int | None = None) -> tf.Tensor:
    """Returns the inverse of `rfft`: real numbers from the lower half of their Fourier transform.

    Args:
        x: a pair of the real and the imaginary part, tensors of equal shape `(..., bins)`, of
            float32 or float64.
        fft_length: size of the result; `None` for `2 * (bins - 1)`, which is even.

    Returns:
        A tensor of shape `(..., fft_length)` and of the dtype of the parts.

    Raises:
        ValueError: when `x` is not a pair of float tensors of equal shapes with enough axes.

    Example:
        >>> ops.irfft(ops.rfft([1.0, 2.0, 3.0, 4.0])).numpy().round(4).tolist()
        [1.0, 2.0, 3.0, 4.0]
    """
    x = _complex(x, 1)
    if fft_length is not None:
        _require_positive(fft_length=fft_length)
        x = x[..., : fft_length // 2 + 1]
    signal = tf.signal.irfft(x, None if fft_length is None else [fft_length])
    signal.set_shape([*x.shape[:-1], fft_length])
    return signal


def _window(window: Any, length: int, fft_length: int, dtype: Any) -> Callable[..., Any] | None:
    """Returns a function for `tf.signal` that returns the window in the middle of a frame of `fft_length`."""
    if window is None:
        return None
    if isinstance(window, str):
        windows = {"hann": tf.signal.hann_window, "hamming": tf.signal.hamming_window}
        if window not in windows:
            raise ValueError(
                "If a string is passed to `window`, it must be 'hann' or 'hamming'. "
                f"Received: window={window!r}"
            )
        values = windows[window](length, periodic=True, dtype=dtype)
    else:
        values = tf.cast(window, dtype)
    if values.shape.rank != 1 or values.shape[0] != length:
        raise ValueError(
            "The shape of `window` must be equal to [sequence_length]. "
            f"Received: window.shape={values.shape}, sequence_length={length}"
        )
    before = (fft_length - length) // 2
    values = tf.pad(values, [[before, fft_length - length - before]])
    # `tf.signal` would use a window as long as the frame; this one is shorter, with zeros around
    # it.
    return lambda frame_length, dtype: values


@symbolic_op
def stft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: Any = "hann",
    center: bool = True,
) -> Pair:
    """Returns the short-time Fourier transform: the transforms of overlapping stretches of a signal.

    Args:
        x: signals of shape `(..., time)`, of float32 or float64.
        sequence_length: length of a stretch of the signal.
        sequence_stride: distance between the starts of neighbouring stretches.
        fft_length: size of the transform, not below `sequence_length`. Shorter stretches are padded
            with zeros on both sides.
        window: factor of each stretch: `"hann"`, `"hamming"`, a vector of
            `sequence_length` elements, or `None` for ones. Default: `"hann"`.
        center: whether stretch `i` is centred on the point `i * sequence_stride`. The signal is
            mirrored at its ends for that. Default: `True`.

    Returns:
        A pair of the real and the imaginary part, of shape
        `(..., stretches, fft_length // 2 + 1)` and of the dtype of `x`.

    Raises:
        TypeError: for any other dtype.
        ValueError: for a window or length that does not fit.

    Example:
        >>> real, imaginary = ops.stft(tf.ones((8,)), 4, 2, 4, center=False)
        >>> real.shape
        TensorShape([3, 3])
        >>> real[:, 0].numpy().round(4).tolist()
        [2.0, 2.0, 2.0]
    """
    x = as_tensor(x)
    if x.dtype not in (tf.float32, tf.float64):
        raise TypeError(f"`x` must be `float32` or `float64`. Received: x.dtype={x.dtype.name}")
    require_rank("x", x, 1)
    _check_lengths(sequence_length, sequence_stride, fft_length)
    if center:
        # Half a frame on both sides, so that frame number t is centred at t * stride.
        border = [[0, 0]] * (x.shape.rank - 1) + [[fft_length // 2, fft_length // 2]]
        x = with_some_row(lambda signals: tf.pad(signals, border, "REFLECT"), x)
    values = _window(window, sequence_length, fft_length, x.dtype)
    return _pair(tf.signal.stft(x, fft_length, sequence_stride, fft_length, values))


@symbolic_op
def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> tf.Tensor:
    """Returns the signal of a short-time Fourier transform: the inverse of `stft`.

    Stretches are transformed back, weighted and added up where they overlap.

    Args:
        x: a pair of the real and the imaginary part, tensors of equal shape
            `(..., stretches, fft_length // 2 + 1)`, of float32 or float64.
        sequence_length: length of a stretch of the signal.
        sequence_stride: distance between the starts of neighbouring stretches.
        fft_length: size of the transform, not below `sequence_length`. Shorter stretches are padded
            with zeros on both sides.
        length: length of the signal; `None` for as far as the stretches reach.
        window: factor of each stretch: `"hann"`, `"hamming"`, a vector of
            `sequence_length` elements, or `None` for ones. Default: `"hann"`.
        center: whether `stft` centred the stretches. Default: `True`.

    Returns:
        A tensor of shape `(..., length)` and of the dtype of the parts.

    Raises:
        ValueError: for a window or length that does not fit.

    Example:
        >>> spectrum = ops.stft(tf.range(1.0, 9.0), 4, 2, 4)
        >>> ops.istft(spectrum, 4, 2, 4).numpy().round(3).tolist()
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    x = _complex(x, 2)
    _check_lengths(sequence_length, sequence_stride, fft_length)
    values = _window(window, sequence_length, fft_length, x.dtype.real_dtype)
    if values is not None:
        # The window that undoes the first one where frames overlap.
        values = tf.signal.inverse_stft_window_fn(sequence_stride, values)
    signal = tf.signal.inverse_stft(x, fft_length, sequence_stride, fft_length, values)
    frames = x.shape[-2]
    reach = None if frames is None else (frames - 1) * sequence_stride + fft_length
    signal.set_shape([*x.shape[:-2], reach])  # TensorFlow loses it if frequencies are unknown.
    # `stft` with `center` has put half a frame in front.
    start = fft_length // 2 if center else 0
    if length is None:
        # A border of 0 must not become `-0`, which would cut off everything.
        return signal[..., start : -start or None]
    cut = signal[..., start : start + length]
    return cut if signal.shape[-1] is not None else tf.ensure_shape(cut, [*cut.shape[:-1], length])


@symbolic_op
def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> tf.Tensor:
    """Returns the overlapping stretches of a signal.

    Args:
        x: signals of shape `(..., time)`, of any dtype.
        sequence_length: length of a stretch of the signal.
        sequence_stride: distance between the starts of neighbouring stretches.

    Returns:
        A tensor of shape `(..., stretches, sequence_length)` and of the dtype of `x`. What is
        left at the end is dropped.

    Raises:
        ValueError: for a scalar, and for lengths below 1.

    Example:
        >>> ops.extract_sequences([1, 2, 3, 4, 5, 6], 3, 2).numpy().tolist()
        [[1, 2, 3], [3, 4, 5]]
    """
    x = as_tensor(x)
    require_rank("x", x, 1)
    _require_positive(sequence_length=sequence_length, sequence_stride=sequence_stride)
    return tf.signal.frame(x, sequence_length, sequence_stride)
