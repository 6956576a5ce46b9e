"""A wrapper that applies a layer to every step of a sequence."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.layers.identity import Wrapper


class TimeDistributed(Wrapper):
    """Applies a layer to every step of sequences: all steps of all samples are one batch for it.

    A layer that mixes the samples of its batch, such as `BatchNormalization` in training, therefore
    computes the statistics of all steps together.

    Args:
        layer: the layer that is applied.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: the sequences.
        training: passed to the layer, if it accepts it.
        mask: booleans of shape `(batch, steps, ...)`, passed to the layer, if it accepts a mask.
            `None` for no mask.

    Input shape: `(batch, steps, ...)`.

    Output shape: `(batch, steps, ...)`, followed by the axes of the layer's outputs.

    Raises:
        ValueError: if the inputs have fewer than three axes, or if the mask does not fit them.

    Example:
        >>> from tfkit.layers import Conv2D
        >>> TimeDistributed(Conv2D(4, 3))(tf.ones((2, 5, 8, 8, 3))).shape
        TensorShape([2, 5, 6, 6, 4])
    """

    def __init__(self, layer: Layer, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any = None) -> None:
        """Builds the wrapped layer for one step."""
        self._check_rank(input_shape)
        super().build((input_shape[0], *input_shape[2:]))

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Returns the layer's outputs for all steps."""
        self._check_rank(inputs.shape)
        lead = tf.shape(inputs)[:2]
        static = inputs.shape[:2]
        options: dict[str, Any] = {}
        if self.layer._tfkit.signature.has_training:
            options["training"] = training
        if mask is not None:
            self._check_mask(mask, static)
            if "mask" in self.layer._tfkit.signature.names:
                # Each step has its own part of the mask.
                options["mask"] = _merge_axes(tf.convert_to_tensor(mask))
        outputs = self.layer(_merge_axes(inputs), **options)

        def split(output: tf.Tensor) -> tf.Tensor:
            split = tf.reshape(output, tf.concat([lead, tf.shape(output)[1:]], axis=0))
            return tf.ensure_shape(split, static.concatenate(output.shape[1:]))

        return tf.nest.map_structure(split, outputs)

    def _check_rank(self, shape: Any) -> None:
        if len(shape) < 3:
            raise ValueError(
                f"Layer '{self.path}' (TimeDistributed) expects inputs of at least 3 axes, "
                f"`(batch, steps, ...)`. Received inputs of shape {tuple(shape)}"
            )

    def _check_mask(self, mask: Any, static: tf.TensorShape) -> None:
        shape = tf.TensorShape(mask.shape)
        if shape.rank < 2 or not shape[:2].is_compatible_with(static):
            raise ValueError(
                f"The `mask` passed to the `TimeDistributed` layer has a shape {tuple(mask.shape)} that does "
                f"not fit the inputs of layer '{self.path}'. Expected a mask of shape "
                f"`(batch, steps, ...)`, which starts with {tuple(static)}"
            )


def _merge_axes(tensor: tf.Tensor) -> tf.Tensor:
    """Returns the tensor with its first two axes merged."""
    shape = tf.shape(tensor)
    # (batch * steps, ...)
    merged = tf.reshape(tensor, tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0))
    batch, steps = tensor.shape[:2]
    size = None if batch is None or steps is None else batch * steps
    return tf.ensure_shape(merged, tf.TensorShape([size]).concatenate(tensor.shape[2:]))
