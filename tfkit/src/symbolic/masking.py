"""Masks of tensors, stored on the tensors as the attribute `_keras_mask`.

Layers attach it (`Embedding(mask_zero=True)`, `Masking`), the next layer reads it, and losses and metrics
leave masked entries out. Programs written for Keras read the attribute under this name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.protocols import HasPath, Tracked


def get_mask(tensor: Any) -> Any:
    """Returns the mask of `tensor`, or `None`."""
    # Without a mask, TensorFlow's `__getattr__` would need most of a microsecond to raise its error.
    if isinstance(tensor, tf.Tensor):
        return vars(tensor).get("_keras_mask")
    return getattr(tensor, "_keras_mask", None)


def carried_mask(tensor: Any) -> Any:
    """Returns the mask of `tensor`. A functional model records a call of this function as a mask's origin.

    Raises:
        ValueError: for a tensor without a mask, as when an input of the model replaces the masked one.
    """
    mask = get_mask(tensor)
    if mask is None:
        raise ValueError(
            "The model uses the mask of a tensor that has none here, because the layer that makes the mask "
            "is not part of the model. Begin the model before that layer, or make the mask an input."
        )
    return mask


def set_mask(tensor: Any, mask: Any) -> None:
    """Sets the mask of `tensor`, unless it is an object that accepts no attributes."""
    # A mask of `None` is stored only to replace a mask: most tensors have none, and need no attribute.
    if mask is not None or get_mask(tensor) is not None:
        try:
            tensor._keras_mask = mask
        except AttributeError:
            return


def masks_of(value: Any) -> Any:
    """Returns the masks of a tensor or a nest of tensors; `None` if there are none at all."""
    masks = _masks(value)
    # One `None` for a nest without masks, so that layers need not look into it.
    return masks if any(mask is not None for mask in tf.nest.flatten(masks)) else None


def _masks(value: Any) -> Any:
    if isinstance(value, tf.Tensor) or not nests.is_nested(value):
        return get_mask(value)
    if isinstance(value, Mapping):
        return {key: _masks(item) for key, item in value.items()}
    # Nests of other classes become lists: of masks, only the order counts.
    masks = [_masks(item) for item in nests.children(value)]
    return tuple(masks) if isinstance(value, tuple) else masks


class Masking(HasPath, Tracked, Protocol):
    """The part of a layer's interface that concerns masks."""

    supports_masking: bool

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """Returns the masks of the outputs."""


def attach(layer: Masking, takes_mask: bool, inputs: Any, outputs: Any, mask: Any) -> None:
    """Sets the mask of `outputs` to the result of `layer.compute_mask`.

    A layer that neither supports masks nor accepts one as an argument would lose it, and warns once.

    Args:
        layer: the layer.
        takes_mask: whether its `call` has a parameter for a mask.
        inputs: the first argument of the call.
        outputs: the layer's outputs.
        mask: the mask of the inputs, or `None`.
    """
    if not layer.supports_masking:
        # Noted in the state of the layer and not for the place of the call: one warning for each layer, not
        # for each step.
        if mask is not None and not takes_mask and not layer._tfkit.loses_masks:
            layer._tfkit.loses_masks = True
            warn(
                f"Layer {layer._tfkit.title} was passed an input with a mask, but it does not support "
                "masking: layers after it will not see the mask. Set `self.supports_masking = True` in its "
                "`__init__()` to pass the mask on unchanged, or define `compute_mask()`."
            )
        return
    # `call` may have set masks itself; those are kept.
    tensors = tf.nest.flatten(outputs)
    if all(get_mask(tensor) is not None for tensor in tensors):
        return
    masks = layer.compute_mask(inputs, mask)
    # `strict=False`: a layer with several outputs may return one mask, which belongs to the first.
    for tensor, tensor_mask in zip(tensors, tf.nest.flatten(masks), strict=False):
        if get_mask(tensor) is None and tensor_mask is not None:
            set_mask(tensor, tensor_mask)


def of_graph(layer: Masking, inputs: Any, outputs: list[Any]) -> list[Any]:
    """Returns the outputs of a call in a functional model, with the masks of `layer.compute_mask`.

    A tensor that the layer has returned unchanged still has the mask of the inputs, but the symbolic output
    of the same call has its own.
    """
    given = {id(tensor) for tensor in tf.nest.flatten(inputs) if get_mask(tensor) is not None}
    if not any(id(tensor) in given for tensor in outputs):
        return outputs
    masks = tf.nest.flatten(layer.compute_mask(inputs, masks_of(inputs)))
    masks += [None] * (len(outputs) - len(masks))
    return [
        masked(tensor, mask) if id(tensor) in given and mask is not None else tensor
        for tensor, mask in zip(outputs, masks, strict=False)
    ]


def masked(tensor: Any, mask: Any) -> Any:
    """Returns an equal tensor with a mask."""
    if get_mask(tensor) is mask:
        return tensor
    copy = tf.identity(tensor)
    set_mask(copy, mask)
    return copy
