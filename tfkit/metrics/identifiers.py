"""Metrics by name and by configuration."""

from __future__ import annotations

from typing import Any

from tfkit import serialization


def get(identifier: Any) -> Any:
    """Returns the metric, or the metric function, that an identifier stands for.

    Args:
        identifier: a name such as `"mse"` or `"AUC"`, a configuration, a class, a function, a
            metric, or `None`.

    Raises:
        ValueError: for a name that is not known, and for anything that is no metric.

    Example:
        >>> get("mse")
        <MeanSquaredError name=mean_squared_error>
    """
    return serialization.resolve(identifier, "metrics")


def serialize(metric: Any) -> Any:
    """Returns the configuration of a metric, or the name of a metric function, as data."""
    return serialization.serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the metric or function that a configuration describes: the inverse of `serialize()`.

    Args:
        config: a configuration.
        custom_objects: further names that the configuration may use.

    Raises:
        ValueError: for a name that is not known.
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="metrics")
