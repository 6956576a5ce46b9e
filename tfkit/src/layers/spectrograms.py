"""Layers that compute spectrograms of signals: on the mel scale, and by trainable filters."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check, check_positive_integer, is_integer
from tfkit.src.ops.signal import stft
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.weights.initializers.constant import NAMED_WINDOWS, named_window

_MODES = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")


class MelSpectrogram(Layer):
    """Converts signals to spectrograms on the mel scale, which models human hearing.

    The short-time Fourier transform's magnitudes are raised to the power `mag_exp`, summed up in
    bands by `tf.signal.linear_to_mel_weight_matrix`, and brought to decibels.

    Args:
        fft_length: size of the transform. Default: `2048`.
        sequence_stride: distance of neighbouring stretches of the signal. Default: `512`.
        sequence_length: length of a stretch; `None` for `fft_length`.
        window: `"hann"`, `"hamming"`, a vector of `sequence_length` elements, or `None` for ones.
            Default: `"hann"`.
        sampling_rate: number of samples in a second. Default: `16000`.
        num_mel_bins: number of bands. Default: `128`.
        min_freq: lowest frequency of a band, in Hz. Default: `20.0`.
        max_freq: highest frequency, in Hz; `None` for half of the sampling rate.
        power_to_db: whether results are `10 * log10(sum / ref_power)`. Default: `True`.
        top_db: the range of results below the largest one, in decibels. Default: `80.0`.
        mag_exp: exponent of the magnitudes, 1 for amplitudes and 2 for powers. Default: `2.0`.
        min_power: the smallest sum whose logarithm is taken. Default: `1e-10`.
        ref_power: the sum that is 0 decibels. Default: `1.0`.
        **kwargs: arguments of every layer: `name`, `trainable`, `dtype`.

    Call arguments:
        inputs: a tensor of signals.

    Input shape: `(samples,)` or `(batch, samples)`.

    Output shape: `(num_mel_bins, stretches)` or `(batch, num_mel_bins, stretches)`.

    Raises:
        ValueError: for sizes that are not positive integers, and a transform shorter than a stretch.

    Example:
        >>> layer = MelSpectrogram(fft_length=64, sequence_stride=32, num_mel_bins=8)
        >>> layer(tf.ones((2, 160))).shape
        TensorShape([2, 8, 6])
    """

    def __init__(
        self,
        fft_length: int = 2048,
        sequence_stride: int = 512,
        sequence_length: int | None = None,
        window: Any = "hann",
        sampling_rate: int = 16000,
        num_mel_bins: int = 128,
        min_freq: float = 20.0,
        max_freq: float | None = None,
        power_to_db: bool = True,
        top_db: float = 80.0,
        mag_exp: float = 2.0,
        min_power: float = 1e-10,
        ref_power: float = 1.0,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**kwargs)
        sequence_length = sequence_length or fft_length
        check_positive_integer(
            self,
            fft_length=fft_length,
            sequence_stride=sequence_stride,
            sequence_length=sequence_length,
            num_mel_bins=num_mel_bins,
        )
        self.fft_length, self.sequence_stride = int(fft_length), int(sequence_stride)
        self.sequence_length = int(sequence_length)
        if fft_length < self.sequence_length:
            raise ValueError(
                "`fft_length` must be greater than or equal to `sequence_length`. Received: "
                f"fft_length={fft_length}, sequence_length={self.sequence_length}"
            )
        self.window = window
        self.sampling_rate = sampling_rate
        self.num_mel_bins = int(num_mel_bins)
        self.min_freq = min_freq
        self.max_freq = max_freq or int(sampling_rate / 2)
        self.power_to_db = power_to_db
        self.top_db = top_db
        self.mag_exp = mag_exp
        self.min_power = min_power
        self.ref_power = ref_power

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the spectrograms, in the compute dtype."""
        # The transform does not support half precision.
        signals = tf.cast(inputs, tf.float64 if self.compute_dtype == "float64" else tf.float32)
        real, imaginary = stft(
            signals, self.sequence_length, self.sequence_stride, self.fft_length, self.window
        )
        powers = (real**2 + imaginary**2) ** (self.mag_exp / 2)
        bands = tf.signal.linear_to_mel_weight_matrix(
            self.num_mel_bins,
            self.fft_length // 2 + 1,
            self.sampling_rate,
            self.min_freq,
            self.max_freq,
            signals.dtype,
        )
        # (..., bands, frames)
        sums = tf.linalg.matrix_transpose(tf.tensordot(powers, bands, [[-1], [0]]))
        if self.power_to_db:
            sums = self._decibels(sums) - self._decibels(
                tf.abs(tf.cast(self.ref_power, sums.dtype))
            )
            # Over the whole batch, as in Keras.
            sums = tf.maximum(sums, tf.reduce_max(sums) - self.top_db)
        return tf.cast(sums, self.compute_dtype)

    def _decibels(self, sums: tf.Tensor) -> tf.Tensor:
        return (10.0 / math.log(10.0)) * tf.math.log(tf.maximum(sums, self.min_power))


