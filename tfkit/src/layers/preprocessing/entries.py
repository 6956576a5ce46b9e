"""Applies functions of single entries to dense, ragged and sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def on_entries(inputs: Any, function: Callable[[tf.Tensor], tf.Tensor]) -> Any:
    """Returns a function of each entry, in the form of the inputs."""
    if isinstance(inputs, tf.RaggedTensor):
        return inputs.with_flat_values(function(inputs.flat_values))
    if isinstance(inputs, tf.SparseTensor):
        outputs = inputs.with_values(function(inputs.values))
        outputs.set_shape(inputs.shape)
        return outputs
    return tf.ensure_shape(function(inputs), inputs.shape)
