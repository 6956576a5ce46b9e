"""Finds metrics by name or configuration."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization


@shortened
def get(identifier: Any) -> Any:
    """Returns the metric, or the metric function, for an identifier.

    Args:
        identifier: a name such as `"mse"` or `"AUC"`, a configuration, a class, a function, a
            metric, or `None`.

    Raises:
        ValueError: for a name that is not known, and for anything that is not a metric.

    Example:
        >>> get("mse")
        <MeanSquaredError name=mean_squared_error>
    """
    return serialization.resolve(identifier, "metrics")


@shortened
def serialize(metric: Any) -> Any:
    """Returns the configuration of a metric, without its state.

    Args:
        metric: a metric, or a function of `y_true` and `y_pred`.

    Returns:
        The input of `deserialize`: a dict in which a function is its name.

    Example:
        >>> serialize(tfkit.metrics.Mean(name="loss"))["config"]["name"]
        'loss'
    """
    return serialization.serialize_keras_object(metric)


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the metric that a configuration describes: the inverse of `serialize`.

    Args:
        config: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A metric in its first state, or a function.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(tfkit.metrics.Mean(name="loss"))).name
        'loss'
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="metrics")
