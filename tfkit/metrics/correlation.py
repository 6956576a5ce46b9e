"""Correlation of targets and predictions along an axis, as means over the other axes."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import settings
from tfkit.losses.tensors import as_tensors_of_same_rank
from tfkit.metrics.reduction import FunctionMetric


def pearson_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Pearson's correlation coefficient, from -1 to 1.

    Args:
        y_true: targets.
        y_pred: predictions, of the same shape.
        axis: the axis along which they are correlated.

    Returns:
        The shape without `axis`.

    Reference:
        Pearson (1895), Notes on regression and inheritance in the case of two parents.
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    return tf.reduce_mean(_standardize(y_true, axis) * _standardize(y_pred, axis), axis=axis)


def _standardize(x: Any, axis: int) -> Any:
    centered = x - tf.reduce_mean(x, axis=axis, keepdims=True)
    return centered / tf.math.reduce_std(centered, axis=axis, keepdims=True)


def concordance_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Lin's concordance correlation coefficient, from -1 to 1: agreement with `y_true = y_pred`.

    Args:
        y_true: targets.
        y_pred: predictions, of the same shape.
        axis: the axis along which they are compared.

    Returns:
        The shape without `axis`.

    Reference:
        Lin (1989), A concordance correlation coefficient to evaluate reproducibility.
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    mean_true = tf.reduce_mean(y_true, axis=axis, keepdims=True)
    mean_pred = tf.reduce_mean(y_pred, axis=axis, keepdims=True)
    # Around the mean of the predictions twice: the sum is the covariance all the same.
    covariance = (y_true - mean_pred) * (y_pred - mean_pred)
    spread = (
        tf.math.reduce_variance(y_true, axis=axis, keepdims=True)
        + tf.math.reduce_variance(y_pred, axis=axis, keepdims=True)
        + tf.square(mean_true - mean_pred)
    )
    return tf.reduce_mean(2 * covariance / (spread + settings.epsilon()), axis=axis)


class PearsonCorrelation(FunctionMetric):
    """Mean of Pearson's correlation coefficient.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        axis: the axis along which targets and predictions are correlated.
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "pearson_correlation", dtype: Any = None, axis: int = -1
    ) -> None:
        super().__init__(pearson_correlation, name, dtype, axis=axis)


class ConcordanceCorrelation(FunctionMetric):
    """Mean of Lin's concordance correlation coefficient.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        axis: the axis along which targets and predictions are compared.
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "concordance_correlation", dtype: Any = None, axis: int = -1
    ) -> None:
        super().__init__(concordance_correlation, name, dtype, axis=axis)
