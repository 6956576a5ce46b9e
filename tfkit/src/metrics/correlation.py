"""Correlation of targets and predictions along an axis, as means over the other axes."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.registry.constructors import Axes
from tfkit.src.losses.tensors import as_tensors_of_same_rank
from tfkit.src.metrics.reduction import FunctionMetric


def pearson_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Returns Pearson's correlation coefficient, from -1 to 1.

    Args:
        y_true: targets.
        y_pred: predictions, of the same shape.
        axis: integer, the axis along which they are correlated. Default: `-1`.

    Returns:
        Coefficients, of the shape without `axis`.

    Reference:
        Pearson, "Notes on regression and inheritance in the case of two parents", 1895.

    Example:
        >>> pearson_correlation([[0.0, 1.0, 2.0]], [[7.0, 5.0, 3.0]]).numpy().round(3)
        array([-1.], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    # The mean product of standardized values is the covariance, divided by both deviations.
    return tf.reduce_mean(_standardize(y_true, axis) * _standardize(y_pred, axis), axis=axis)


def _standardize(x: Any, axis: int) -> Any:
    centered = x - tf.reduce_mean(x, axis=axis, keepdims=True)
    return centered / tf.math.reduce_std(centered, axis=axis, keepdims=True)


def concordance_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Returns Lin's concordance correlation coefficient, from -1 to 1.

    It is 1 where predictions equal targets, and lower where they are merely correlated.

    Args:
        y_true: targets.
        y_pred: predictions, of the same shape.
        axis: integer, the axis along which they are compared. Default: `-1`.

    Returns:
        Coefficients, of the shape without `axis`.

    Reference:
        Lin, "A concordance correlation coefficient to evaluate reproducibility", 1989.

    Example:
        >>> concordance_correlation([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0]]).numpy().round(3)
        array([1.], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    mean_true = tf.reduce_mean(y_true, axis=axis, keepdims=True)
    mean_pred = tf.reduce_mean(y_pred, axis=axis, keepdims=True)
    # Around the mean of the predictions in both factors: the sum still is the covariance.
    covariance = (y_true - mean_pred) * (y_pred - mean_pred)
    # Lin (1989). It is 0 where both are constant and equal, hence the epsilon.
    spread = (
        tf.math.reduce_variance(y_true, axis=axis, keepdims=True)
        + tf.math.reduce_variance(y_pred, axis=axis, keepdims=True)
        + tf.square(mean_true - mean_pred)
    )
    return tf.reduce_mean(2 * covariance / (spread + settings.epsilon()), axis=axis)


class PearsonCorrelation(FunctionMetric):
    """The mean of Pearson's correlation coefficient, from -1 to 1, over all samples.

    It is the covariance of targets and predictions along an axis, divided by their standard
    deviations.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"pearson_correlation"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        axis: integer, the axis along which targets and predictions are correlated. Default: `-1`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Reference:
        Pearson, "Notes on regression and inheritance in the case of two parents", 1895.

    Example:
        >>> round(float(PearsonCorrelation()([[0.0, 1.0, 2.0]], [[3.0, 5.0, 7.0]])), 3)
        1.0
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "pearson_correlation", dtype: Any = None, axis: Axes = -1
    ) -> None:
        super().__init__(pearson_correlation, name, dtype, axis=axis)


class ConcordanceCorrelation(FunctionMetric):
    """The mean of Lin's concordance correlation coefficient, from -1 to 1, over all samples.

    It is 1 where predictions equal targets, and lower where they are merely correlated:
    `2 * covariance / (variance_true + variance_pred + (mean_true - mean_pred)**2)`.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"concordance_correlation"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        axis: integer, the axis along which targets and predictions are compared. Default: `-1`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Reference:
        Lin, "A concordance correlation coefficient to evaluate reproducibility", 1989.

    Example:
        >>> round(float(ConcordanceCorrelation()([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0]])), 3)
        1.0
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "concordance_correlation", dtype: Any = None, axis: Axes = -1
    ) -> None:
        super().__init__(concordance_correlation, name, dtype, axis=axis)
