"""The mask of a layer's outputs: computed after the call, and attached to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.errors.frames import warn
from tfkit.src.symbolic.masking import get_mask, set_mask

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer


def attach_mask(layer: Layer, inputs: Any, outputs: Any, mask: Any) -> None:
    """Lets the mask that `layer.compute_mask` returns travel with `outputs`.

    A layer that neither supports masks nor takes one as an argument would lose it: it warns.
    """
    if not layer.supports_masking:
        if mask is not None and not layer._tfkit.signature.mask_names:
            warn(
                f"Layer {layer._tfkit.title} was passed an input with a mask, "
                "but it does not support masking: layers after it will not see the mask. Set "
                "`self.supports_masking = True` in its `__init__()` to pass the mask on unchanged, or "
                "define `compute_mask()`."
            )
        return
    tensors = tf.nest.flatten(outputs)
    if all(get_mask(tensor) is not None for tensor in tensors):
        return
    masks = layer.compute_mask(inputs, mask)
    for tensor, tensor_mask in zip(tensors, tf.nest.flatten(masks), strict=False):
        if get_mask(tensor) is None and tensor_mask is not None:
            set_mask(tensor, tensor_mask)
