"""Losses of real-valued predictions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.registry.constructors import Axes
from tfkit.src.losses.tensors import as_tensors_of_same_rank
from tfkit.src.losses.wrapper import FunctionLoss, PlainLoss
from tfkit.src.ops.promotion import to_float32
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def mean_squared_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the mean squared error: `mean((y_true - y_pred) ** 2)` over the last axis.

    Args:
        y_true: targets, `(..., d)`.
        y_pred: predictions, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Raises:
        ValueError: if the shapes of targets and predictions do not fit together.

    Example:
        >>> mean_squared_error([[0.0, 1.0]], [[0.5, 1.0]]).numpy()
        array([0.125], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    return tf.reduce_mean(tf.math.squared_difference(y_true, y_pred), -1)


@symbolic_op
def mean_absolute_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the mean absolute error: `mean(abs(y_true - y_pred))` over the last axis.

    Args:
        y_true: targets, `(..., d)`.
        y_pred: predictions, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Raises:
        ValueError: if the shapes of targets and predictions do not fit together.

    Example:
        >>> mean_absolute_error([[0.0, 1.0]], [[0.5, 1.0]]).numpy()
        array([0.25], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    return tf.reduce_mean(tf.abs(y_true - y_pred), -1)


@symbolic_op
def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the mean absolute error in percent: `100 * mean(abs((y_true - y_pred) / y_true))`.

    The mean is taken over the last axis. Targets nearer to 0 than `tfkit.config.epsilon()` are divided
    by this instead.

    Args:
        y_true: targets, `(..., d)`.
        y_pred: predictions, `(..., d)`.

    Returns:
        Losses of shape `(...)`, in percent.

    Raises:
        ValueError: if the shapes of targets and predictions do not fit together.

    Example:
        >>> mean_absolute_percentage_error([[2.0, 4.0]], [[3.0, 4.0]]).numpy()
        array([25.], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    # A target of 0 would make the percentage infinite.
    scale = tf.maximum(tf.abs(y_true), settings.epsilon())
    return 100.0 * tf.reduce_mean(tf.abs((y_true - y_pred) / scale), -1)


@symbolic_op
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the mean squared error of logarithms: `mean((log(y_true + 1) - log(y_pred + 1)) ** 2)`.

    The mean is taken over the last axis. Negative numbers count as 0 (`tfkit.config.epsilon()`).

    Args:
        y_true: targets, `(..., d)`.
        y_pred: predictions, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Raises:
        ValueError: if the shapes of targets and predictions do not fit together.

    Example:
        >>> mean_squared_logarithmic_error([[0.0, 1.0]], [[1.0, 1.0]]).numpy().round(4)
        array([0.2402], dtype=float32)
    """
    # Logarithms of 16 bits have errors in the first digits.
    y_true, y_pred = map(to_float32, as_tensors_of_same_rank(y_true, y_pred))
    log_true = tf.math.log(tf.maximum(y_true, settings.epsilon()) + 1.0)
    log_pred = tf.math.log(tf.maximum(y_pred, settings.epsilon()) + 1.0)
    return tf.reduce_mean(tf.math.squared_difference(log_true, log_pred), -1)


