"""A layer that maps values to another range."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.settings import image_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check


class Rescaling(Layer):
    """Computes `inputs * scale + offset`.

    Args:
        scale: factor, a number; or one for each channel, a list.
        offset: number that is added, or one for each channel. Default: `0.0`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a tensor of any dtype.

    Input shape: Any.

    Output shape: The same as the input shape.

    Example:
        >>> Rescaling(1 / 127.5, offset=-1)(tf.constant([0, 255], "uint8")).numpy().tolist()
        [-1.0, 1.0]
    """

    _allow_non_tensor_positional_args = True

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        for name, value in (("scale", scale), ("offset", offset)):
            check(
                self,
                not isinstance(value, (str, bytes)),
                name,
                "a number, or a list of numbers",
                value,
            )
        self.scale = scale
        self.offset = offset
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs in the other range, in the compute dtype."""
        inputs = tf.cast(inputs, self.compute_dtype)
        return inputs * self._factor(self.scale, inputs) + self._factor(self.offset, inputs)

    def _factor(self, value: Any, inputs: tf.Tensor) -> tf.Tensor:
        value = tf.constant(np.asarray(value), inputs.dtype)
        channels_come_first = image_data_format() == "channels_first" and inputs.shape.rank == 4
        if value.shape.rank == 1 and channels_come_first:
            # One value for each channel, which is the first axis of an image here.
            return value[:, tf.newaxis, tf.newaxis]
        return value
