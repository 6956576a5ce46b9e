"""Finds quantizers by name or configuration."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization


@shortened
def get(identifier: Any, **kwargs: Any) -> Any:
    """Returns the quantizer for an identifier.

    Args:
        identifier: a name such as `"abs_max_quantizer"`, a configuration, a class, a function from floats to
            integers and a scale, or `None`, which is returned.
        **kwargs: arguments of the constructor, for a name or a class.

    Returns:
        A function from floats to integers and a scale.

    Raises:
        ValueError: for an unknown name and for anything that is not callable.

    Example:
        >>> get("abs_max_quantizer", axis=0).axis
        (0,)
    """
    if kwargs and isinstance(identifier, str):
        identifier = type(serialization.resolve(identifier, "quantizers"))
    if kwargs and isinstance(identifier, type):
        return identifier(**kwargs)
    return serialization.resolve(identifier, "quantizers")


def serialize(initializer: Any) -> Any:
    """Returns the configuration of a quantizer.

    Args:
        initializer: the quantizer, under the name that this argument has in Keras.

    Returns:
        The input of `deserialize`.

    Example:
        >>> serialize(tfkit.quantizers.AbsMaxQuantizer(axis=0))["config"]["axis"]
        (0,)
    """
    return serialization.serialize_keras_object(initializer)


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the quantizer that a configuration describes: the inverse of `serialize`.

    Args:
        config: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A quantizer, or a function.

    Example:
        >>> deserialize(serialize(tfkit.quantizers.AbsMaxQuantizer(axis=0))).axis
        (0,)
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="quantizers")
