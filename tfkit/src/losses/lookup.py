"""Finds losses by name or configuration."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization


@shortened
def get(identifier: Any) -> Any:
    """Returns the loss or loss function for an identifier.

    Args:
        identifier: a name such as `"mse"` or `"MeanSquaredError"`, a configuration, a class, a
            callable, or `None`, which is returned.

    Returns:
        A loss function for its name, a loss for the name of a class or a configuration.

    Raises:
        ValueError: for an unknown name and for anything that is not callable.

    Example:
        >>> get("mse").__name__
        'mean_squared_error'
    """
    return serialization.resolve(identifier, "losses")


def serialize(loss: Any) -> Any:
    """Returns the configuration of a loss or loss function.

    Args:
        loss: a loss, or a function of `y_true` and `y_pred`.

    Returns:
        The input of `deserialize`: a dict in which a function is its name.

    Example:
        >>> serialize(tfkit.losses.Huber(delta=0.5))["config"]["delta"]
        0.5
    """
    return serialization.serialize_keras_object(loss)


@shortened
def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the loss or loss function that a configuration describes: the inverse of `serialize`.

    Args:
        name: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A loss, or a function.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(tfkit.losses.Huber(delta=0.5))).name
        'huber_loss'
    """
    return serialization.deserialize_keras_object(name, custom_objects, kind="losses")
