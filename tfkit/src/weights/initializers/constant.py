"""Initializers without random numbers: constants, the identity, Fourier kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import tensorflow as tf

from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.weights.initializers.base import Initializer


class Constant(Initializer):
    """Fills with one value.

    Args:
        value: a number, or an array that broadcasts to the variable's shape. Default: `0.0`.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Example:
        >>> Constant(3.0)((2,)).numpy()
        array([3., 3.], dtype=float32)
    """

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Returns `value`, broadcast to `shape`."""
        return tf.broadcast_to(tf.cast(self.value, standardize_dtype(dtype)), shape)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"value": serialization.serialize_keras_object(self.value)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns an initializer from the result of `get_config()`."""
        return cls(serialization.deserialize_keras_object(config["value"]))


class Zeros(Initializer):
    """Fills with zeros.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Example:
        >>> Zeros()((2, 3)).numpy()
        array([[0., 0., 0.],
               [0., 0., 0.]], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Returns zeros of `shape`."""
        return tf.zeros(shape, standardize_dtype(dtype))


class Ones(Initializer):
    """Fills with ones.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Example:
        >>> Ones()((3,)).numpy()
        array([1., 1., 1.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Returns ones of `shape`."""
        return tf.ones(shape, standardize_dtype(dtype))


class Identity(Initializer):
    """The identity matrix, times `gain`; for variables of two axes.

    Args:
        gain: factor of the values. Default: `1.0`.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Raises:
        ValueError: if the shape does not have two axes.

    Example:
        >>> Identity()((2, 2)).numpy()
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Returns `gain` on the main diagonal, zero elsewhere."""
        if len(shape) != 2:
            raise ValueError(
                f"`Identity` initializes matrices only. Received: shape={tuple(shape)}"
            )
        dtype = standardize_dtype(dtype)
        return tf.cast(self.gain, dtype) * tf.eye(*shape, dtype=dtype)


# Windows that are sums of cosines: the weights of cos(0), cos(t), cos(2t), ... for t in [-pi, pi].
_COSINE_WINDOWS = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.50, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def _taylor(distance: np.ndarray, samples: int) -> np.ndarray:
    """Returns Taylor's window with 4 side lobes at -30 decibels, 1 in the middle."""
    # The formula and its constants: Doerry, "Catalog of Window Taper Functions" (2017), and
    # SciPy's defaults.
    lobes, order = 4, np.arange(1.0, 4.0)
    a = np.arccosh(10.0 ** (30 / 20)) / np.pi
    spread = lobes**2 / (a**2 + (lobes - 0.5) ** 2)
    weights = np.empty(lobes - 1)
    for place, m in enumerate(order):
        others = np.delete(order, place)
        above = np.prod(1 - m**2 / spread / (a**2 + (order - 0.5) ** 2))
        weights[place] = (-1) ** place * above / np.prod(1 - m**2 / others**2)
    phases = np.outer(order, np.pi * distance * (samples - 1) / samples)
    return (1 + weights @ np.cos(phases)) / (1 + np.sum(weights))


def _parzen(distance: np.ndarray, samples: int) -> np.ndarray:
    # The distance in units of half of `samples`, and not of `samples - 1`, as SciPy defines this
    # window.
    r = distance * (samples - 1) / samples
    return np.where(distance <= 0.5, 1 - 6 * r**2 + 6 * r**3, 2 * (1 - r) ** 3)


# Others, as functions of the distance from the middle, 1 at the ends, and of the number of samples.
_OTHER_WINDOWS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "bartlett": lambda distance, samples: 1 - distance,
    "barthann": lambda distance, samples: 0.62 - 0.24 * distance + 0.38 * np.cos(np.pi * distance),
    "bohman": lambda distance, samples: (
        (1 - distance) * np.cos(np.pi * distance) + np.sin(np.pi * distance) / np.pi
    ),
    "cosine": lambda distance, samples: np.cos(np.pi / 2 * distance * (samples - 1) / samples),
    "exponential": lambda distance, samples: np.exp(-distance * (samples - 1) / 2),
    "lanczos": lambda distance, samples: np.sinc(distance),
    "parzen": _parzen,
    "taylor": _taylor,
    "triang": lambda distance, samples: 1 - distance * (samples - 1) / (samples + samples % 2),
    "tukey": lambda distance, samples: 0.5 * (1 + np.cos(np.pi * np.clip(2 * distance - 1, 0, 1))),
}
NAMED_WINDOWS = (*_COSINE_WINDOWS, *_OTHER_WINDOWS)


def named_window(name: str, length: int, periodic: bool) -> np.ndarray:
    """Returns a window of `NAMED_WINDOWS`; a periodic one is a symmetric one without its last value."""
    if length == 1:
        return np.ones(1)
    samples = length + 1 if periodic else length
    place = np.linspace(-1, 1, samples)[:length]
    if name in _OTHER_WINDOWS:
        return _OTHER_WINDOWS[name](np.abs(place), samples)
    weights = np.array(_COSINE_WINDOWS[name])
    return weights @ np.cos(np.arange(len(weights))[:, None] * np.pi * place)


class STFT(Initializer):
    """Kernels of a convolution that computes a short-time Fourier transform: its real or imaginary part.

    Args:
        side: `"real"` or `"imag"`. Default: `"real"`.
        window: one of `"boxcar"`, `"hann"`, `"hamming"`, `"blackman"`, `"nuttall"`,
            `"blackmanharris"`, `"flattop"`, `"bartlett"`, `"barthann"`, `"bohman"`, `"cosine"`,
            `"exponential"`, `"lanczos"`, `"parzen"`, `"taylor"`, `"triang"`,
            `"tukey"`; an array of the window's values; or `None` for no window. Default: `"hann"`.
        scaling: `"density"` divides by the window's L2 norm, `"spectrum"` by its L1 norm, `None` by
            nothing. Default: `"density"`.
        periodic: whether the window is periodic, and not symmetric. Default: `False`.

    Call arguments:
        shape: `(window length, 1, number of frequencies)`.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Raises:
        ValueError: if `side`, `window` or `scaling` is unknown.

    Example:
        >>> STFT("real")((8, 1, 5)).shape
        TensorShape([8, 1, 5])
    """

    def __init__(
        self,
        side: str = "real",
        window: Any = "hann",
        scaling: str | None = "density",
        periodic: bool = False,
    ) -> None:
        if side not in ("real", "imag"):
            raise ValueError(f'`side` must be "real" or "imag". Received: side={side!r}')
        if isinstance(window, str) and window not in NAMED_WINDOWS:
            raise ValueError(
                f"Unknown `window`. Expected one of {NAMED_WINDOWS}, the values of "
                f"a window as an array, or None. Received: window={window!r}"
            )
        if scaling not in ("density", "spectrum", None):
            raise ValueError(
                f'`scaling` must be "density", "spectrum" or None. Received: scaling={scaling!r}'
            )
        self.side = side
        self.window = window
        self.scaling = scaling
        self.periodic = periodic

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Returns the kernel of shape `(frame_length, 1, fft_length // 2 + 1)`."""
        frame_length, _, num_frequencies = shape
        time = np.arange(frame_length)[:, None, None]
        # The frequencies of a real transform: from 0 to one half of the sampling rate.
        frequency = np.arange(num_frequencies)[None, None, :] / (2 * (num_frequencies - 1))
        angle = -2 * np.pi * time * frequency  # (frame_length, 1, frequencies)
        kernel = np.cos(angle) if self.side == "real" else np.sin(angle)
        if self.window is not None:
            kernel = kernel * self._scaled_window(frame_length)[:, None, None]
        return tf.cast(kernel, standardize_dtype(dtype))

    def _scaled_window(self, frame_length: int) -> np.ndarray:
        if isinstance(self.window, str):
            window = named_window(self.window, frame_length, self.periodic)
        else:
            window = np.asarray(self.window, "float64")
        if window.shape != (frame_length,):
            raise ValueError(
                f"`window` must have one value for each of the {frame_length} samples of a frame. "
                f"Received: a window of shape {window.shape}"
            )
        if self.scaling == "density":
            # The power of a frame is then independent of the window.
            return window / np.sqrt(np.sum(np.square(window)))
        if self.scaling == "spectrum":
            # The amplitude of a sine is then independent of the window.
            return window / np.sum(np.abs(window))
        return window
