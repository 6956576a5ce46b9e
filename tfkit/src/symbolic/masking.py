"""The mask of a tensor travels on the tensor itself, as the attribute `_keras_mask`.

Layers attach it (`Embedding(mask_zero=True)`, `Masking`), the next layer reads it, losses and metrics
leave masked entries out. The name of the attribute is the one that programs written for Keras read.
"""

from __future__ import annotations

from typing import Any


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
