"""Losses of real-valued predictions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tensorflow as tf

from tfkit import config
from tfkit.losses.tensors import as_tensors_of_same_rank
from tfkit.losses.wrapper import FunctionLoss
from tfkit.symbolic import symbolic_op


@symbolic_op
def mean_squared_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`mean((y_true - y_pred) ** 2)` over the last axis.

    Example:
        >>> mean_squared_error([[0.0, 1.0]], [[0.5, 1.0]]).numpy()
        array([0.125], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    return tf.reduce_mean(tf.math.squared_difference(y_true, y_pred), -1)


@symbolic_op
def mean_absolute_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`mean(abs(y_true - y_pred))` over the last axis."""
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    return tf.reduce_mean(tf.abs(y_true - y_pred), -1)


@symbolic_op
def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`100 * mean(abs((y_true - y_pred) / y_true))` over the last axis, in percent."""
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    scale = tf.maximum(tf.abs(y_true), config.epsilon())
    return 100.0 * tf.reduce_mean(tf.abs((y_true - y_pred) / scale), -1)


@symbolic_op
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`mean((log(y_true + 1) - log(y_pred + 1)) ** 2)` over the last axis; negatives count as 0."""
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    log_true = tf.math.log(tf.maximum(y_true, config.epsilon()) + 1.0)
    log_pred = tf.math.log(tf.maximum(y_pred, config.epsilon()) + 1.0)
    return tf.reduce_mean(tf.math.squared_difference(log_true, log_pred), -1)


@symbolic_op
def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> tf.Tensor:
    """Minus the cosine of the angle between both: -1 for one direction, 1 for opposite ones.

    Args:
        y_true: targets.
        y_pred: predictions.
        axis: the axis of the vectors.
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    epsilon = config.epsilon() ** 2
    unit_true = tf.math.l2_normalize(y_true, axis, epsilon)
    unit_pred = tf.math.l2_normalize(y_pred, axis, epsilon)
    return -tf.reduce_sum(unit_true * unit_pred, axis)


@symbolic_op
def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> tf.Tensor:
    """Squares errors up to `delta`, and goes on straight beyond; the mean over the last axis.

    Args:
        y_true: targets.
        y_pred: predictions.
        delta: error at which the parabola becomes a line.

    Reference:
        Huber, 1964, https://doi.org/10.1214/aoms/1177703732
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    error = y_pred - y_true
    size = tf.abs(error)
    parabola = 0.5 * tf.square(error)
    line = delta * size - 0.5 * delta**2
    return tf.reduce_mean(tf.where(size <= delta, parabola, line), -1)


@symbolic_op
def log_cosh(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`mean(log(cosh(y_pred - y_true)))` over the last axis."""
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    error = y_pred - y_true
    # log(cosh(x)) without the overflow of cosh.
    return tf.reduce_mean(error + tf.math.softplus(-2.0 * error) - math.log(2.0), -1)


class MeanSquaredError(FunctionLoss):
    """`mean((y_true - y_pred) ** 2)`.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(mean_squared_error, reduction=reduction, name=name, dtype=dtype)


class MeanAbsoluteError(FunctionLoss):
    """`mean(abs(y_true - y_pred))`.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(mean_absolute_error, reduction=reduction, name=name, dtype=dtype)


class MeanAbsolutePercentageError(FunctionLoss):
    """`100 * mean(abs((y_true - y_pred) / y_true))`, in percent.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_percentage_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            mean_absolute_percentage_error, reduction=reduction, name=name, dtype=dtype
        )


class MeanSquaredLogarithmicError(FunctionLoss):
    """`mean((log(y_true + 1) - log(y_pred + 1)) ** 2)`.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_logarithmic_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            mean_squared_logarithmic_error, reduction=reduction, name=name, dtype=dtype
        )


class CosineSimilarity(FunctionLoss):
    """Minus the cosine of the angle between targets and predictions.

    Args:
        axis: the axis of the vectors.
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"axis": -1}

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: Any = None,
    ) -> None:
        super().__init__(cosine_similarity, reduction=reduction, name=name, dtype=dtype, axis=axis)


class Huber(FunctionLoss):
    """Squares errors up to `delta`, and goes on straight beyond.

    Args:
        delta: error at which the parabola becomes a line.
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"delta": 1.0}

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber_loss",
        dtype: Any = None,
    ) -> None:
        super().__init__(huber, reduction=reduction, name=name, dtype=dtype, delta=delta)


class LogCosh(FunctionLoss):
    """`mean(log(cosh(y_pred - y_true)))`: about squared for small errors, about absolute for big.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "log_cosh",
        dtype: Any = None,
    ) -> None:
        super().__init__(log_cosh, reduction=reduction, name=name, dtype=dtype)
