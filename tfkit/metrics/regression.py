"""Errors and similarities of numbers, as means over all samples."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorflow as tf

from tfkit import settings
from tfkit.losses import (
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
)
from tfkit.losses.tensors import as_tensors_of_same_rank, squeeze_or_expand_to_same_rank
from tfkit.metrics.reduction import FunctionMetric, Mean


class MeanSquaredError(FunctionMetric):
    """Mean of `(y_true - y_pred)**2`.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.

    Example:
        >>> float(MeanSquaredError()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]))
        0.25
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(mean_squared_error, name, dtype)


class RootMeanSquaredError(Mean):
    """Square root of the mean of `(y_true - y_pred)**2`.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.

    Example:
        >>> float(RootMeanSquaredError()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]))
        0.5
    """

    _direction = "down"

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        """Adds the squared errors of a batch."""
        y_true, y_pred = squeeze_or_expand_to_same_rank(
            tf.cast(y_true, self.dtype), tf.cast(y_pred, self.dtype)
        )
        super().update_state(tf.square(y_pred - y_true), sample_weight=sample_weight)

    def result(self) -> Any:
        """The error so far."""
        return tf.sqrt(super().result())


class MeanAbsoluteError(FunctionMetric):
    """Mean of `|y_true - y_pred|`.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(FunctionMetric):
    """Mean of `100 |y_true - y_pred| / |y_true|`.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(
        self, name: str | None = "mean_absolute_percentage_error", dtype: Any = None
    ) -> None:
        super().__init__(mean_absolute_percentage_error, name, dtype)


class MeanSquaredLogarithmicError(FunctionMetric):
    """Mean of `(log(y_true + 1) - log(y_pred + 1))**2`.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(
        self, name: str | None = "mean_squared_logarithmic_error", dtype: Any = None
    ) -> None:
        super().__init__(mean_squared_logarithmic_error, name, dtype)


class LogCoshError(FunctionMetric):
    """Mean of `log(cosh(y_pred - y_true))`.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(self, name: str | None = "logcosh", dtype: Any = None) -> None:
        super().__init__(log_cosh, name, dtype)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Cosine of the angle between targets and predictions: 1 the same way, -1 the opposite way.

    The loss of the same name has the opposite sign, so that it falls as they come closer.

    Args:
        y_true: vectors.
        y_pred: vectors, of the same shape.
        axis: the axis along which the vectors lie.

    Returns:
        The shape without `axis`.
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    epsilon = settings.epsilon() ** 2
    y_true = tf.math.l2_normalize(y_true, axis=axis, epsilon=epsilon)
    y_pred = tf.math.l2_normalize(y_pred, axis=axis, epsilon=epsilon)
    return tf.reduce_sum(y_true * y_pred, axis=axis)


class CosineSimilarity(FunctionMetric):
    """Mean cosine of the angle between targets and predictions.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        axis: the axis along which the vectors lie.
    """

    _direction = "up"
    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"axis": -1}

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1
    ) -> None:
        super().__init__(cosine_similarity, name, dtype, axis=axis)
