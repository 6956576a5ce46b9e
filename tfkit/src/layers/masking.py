"""A layer that marks time steps as missing."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.ops import arithmetic, reductions


class Masking(Layer):
    """Masks the time steps whose features all equal a value; their features become 0.

    Later layers, losses and metrics that support masks leave these steps out.

    Args:
        mask_value: the value of missing features. Default: `0.0`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, steps, features)`.

    Output shape: The input shape; the mask has shape `(batch, steps)`.

    Example:
        >>> layer = Masking(mask_value=-1.0)
        >>> layer.compute_mask(tf.constant([[[1.0, -1.0], [-1.0, -1.0]]])).numpy().tolist()
        [[True, False]]
    """

    _tfkit_built_at_once = True

    def __init__(self, mask_value: Any = 0.0, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, 0 in masked steps."""
        present = self.compute_mask(inputs)
        # Zeros, since layers without masks see these steps; a product with the mask would keep
        # NaN.
        return tf.where(tf.expand_dims(present, -1), inputs, tf.zeros_like(inputs))

    def compute_mask(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Returns the mask of steps in which a feature differs from `mask_value`."""
        # Ops, because a model file can name them where this is called on a symbolic tensor.
        return reductions.any(
            arithmetic.not_equal(inputs, tf.cast(self.mask_value, inputs.dtype)), axis=-1
        )
