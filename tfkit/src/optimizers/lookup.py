"""Finds optimizers by name or configuration."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors import other_keras
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.tables import builtins_of
from tfkit.src.optimizers.base import Optimizer


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    """Returns the configuration of an optimizer, without its slots.

    Args:
        optimizer: an optimizer.

    Returns:
        A dict of plain data that `deserialize` accepts.

    Example:
        >>> serialize(tfkit.optimizers.SGD(momentum=0.5))["config"]["momentum"]
        0.5
    """
    return serialization.serialize_keras_object(optimizer)


@shortened
def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Optimizer:
    """Returns the optimizer that a configuration describes: the inverse of `serialize`.

    Case does not matter in the names of tfkit's own optimizers.

    Args:
        config: a dict as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        An optimizer at its first step.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(tfkit.optimizers.SGD(momentum=0.5))).momentum
        0.5
    """
    class_name = config.get("class_name")
    if isinstance(class_name, str) and _is_own(class_name):
        config = {**config, "class_name": class_name.lower()}
    return serialization.deserialize_keras_object(config, custom_objects, kind="optimizers")


@shortened
def get(identifier: Any) -> Optimizer | None:
    """Returns the optimizer for an identifier.

    Args:
        identifier: a name such as `"adam"`, a configuration, an optimizer, or `None`.

    Raises:
        ValueError: for anything else.

    Example:
        >>> get("sgd").momentum
        0.0
    """
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        found = deserialize(identifier)
    else:
        is_own = isinstance(identifier, str) and _is_own(identifier)
        found = serialization.resolve(identifier.lower() if is_own else identifier, "optimizers")
    if not isinstance(found, Optimizer):
        raise ValueError(
            "Could not interpret an optimizer identifier. Expected a name, a configuration or an "
            f"`Optimizer`. Received: {identifier!r}{other_keras.advice(identifier)}"
        )
    return found


def _is_own(name: str) -> bool:
    """Whether a name, in upper or lower case, belongs to a built-in optimizer."""
    return name.lower() in builtins_of("optimizers")
