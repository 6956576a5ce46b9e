"""Pooling into a fixed number of windows, for inputs of any size."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.registry import constructors
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import as_floats, check, check_type, is_integer
from tfkit.src.ops.pooling import adaptive_average_pool, adaptive_max_pool
from tfkit.src.symbolic.input_spec import InputSpec


class _AdaptivePooling(Layer):
    """The base of adaptive poolings, which describe the arguments; they set `rank`."""

    rank = 2

    @constructors.named_after_class
    def __init__(
        self, output_size: Any, data_format: str | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.output_size = self._sizes(output_size)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _sizes(self, value: Any) -> tuple[int, ...]:
        """Returns a number of windows for each axis; raises a `TypeError` for other values, as Keras does."""
        many = (value,) * self.rank if is_integer(value) else value
        are_integers = isinstance(many, (list, tuple)) and all(map(is_integer, many))
        expected = f"a positive integer or {self.rank} of them"
        check_type(self, are_integers, "output_size", expected, value)
        fits = len(many) == self.rank
        check(self, fits or self.rank == 1, "output_size", expected, value, TypeError)
        check(self, fits and min(many) > 0, "output_size", expected, value)
        return tuple(int(size) for size in many)


class _AdaptiveMax(_AdaptivePooling):
    """The largest value of each window, for each channel."""

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the largest value of each window."""
        return adaptive_max_pool(inputs, self.output_size, self.data_format)


class _AdaptiveAverage(_AdaptivePooling):
    """The mean of each window, for each channel."""

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the mean of each window."""
        return adaptive_average_pool(as_floats(self, inputs), self.output_size, self.data_format)


class AdaptiveAveragePooling1D(_AdaptiveAverage):
    """The mean of each of `output_size` windows into which sequences are divided, for each channel.

    The windows along an axis are nearly equal: of `n` entries, window `i` of `m` holds those from
    `floor(i * n / m)` to `ceil((i + 1) * n / m) - 1`, so that neighbours may overlap.

    Args:
        output_size: number of windows, a positive integer.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, output_size, channels)`, or `(batch, channels, output_size)`.

    Raises:
        TypeError: if `output_size` is not an integer.
        ValueError: if a number is not positive, or if `data_format` is unknown.

    Example:
        >>> layer = AdaptiveAveragePooling1D(2)
        >>> layer(tf.reshape(tf.range(5.0), (1, 5, 1))).numpy().ravel().tolist()
        [1.0, 3.0]
    """

    rank = 1


class AdaptiveAveragePooling2D(_AdaptiveAverage):
    """The mean of each of `output_size` windows into which images are divided, for each channel.

    The windows along an axis are nearly equal: of `n` entries, window `i` of `m` holds those from
    `floor(i * n / m)` to `ceil((i + 1) * n / m) - 1`, so that neighbours may overlap.

    Args:
        output_size: number of windows along each axis, a tuple of two positive integers, or one
            integer for both.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, *output_size, channels)`, or `(batch, channels, *output_size)`.

    Raises:
        TypeError: if `output_size` is neither an integer nor a tuple of 2.
        ValueError: if a number is not positive, or if `data_format` is unknown.

    Example:
        >>> AdaptiveAveragePooling2D((2, 3))(tf.ones((1, 7, 8, 4))).shape
        TensorShape([1, 2, 3, 4])
    """

    rank = 2


class AdaptiveAveragePooling3D(_AdaptiveAverage):
    """The mean of each of `output_size` windows into which volumes are divided, for each channel.

    The windows along an axis are nearly equal: of `n` entries, window `i` of `m` holds those from
    `floor(i * n / m)` to `ceil((i + 1) * n / m) - 1`, so that neighbours may overlap.

    Args:
        output_size: number of windows along each axis, a tuple of three positive integers, or one
            integer for all.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, *output_size, channels)`, or `(batch, channels, *output_size)`.

    Raises:
        TypeError: if `output_size` is neither an integer nor a tuple of 3.
        ValueError: if a number is not positive, or if `data_format` is unknown.

    Example:
        >>> AdaptiveAveragePooling3D(2)(tf.ones((1, 7, 8, 9, 4))).shape
        TensorShape([1, 2, 2, 2, 4])
    """

    rank = 3


class AdaptiveMaxPooling1D(_AdaptiveMax):
    """The largest value of each of `output_size` windows into which sequences are divided, for each channel.

    The windows along an axis are nearly equal: of `n` entries, window `i` of `m` holds those from
    `floor(i * n / m)` to `ceil((i + 1) * n / m) - 1`, so that neighbours may overlap.

    Args:
        output_size: number of windows, a positive integer.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, output_size, channels)`, or `(batch, channels, output_size)`.

    Raises:
        TypeError: if `output_size` is not an integer.
        ValueError: if a number is not positive, or if `data_format` is unknown.

    Example:
        >>> layer = AdaptiveMaxPooling1D(2)
        >>> layer(tf.reshape(tf.range(5.0), (1, 5, 1))).numpy().ravel().tolist()
        [2.0, 4.0]
    """

    rank = 1


class AdaptiveMaxPooling2D(_AdaptiveMax):
    """The largest value of each of `output_size` windows into which images are divided, for each channel.

    The windows along an axis are nearly equal: of `n` entries, window `i` of `m` holds those from
    `floor(i * n / m)` to `ceil((i + 1) * n / m) - 1`, so that neighbours may overlap.

    Args:
        output_size: number of windows along each axis, a tuple of two positive integers, or one
            integer for both.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, *output_size, channels)`, or `(batch, channels, *output_size)`.

    Raises:
        TypeError: if `output_size` is neither an integer nor a tuple of 2.
        ValueError: if a number is not positive, or if `data_format` is unknown.

    Example:
        >>> AdaptiveMaxPooling2D((2, 3))(tf.ones((1, 7, 8, 4))).shape
        TensorShape([1, 2, 3, 4])
    """

    rank = 2


class AdaptiveMaxPooling3D(_AdaptiveMax):
    """The largest value of each of `output_size` windows into which volumes are divided, for each channel.

    The windows along an axis are nearly equal: of `n` entries, window `i` of `m` holds those from
    `floor(i * n / m)` to `ceil((i + 1) * n / m) - 1`, so that neighbours may overlap.

    Args:
        output_size: number of windows along each axis, a tuple of three positive integers, or one
            integer for all.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, *output_size, channels)`, or `(batch, channels, *output_size)`.

    Raises:
        TypeError: if `output_size` is neither an integer nor a tuple of 3.
        ValueError: if a number is not positive, or if `data_format` is unknown.

    Example:
        >>> AdaptiveMaxPooling3D(2)(tf.ones((1, 7, 8, 9, 4))).shape
        TensorShape([1, 2, 2, 2, 4])
    """

    rank = 3
