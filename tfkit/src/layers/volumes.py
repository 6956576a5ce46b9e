"""Layers that change the size of volumes: crop, pad with zeros, repeat."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.convolution import sizes
from tfkit.src.layers.resizing import crop, pad, pairs, spatial_axes
from tfkit.src.symbolic.input_spec import InputSpec


class Cropping3D(Layer):
    """Removes entries at the faces of volumes.

    Args:
        cropping: entries removed: three pairs, before and after along depth, height and width;
            three integers for the same at both ends; or one integer for all. Default:
            `((1, 1), (1, 1), (1, 1))`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: The input shape, each size reduced by the number of entries removed along its axis.

    Raises:
        ValueError: if a number is negative, if `data_format` is unknown, or if no entry would be
            left.

    Example:
        >>> Cropping3D((1, 0, 2))(tf.ones((1, 5, 5, 5, 3))).shape
        TensorShape([1, 3, 5, 1, 3])
    """

    def __init__(
        self,
        cropping: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.cropping = pairs(self, "cropping", cropping, 3)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=5)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, cropped."""
        axes = spatial_axes(self.data_format, 5)
        return crop(self, inputs, dict(zip(axes, self.cropping, strict=True)))


class ZeroPadding3D(Layer):
    """Adds zeros around volumes.

    Args:
        padding: entries added: three pairs, before and after along depth, height and width; three
            integers for the same at both ends; or one integer for all. Default:
            `((1, 1), (1, 1), (1, 1))`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: The input shape, each size increased by the number of entries added along its axis.

    Raises:
        ValueError: if a number is negative, or if `data_format` is unknown.

    Example:
        >>> ZeroPadding3D(((1, 0), (0, 0), (2, 2)))(tf.ones((1, 5, 5, 5, 3))).shape
        TensorShape([1, 6, 5, 9, 3])
    """

    def __init__(
        self,
        padding: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.padding = pairs(self, "padding", padding, 3)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=5)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, padded."""
        axes = spatial_axes(self.data_format, 5)
        return pad(inputs, dict(zip(axes, self.padding, strict=True)))


class UpSampling3D(Layer):
    """Enlarges volumes by whole factors: repeats each entry.

    Args:
        size: factors of depth, height and width, a tuple of three positive integers, or one integer
            for all. Default: `(2, 2, 2)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: The input shape, with `depth * size[0]`, `height * size[1]` and
    `width * size[2]`.

    Raises:
        ValueError: if a factor is not a positive integer, or if `data_format` is unknown.

    Example:
        >>> UpSampling3D((1, 2, 3))(tf.ones((1, 2, 2, 2, 3))).shape
        TensorShape([1, 2, 4, 6, 3])
    """

    def __init__(
        self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.size = sizes(self, "size", size, 3)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=5)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, enlarged."""
        for axis, factor in zip(spatial_axes(self.data_format, 5), self.size, strict=True):
            # One axis after the other: `tf.repeat` has one.
            inputs = tf.repeat(inputs, factor, axis=axis)
        return inputs
