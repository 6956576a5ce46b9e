"""The weights of adapted layers in files of Keras, which hold them in another form.

Keras stores the sum of a weight and its LoRA in place of the three weights.
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
    if not isinstance(layer, Adaptable) or not layer.lora_enabled:
        return weights
    lora = [id(matrix) for matrix in layer._tfkit_lora()[:2]]
    return [weight for weight in weights if id(weight) not in lora]


def adapted(places: list[tuple[str, Layer]]) -> dict[int, Adaptable]:
    """Returns the layers that LoRA adapts, by the id of the weight that is stored as a sum."""
    return {
        id(vars(layer)[layer._tfkit_main]): layer
        for _, layer in places
        if isinstance(layer, Adaptable) and layer.lora_enabled
    }


def stored_values(
    variables: dict[str, tf.Variable], layers: dict[int, Adaptable]
) -> dict[str, Any]:
    """Returns what a file stores at each path: a variable, or the sum."""
    return {
        path: layers[id(weight)]._tfkit_merged() if id(weight) in layers else weight
        for path, weight in variables.items()
    }


def loaded(weight: tf.Variable, layers: dict[int, Adaptable]) -> None:
    """Empties the LoRA of a weight that has been read, which is a sum in the file."""
    if id(weight) in layers:
        layers[id(weight)]._tfkit_empty_lora()