@symbolic_op
def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> tf.Tensor:
    """Returns minus the cosine of the angle between targets and predictions.

    It is -1 for equal directions, 0 for orthogonal and 1 for opposite ones.

    Args:
        y_true: targets, `(..., d)`.
        y_pred: predictions, `(..., d)`.
        axis: integer, the axis of the vectors. Default: `-1`.

    Returns:
        Losses, of the shape without `axis`.

    Raises:
        ValueError: if the shapes of targets and predictions do not fit together.

    Example:
        >>> cosine_similarity([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, -3.0]]).numpy()
        array([-1.,  1.], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    # `l2_normalize` compares the squared norm with its epsilon.
    epsilon = settings.epsilon() ** 2
    # In float16 the epsilon is 0, and the square of 256 infinite.
    unit_true = tf.math.l2_normalize(to_float32(y_true), axis, epsilon)
    unit_pred = tf.math.l2_normalize(to_float32(y_pred), axis, epsilon)
    return tf.cast(-tf.reduce_sum(unit_true * unit_pred, axis), y_pred.dtype)


@symbolic_op
def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> tf.Tensor:
    """Returns the Huber loss: squared errors up to `delta`, straight lines beyond.

    With `e = y_pred - y_true` it is the mean over the last axis of `e**2 / 2` where
    `abs(e) <= delta`, and of `delta * abs(e) - delta**2 / 2` elsewhere.

    Args:
        y_true: targets, `(..., d)`.
        y_pred: predictions, `(..., d)`.
        delta: error at which the parabola becomes a line, in units of the targets. Default: `1.0`.

    Returns:
        Losses of shape `(...)`.

    Raises:
        ValueError: if the shapes of targets and predictions do not fit together.

    Reference:
        Huber, "Robust estimation of a location parameter", 1964.

    Example:
        >>> huber([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
        array([1.5], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    error = y_pred - y_true
    size = tf.abs(error)
    # At `delta` both have the same value and the same slope.
    parabola = 0.5 * tf.square(error)
    line = delta * size - 0.5 * delta**2
    return tf.reduce_mean(tf.where(size <= delta, parabola, line), -1)


@symbolic_op
def log_cosh(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the mean of `log(cosh(y_pred - y_true))` over the last axis.

    Args:
        y_true: targets, `(..., d)`.
        y_pred: predictions, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Raises:
        ValueError: if the shapes of targets and predictions do not fit together.

    Example:
        >>> log_cosh([[0.0, 0.0]], [[0.0, 1.0]]).numpy().round(4)
        array([0.2169], dtype=float32)
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    error = y_pred - y_true
    # log(cosh(x)) without the overflow of cosh.
    return tf.reduce_mean(error + tf.math.softplus(-2.0 * error) - math.log(2.0), -1)


class MeanSquaredError(PlainLoss, function=mean_squared_error):
    """The mean squared error: `mean((y_true - y_pred) ** 2)` over the last axis.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"mean_squared_error"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> loss = MeanSquaredError()
        >>> float(loss([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 0.0]]))
        0.5
        >>> float(loss([[0.0], [0.0]], [[1.0], [2.0]], sample_weight=[1.0, 0.0]))
        0.5
    """


class MeanAbsoluteError(PlainLoss, function=mean_absolute_error):
    """The mean absolute error: `mean(abs(y_true - y_pred))` over the last axis.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"mean_absolute_error"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> float(MeanAbsoluteError()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 0.0]]))
        1.0
    """


class MeanAbsolutePercentageError(PlainLoss, function=mean_absolute_percentage_error):
    """The mean absolute error in percent: `100 * mean(abs((y_true - y_pred) / y_true))`.

    The mean is taken over the last axis. Targets nearer to 0 than `tfkit.config.epsilon()` are divided
    by this instead.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"mean_absolute_percentage_error"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> float(MeanAbsolutePercentageError()([[2.0, 4.0]], [[3.0, 4.0]]))
        25.0
    """


class MeanSquaredLogarithmicError(PlainLoss, function=mean_squared_logarithmic_error):
    """The mean squared error of logarithms: `mean((log(y_true + 1) - log(y_pred + 1)) ** 2)`.

    The mean is taken over the last axis. Negative numbers count as 0 (`tfkit.config.epsilon()`).

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"mean_squared_logarithmic_error"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> y_true, y_pred = [[0.0, 1.0]], [[1.0, 1.0]]
        >>> round(float(MeanSquaredLogarithmicError()(y_true, y_pred)), 4)
        0.2402
    """


class CosineSimilarity(FunctionLoss):
    """Minus the cosine of the angle between targets and predictions.

    It computes `-sum(l2_normalize(y_true) * l2_normalize(y_pred))`: -1 for equal directions, 0 for
    orthogonal and 1 for opposite ones. Vectors of zeros give 0.

    Args:
        axis: integer, the axis of the vectors. Default: `-1`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"cosine_similarity"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> float(CosineSimilarity()([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [3.0, 0.0]]))
        -0.5
    """

    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"axis": -1}

    def __init__(
        self,
        axis: Axes = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: Any = None,
    ) -> None:
        super().__init__(cosine_similarity, reduction=reduction, name=name, dtype=dtype, axis=axis)


class Huber(FunctionLoss):
    """The Huber loss: squared errors up to `delta`, straight lines beyond.

    With `e = y_pred - y_true` it computes the mean over the last axis of `e**2 / 2` where
    `abs(e) <= delta`, and of `delta * abs(e) - delta**2 / 2` elsewhere.

    Args:
        delta: error at which the parabola becomes a line, in units of the targets. Default: `1.0`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"huber_loss"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Huber, "Robust estimation of a location parameter", 1964.

    Example:
        >>> float(Huber()([[0.0, 0.0]], [[1.0, 3.0]]))
        1.5
    """

    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"delta": 1.0}

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber_loss",
        dtype: Any = None,
    ) -> None:
        if not delta > 0:
            raise ValueError(f"`delta` of Huber must be above 0. Received: delta={delta!r}")
        super().__init__(huber, reduction=reduction, name=name, dtype=dtype, delta=delta)


class LogCosh(PlainLoss, function=log_cosh):
    """The mean of `log(cosh(y_pred - y_true))` over the last axis.

    It is about `e**2 / 2` for small errors `e` and about `abs(e) - log(2)` for large ones.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"log_cosh"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> round(float(LogCosh()([[0.0, 0.0]], [[0.0, 1.0]])), 4)
        0.2169
    """
