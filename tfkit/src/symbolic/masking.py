"""The mask of a tensor travels on the tensor itself, as the attribute `_keras_mask`.

Layers attach it (`Embedding(mask_zero=True)`, `Masking`), the next layer reads it, losses and metrics
leave masked entries out. The name of the attribute is the one that programs written for Keras read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests


def get_mask(tensor: Any) -> Any:
    """The mask that travels with `tensor`, or `None`."""
    return getattr(tensor, "_keras_mask", None)


def set_mask(tensor: Any, mask: Any) -> None:
    """Lets `mask` travel with `tensor`; objects that take no attributes carry none."""
    if mask is not None or get_mask(tensor) is not None:
        try:
            tensor._keras_mask = mask
        except AttributeError:
            return


def masks_of(value: Any) -> Any:
    """The masks that travel with a tensor or a nest of tensors, `None` where there are none at all."""
    masks = _masks(value)
    return masks if any(mask is not None for mask in tf.nest.flatten(masks)) else None


def _masks(value: Any) -> Any:
    if isinstance(value, tf.Tensor) or not nests.is_nested(value):
        return get_mask(value)
    if isinstance(value, Mapping):
        return {key: _masks(item) for key, item in value.items()}
    masks = [_masks(item) for item in nests.children(value)]
    return tuple(masks) if isinstance(value, tuple) else masks
