"""Configurations in the short form of older Keras: `{"class_name": ..., "config": ...}`."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry import tables as registry


def serialize_keras_object(instance: Any) -> Any:
    """Returns the short configuration of an object with `get_config()`; the name of a function."""
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        name = registry.get_registered_name(type(instance))
        return {"class_name": name, "config": instance.get_config()}
    return registry.get_registered_name(instance)


def deserialize_keras_object(
    identifier: Any,
    module_objects: dict[str, Any] | None = None,
    custom_objects: dict[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Returns the object for a short configuration or a name, among registered and given objects.

    Raises:
        ValueError: for a name that is not known.
    """
    if identifier is None:
        return None
    name = identifier["class_name"] if isinstance(identifier, dict) else identifier
    found = registry.named_object(name, custom_objects, module_objects, printable_module_name)
    if isinstance(identifier, dict):
        return found.from_config(identifier["config"])
    return found() if isinstance(found, type) else found
