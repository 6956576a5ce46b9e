"""Layers that change the size of sequences and images: crop, pad with zeros, repeat."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.engine.tensorflow_faults import resize
from tfkit.src.layers.checks import (
    check,
    check_positive_integer,
    check_type,
    is_integer,
    standardize_pair,
)
from tfkit.src.symbolic.input_spec import InputSpec

_INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "area")


def pairs(layer: Layer, argument: str, value: Any, count: int) -> tuple[tuple[int, int], ...]:
    """Returns amounts before and after along `count` axes, from one integer, one for each, or pairs."""
    if is_integer(value):
        value = (value,) * count
    holds = isinstance(value, (list, tuple)) and len(value) == count
    expected = f"an integer, {count} integers or {count} pairs of integers"
    check(layer, holds, argument, expected, value)
    return tuple(standardize_pair(layer, argument, item, minimum=0) for item in value)


def spatial_axes(data_format: str, rank: int) -> list[int]:
    """Returns the axes of inputs with `rank` axes that are neither batch nor channels."""
    return list(range(2, rank) if data_format == "channels_first" else range(1, rank - 1))


def crop(layer: Layer, inputs: Any, amounts: dict[int, tuple[int, int]]) -> tf.Tensor:
    """Returns `inputs` without `amounts` entries at both ends of axes."""
    slices = [slice(None)] * inputs.shape.rank
    for axis, (before, after) in amounts.items():
        size = inputs.shape[axis]
        if size is not None and before + after >= size:
            raise ValueError(
                f"Layer {layer._tfkit.title} would crop everything: cropping={(before, after)} along axis "
                f"{axis}. Expected inputs with more than {before + after} entries there. Received: "
                f"inputs.shape={tuple(inputs.shape)}"
            )
        # `-0` would end the slice at its beginning.
        slices[axis] = slice(before, -after or None)
    return inputs[tuple(slices)]


def pad(inputs: Any, amounts: dict[int, tuple[int, int]]) -> tf.Tensor:
    """Returns `inputs` with `amounts` zeros at both ends of axes."""
    return tf.pad(inputs, [amounts.get(axis, (0, 0)) for axis in range(inputs.shape.rank)])


class Cropping1D(Layer):
    """Removes time steps at both ends of sequences.

    Args:
        cropping: number of steps removed at the start and at the end, a tuple of two integers, or
            one integer for both. Default: `(1, 1)`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, steps, features)`.

    Output shape: `(batch, steps - start - end, features)`.

    Raises:
        ValueError: if a number is negative, or if no step would be left.

    Example:
        >>> Cropping1D((1, 0))(tf.constant([[[1.0], [2.0], [3.0]]])).numpy().ravel().tolist()
        [2.0, 3.0]
    """

    def __init__(self, cropping: Any = (1, 1), **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.cropping = standardize_pair(self, "cropping", cropping, minimum=0)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, cropped."""
        return crop(self, inputs, {1: self.cropping})


class Cropping2D(Layer):
    """Removes rows and columns at the edges of images.

    Args:
        cropping: pixels removed: `((top, bottom), (left, right))`; `(height, width)` for the same
            at both edges; or one integer for all. Default: `((0, 0), (0, 0))`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: The input shape with `height - top - bottom` and `width - left - right`.

    Raises:
        ValueError: if a number is negative, if `data_format` is unknown, or if no pixel would be
            left.

    Example:
        >>> Cropping2D(((1, 0), (0, 2)))(tf.ones((1, 5, 5, 3))).shape
        TensorShape([1, 4, 3, 3])
    """

    def __init__(
        self,
        cropping: Any = ((0, 0), (0, 0)),
        data_format: str | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.cropping = pairs(self, "cropping", cropping, 2)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=4)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, cropped."""
        axes = spatial_axes(self.data_format, 4)
        return crop(self, inputs, dict(zip(axes, self.cropping, strict=True)))


class ZeroPadding1D(Layer):
    """Adds zeros at both ends of sequences.

    Args:
        padding: number of steps added at the start and at the end, a tuple of two integers, or one
            integer for both. Default: `1`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, steps, features)`, or `(batch, features, steps)` with
    `data_format="channels_first"`.

    Output shape: The input shape with `steps + start + end`.

    Raises:
        ValueError: if a number is negative, or if `data_format` is unknown.

    Example:
        >>> ZeroPadding1D((1, 0))(tf.constant([[[1.0], [2.0]]])).numpy().ravel().tolist()
        [0.0, 1.0, 2.0]
    """

    def __init__(
        self, padding: Any = 1, data_format: str | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.padding = standardize_pair(self, "padding", padding, minimum=0)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, padded."""
        return pad(inputs, {spatial_axes(self.data_format, 3)[0]: self.padding})


