"""The weights of adapted and quantized layers in files of Keras.

Keras stores the sum of a weight and its LoRA instead of all three. The sum and the bias come first.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.layers.lora import Adaptable


def stored_weights(layer: Layer) -> list[tf.Variable]:
    """Returns the weights of a layer itself that a file stores, in its order."""
    weights = tracking.own_weights(layer)
    if not isinstance(layer, Adaptable):
        return weights
    if layer.lora_enabled:
        lora = [id(matrix) for matrix in layer._tfkit_lora()[:2]]
        weights = [weight for weight in weights if id(weight) not in lora]
    if layer.quantization_mode is None:
        return weights
    # Keras stores the integers and the bias first, in whatever order they were made.
    first = [vars(layer).get(layer._tfkit_main), vars(layer).get("bias")]
    head = [weight for weight in first if weight is not None]
    return head + [weight for weight in weights if all(weight is not it for it in head)]


def adapted(places: list[tuple[str, Layer]]) -> list[Adaptable]:
    """Returns the layers that LoRA adapts."""
    return [it for _, it in places if isinstance(it, Adaptable) and it.lora_enabled]


def stored_values(variables: dict[str, tf.Variable], layers: list[Adaptable]) -> dict[str, Any]:
    """Returns what a file stores at each path: a variable, or the value of the sum."""
    sums = {
        id(vars(layer)[name]): value
        for layer in layers
        for name, value in layer._tfkit_merged().items()
    }
    return {path: sums.get(id(weight), weight) for path, weight in variables.items()}


def empty(layers: list[Adaptable], read: set[int]) -> None:
    """Empties the LoRA of weights that were read, which are sums in the file.

    Args:
        layers: the layers that LoRA adapts.
        read: ids of the weights that were read.
    """
    for layer in layers:
        if id(vars(layer)[layer._tfkit_main]) in read:
            layer._tfkit_empty_lora()
