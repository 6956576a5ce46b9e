"""Marking time steps as missing."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions


class Masking(Layer):
    """Masks the time steps whose features all equal a value; their features become 0.

    Args:
        mask_value: the value that stands for a missing feature.

    Input shape: `(batch, steps, features)`.

    Output shape: the same; the mask has shape `(batch, steps)`.
    """

    def __init__(self, mask_value: Any = 0.0, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, 0 in masked steps."""
        present = self.compute_mask(inputs)
        return tf.where(present[..., tf.newaxis], inputs, tf.zeros_like(inputs))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> tf.Tensor:
        """Where a feature differs from `mask_value`."""
        return tf.reduce_any(tf.not_equal(inputs, tf.cast(self.mask_value, inputs.dtype)), axis=-1)
