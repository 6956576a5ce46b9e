"""Converts layers to configurations, and back."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.core.layer import Layer


@shortened
def serialize(layer: Layer) -> dict[str, Any]:
    """Returns the configuration of a layer, without its weights.

    Args:
        layer: a layer or a model.

    Returns:
        A dict of plain data that `deserialize` accepts.

    Example:
        >>> config = serialize(tfkit.layers.Dense(2, name="out"))
        >>> config["class_name"], config["config"]["units"]
        ('Dense', 2)
    """
    return serialization.serialize_keras_object(layer)


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Layer:
    """Returns the layer that a configuration describes: the inverse of `serialize`.

    Args:
        config: a dict as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A layer with new weights, or none yet.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(tfkit.layers.Dense(2, name="out"))).name
        'out'
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="layers")