class STFTSpectrogram(Layer):
    """Converts signals to spectrograms, by convolutions initialized to the Fourier transform.

    The kernels are weights, which training changes unless `trainable=False`.

    Args:
        mode: `"magnitude"`, `"log"` (its logarithm), `"psd"` (the power, doubled for the
            frequencies that represent negative ones too), `"real"`, `"imag"`, `"angle"` or `"stft"`
            (the real and the imaginary parts, one after the other). Default: `"log"`.
        frame_length: length of a stretch of the signal. Default: `256`.
        frame_step: distance of neighbouring stretches, at most `frame_length`; `None` for its half.
        fft_length: size of the transform, at least `frame_length`; `None` for the next power of 2.
        window: the name of a window that `tfkit.initializers.STFT` lists, a vector of `frame_length`
            elements, or `None` for ones. Default: `"hann"`.
        periodic: whether a named window is one period, whose last element is missing.
            Default: `False`.
        scaling: `"density"` (divided by the root of the window's sum of squares), `"spectrum"` (by
            its sum) or `None`. Default: `"density"`.
        padding: `"valid"` (only whole stretches) or `"same"` (with zeros at both ends).
            Default: `"valid"`.
        expand_dims: whether channels keep their own axis. Default: `False`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: arguments of every layer: `name`, `trainable`, `dtype`.

    Call arguments:
        inputs: a tensor of signals.

    Input shape: `(batch, samples, channels)`, or `(batch, channels, samples)` with
        `data_format="channels_first"`.

    Output shape: `(batch, stretches, channels * frequencies)`, with `expand_dims` `(batch, stretches,
        frequencies, channels)`; for `"channels_first"` `(batch, channels * frequencies, stretches)` and
        `(batch, channels, stretches, frequencies)`. There are `fft_length // 2 + 1` frequencies, twice
        as many for `mode="stft"`.

    Raises:
        ValueError: for any other value of an argument.
        TypeError: for signals that are not floats.

    Example:
        >>> layer = STFTSpectrogram(mode="psd", frame_length=16, frame_step=8)
        >>> layer(tf.ones((2, 64, 1))).shape
        TensorShape([2, 7, 9])
    """

    def __init__(
        self,
        mode: str = "log",
        frame_length: int = 256,
        frame_step: int | None = None,
        fft_length: int | None = None,
        window: Any = "hann",
        periodic: bool = False,
        scaling: str | None = "density",
        padding: str = "valid",
        expand_dims: bool = False,
        data_format: str | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        if mode not in _MODES:
            raise ValueError(
                f"Output mode is invalid, it must be one of {', '.join(_MODES)}. Received: mode={mode}"
            )
        if scaling not in (None, "density", "spectrum"):
            raise ValueError(
                f"Scaling is invalid, it must be `None`, 'density' or 'spectrum'. Received scaling={scaling}"
            )
        if padding not in ("valid", "same"):
            raise ValueError(
                f"Padding is invalid, it should be 'valid', 'same'. Received: padding={padding}"
            )
        check_positive_integer(self, frame_length=frame_length)
        if frame_step is not None and not (
            is_integer(frame_step) and 0 < frame_step <= frame_length
        ):
            raise ValueError(
                "`frame_step` should be a positive integer not greater than `frame_length`. "
                f"Received frame_step={frame_step}, frame_length={frame_length}"
            )
        if fft_length is not None and not (is_integer(fft_length) and fft_length >= frame_length):
            raise ValueError(
                "`fft_length` should be not less than `frame_length`. "
                f"Received fft_length={fft_length}, frame_length={frame_length}"
            )
        known = not isinstance(window, str) or window in NAMED_WINDOWS
        check(self, known, "window", f"one of {NAMED_WINDOWS}, a vector or None", window)
        super().__init__(**kwargs)
        self.mode = mode
        self.frame_length = frame_length
        self.frame_step = frame_step
        self.fft_length = fft_length
        self.window = window
        self.periodic = periodic
        self.scaling = scaling
        self.padding = padding
        self.expand_dims = expand_dims
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=3)

    real_kernel: tf.Variable
    imag_kernel: tf.Variable

    def build(self, input_shape: Any) -> None:
        """Makes the kernels."""
        # Without a length, the next power of 2, as in Keras.
        size = self.fft_length or 2 ** math.ceil(math.log2(self.frame_length))
        angles = np.outer(np.arange(self.frame_length), np.arange(size // 2 + 1)) * (
            -2 * np.pi / size
        )
        window = self._window()
        # As in SciPy: a density is divided by the power of the window, a spectrum by its sum.
        if self.scaling == "density":
            window = window / np.sqrt(np.sum(window**2))
        elif self.scaling == "spectrum":
            window = window / np.sum(window)
        parts = {"real": np.cos(angles), "imag": np.sin(angles)}
        for part, waves in parts.items():
            # A kernel that is not used would be a weight without a gradient.
            if self.mode not in ("real", "imag") or self.mode == part:
                kernel = (window[:, np.newaxis] * waves)[:, np.newaxis, :]
                weight = self.add_weight(
                    shape=kernel.shape,
                    # `kernel=kernel` binds the array of this iteration.
                    initializer=lambda shape, dtype=None, kernel=kernel: tf.constant(kernel, dtype),
                    name=f"{part}_kernel",
                )
                setattr(self, f"{part}_kernel", weight)

    def _window(self) -> np.ndarray:
        if self.window is None:
            return np.ones(self.frame_length)
        if not isinstance(self.window, str):
            window = np.asarray(self.window, "float64")
            holds = window.shape == (self.frame_length,)
            check(self, holds, "window", f"a vector of {self.frame_length} elements", self.window)
            return window
        return named_window(self.window, self.frame_length, self.periodic)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the spectrograms."""
        if not inputs.dtype.is_floating:
            raise TypeError(
                f"`{type(self).__name__}` expects signals of floats. Received inputs of dtype "
                f"{inputs.dtype.name}: convert them with `tfkit.ops.cast(inputs, 'float32')`."
            )
        first = self.data_format == "channels_first"
        signals = inputs if first else tf.transpose(inputs, [0, 2, 1])
        channels = signals.shape[1]
        # Shape (batch * channels, samples, 1): each channel is a signal of its own.
        result = self._spectra(tf.reshape(signals, [-1, tf.shape(signals)[2], 1]))
        stretches, frequencies = tf.shape(result)[1], result.shape[2]
        result = tf.reshape(result, [-1, channels, stretches, frequencies])
        if self.expand_dims:
            return result if first else tf.transpose(result, [0, 2, 3, 1])
        if first:
            by_frequency = tf.transpose(result, [0, 1, 3, 2])
            return tf.reshape(by_frequency, [-1, channels * frequencies, stretches])
        by_stretch = tf.transpose(result, [0, 2, 1, 3])
        return tf.reshape(by_stretch, [-1, stretches, channels * frequencies])

    def _spectra(self, signals: tf.Tensor) -> tf.Tensor:
        """Returns the parts for the mode, of signals of shape `(signals, samples, 1)`."""
        step = self.frame_step or self.frame_length // 2

        def part(kernel: Any) -> tf.Tensor:
            return tf.nn.conv1d(signals, kernel, step, self.padding.upper())

        if self.mode in ("real", "imag"):
            return part(self.real_kernel if self.mode == "real" else self.imag_kernel)
        real, imaginary = part(self.real_kernel), part(self.imag_kernel)
        if self.mode == "stft":
            return tf.concat([real, imaginary], axis=-1)
        if self.mode == "angle":
            return tf.atan2(imaginary, real)
        power = real**2 + imaginary**2
        if self.mode == "psd":
            size = self.fft_length or 2 ** math.ceil(math.log2(self.frame_length))
            doubled = np.full(size // 2 + 1, 2.0)
            # Each frequency but the lowest and the highest stands for its negative as well.
            doubled[0] = 1.0
            doubled[-1] = 1.0 if size % 2 == 0 else 2.0
            return power * tf.constant(doubled, power.dtype)
        # At 0 the root has no derivative, and the logarithm has no value.
        power = tf.maximum(power, settings.epsilon())
        return 0.5 * tf.math.log(power) if self.mode == "log" else tf.sqrt(power)