class ZeroPadding2D(Layer):
    """Adds rows and columns of zeros around images.

    Args:
        padding: pixels added: `((top, bottom), (left, right))`; `(height, width)` for the same at
            both edges; or one integer for all. Default: `(1, 1)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: The input shape with `height + top + bottom` and `width + left + right`.

    Raises:
        ValueError: if a number is negative, or if `data_format` is unknown.

    Example:
        >>> ZeroPadding2D(((1, 0), (0, 2)))(tf.ones((1, 5, 5, 3))).shape
        TensorShape([1, 6, 7, 3])
    """

    def __init__(
        self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.padding = pairs(self, "padding", padding, 2)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=4)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, padded."""
        axes = spatial_axes(self.data_format, 4)
        return pad(inputs, dict(zip(axes, self.padding, strict=True)))


class UpSampling1D(Layer):
    """Repeats each step of sequences.

    Args:
        size: positive integer, the number of repetitions. Default: `2`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, steps, features)`.

    Output shape: `(batch, steps * size, features)`.

    Raises:
        TypeError: if `size` is not an integer.
        ValueError: if `size` is not positive.

    Example:
        >>> UpSampling1D(2)(tf.constant([[[1.0], [2.0]]])).numpy().ravel().tolist()
        [1.0, 1.0, 2.0, 2.0]
    """

    def __init__(self, size: int = 2, **kwargs: Unpack[LayerOptions]) -> None:
        check_type(self, is_integer(size), "size", "an integer", size)
        check_positive_integer(self, size=size)
        super().__init__(**kwargs)
        self.size = size
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, repeated."""
        return tf.repeat(inputs, self.size, axis=1)


class UpSampling2D(Layer):
    """Enlarges images by whole factors.

    Args:
        size: factors of height and width, a tuple of two positive integers, or one integer for
            both. Default: `(2, 2)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        interpolation: `"nearest"`, which repeats rows and columns, as does `"area"`; `"bilinear"`,
            `"bicubic"`, `"lanczos3"` or `"lanczos5"`. Default: `"nearest"`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: The input shape with `height * size[0]` and `width * size[1]`.

    Raises:
        ValueError: if a factor is not a positive integer, or if `interpolation` or `data_format` is
            unknown.

    Example:
        >>> images = tf.constant([[[[1.0], [2.0]]]])
        >>> UpSampling2D((2, 1))(images)[0, ..., 0].numpy().tolist()
        [[1.0, 2.0], [1.0, 2.0]]
    """

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.size = standardize_pair(self, "size", size)
        self.data_format = standardize_data_format(data_format)
        self.interpolation = str(interpolation).lower()
        holds = self.interpolation in _INTERPOLATIONS
        check(self, holds, "interpolation", f"one of {_INTERPOLATIONS}", interpolation)
        self.input_spec = InputSpec(ndim=4)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, enlarged."""
        first = self.data_format == "channels_first"
        images = tf.transpose(inputs, [0, 2, 3, 1]) if first else inputs
        # Both methods are the same for whole factors.
        if self.interpolation in ("nearest", "area"):
            # (batch, height * size[0], width * size[1], channels)
            images = tf.repeat(tf.repeat(images, self.size[0], axis=1), self.size[1], axis=2)
        else:
            images = self._interpolated(images)
        return tf.transpose(images, [0, 3, 1, 2]) if first else images

    def _interpolated(self, images: tf.Tensor) -> tf.Tensor:
        size = tf.shape(images)[1:3] * self.size
        resized = tf.cast(resize(images, size, self.interpolation), images.dtype)
        _, height, width, channels = images.shape
        known = [
            None if pixels is None else pixels * factor
            for pixels, factor in zip((height, width), self.size, strict=True)
        ]
        return tf.ensure_shape(resized, [None, *known, channels])
