"""Finds metrics by name or configuration, and for the entries of `compile(metrics=...)`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import to_snake_case
from tfkit.src.base.registry import serialization
from tfkit.src.metrics.accuracy import (
    BinaryAccuracy,
    CategoricalAccuracy,
    SparseCategoricalAccuracy,
)
from tfkit.src.metrics.base import Metric
from tfkit.src.metrics.reduction import MeanMetricWrapper


def is_binary_or_sparse_categorical(y_true: Any, y_pred: Any) -> tuple[bool, bool]:
    """Returns whether the shapes mean a binary classification, and whether targets are indices.

    Args:
        y_true: targets, or their shape.
        y_pred: predictions, or their shape.
    """
    true_shape, pred_shape = _shape(y_true), _shape(y_pred)
    true_size = true_shape[-1] if true_shape else None
    pred_size = pred_shape[-1] if pred_shape else None
    is_sparse = len(true_shape) < len(pred_shape) or (true_size == 1 and pred_size != 1)
    return pred_size == 1, is_sparse


def metric_for(identifier: Any, y_true: Any, y_pred: Any, name: str | None = None) -> Metric:
    """Returns the metric that `compile(metrics=[identifier])` means for data of these shapes.

    Args:
        identifier: a metric, a class, a function `(y_true, y_pred)`, a configuration or a name;
            `"accuracy"` and `"acc"` mean the accuracy that fits the shapes.
        y_true: targets, or their shape.
        y_pred: predictions, or their shape.
        name: label in logs; `None` for the name of the metric or function, or `identifier` itself.

    Raises:
        ValueError: for `None` and for an unknown name.
    """
    if identifier is None:
        raise ValueError("Expected a metric. Received: None")
    if isinstance(identifier, str) and identifier.lower() in ("accuracy", "acc"):
        is_binary, is_sparse = is_binary_or_sparse_categorical(y_true, y_pred)
        if is_binary:
            found: Any = BinaryAccuracy()
        else:
            found = SparseCategoricalAccuracy() if is_sparse else CategoricalAccuracy()
    else:
        found = serialization.resolve(identifier, "metrics")
    name = name or (identifier if isinstance(identifier, str) else _name_of(found))
    if not isinstance(found, Metric):
        return MeanMetricWrapper(found, name=name)
    found.name = name
    return found


def _shape(value: Any) -> tuple[int | None, ...]:
    return tuple(tf.TensorShape(getattr(value, "shape", value)))


def _name_of(metric: Any) -> str:
    if hasattr(metric, "name"):
        return metric.name
    return to_snake_case(getattr(metric, "__name__", type(metric).__name__))


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
