"""Errors and similarities of numbers, as means over all samples."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import Axes
from tfkit.src.losses import regression
from tfkit.src.losses.tensors import as_tensors_of_same_rank, squeeze_or_expand_to_same_rank
from tfkit.src.metrics.reduction import FunctionMetric, Mean, PlainMetric, entry_weights
from tfkit.src.symbolic.masking import get_mask


class MeanSquaredError(PlainMetric, function=regression.mean_squared_error):
    """The mean of squared errors, `(y_true - y_pred) ** 2`, over all samples and entries.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"mean_squared_error"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = MeanSquaredError()
        >>> metric.update_state([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]])
        >>> float(metric.result())
        0.25
    """


class RootMeanSquaredError(Mean):
    """The square root of the mean of `(y_true - y_pred) ** 2` over all samples and entries.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"root_mean_squared_error"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(RootMeanSquaredError()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]))
        0.5
    """

    _direction = "down"

    _tfkit_sums = True

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    @shortened
    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        """Adds the squared errors of a batch."""
        mask = get_mask(y_pred)
        y_true, y_pred = squeeze_or_expand_to_same_rank(
            tf.cast(y_true, self.dtype), tf.cast(y_pred, self.dtype)
        )
        squares = tf.square(y_pred - y_true)
        weights = entry_weights(sample_weight, mask, squares, self.dtype)
        super().update_state(squares, sample_weight=weights)

    def result(self) -> Any:
        """Returns the error so far."""
        return tf.sqrt(super().result())


class MeanAbsoluteError(PlainMetric, function=regression.mean_absolute_error):
    """The mean of absolute errors, `abs(y_true - y_pred)`, over all samples and entries.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"mean_absolute_error"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(MeanAbsoluteError()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 0.0]]))
        1.0
    """


class MeanAbsolutePercentageError(PlainMetric, function=regression.mean_absolute_percentage_error):
    """The mean of absolute errors in percent: `100 * abs(y_true - y_pred) / abs(y_true)`.

    Targets nearer to 0 than `tfkit.config.epsilon()` are divided by this instead.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"mean_absolute_percentage_error"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(MeanAbsolutePercentageError()([[2.0, 4.0]], [[3.0, 4.0]]))
        25.0
    """


class MeanSquaredLogarithmicError(PlainMetric, function=regression.mean_squared_logarithmic_error):
    """The mean of `(log(y_true + 1) - log(y_pred + 1)) ** 2`. Negative numbers count as 0.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"mean_squared_logarithmic_error"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = MeanSquaredLogarithmicError()
        >>> round(float(metric([[0.0, 1.0]], [[1.0, 1.0]])), 4)
        0.2402
    """


class LogCoshError(FunctionMetric):
    """The mean of `log(cosh(y_pred - y_true))` over all samples and entries.

    It is about `e**2 / 2` for small errors `e` and about `abs(e) - log(2)` for large ones.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"logcosh"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> round(float(LogCoshError()([[0.0, 0.0]], [[0.0, 1.0]])), 4)
        0.2169
    """

    def __init__(self, name: str | None = "logcosh", dtype: Any = None) -> None:
        super().__init__(regression.log_cosh, name, dtype)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Returns the cosine of the angle between targets and predictions: 1 for equal, -1 for opposite ones.

    The loss of the same name has the opposite sign, so that it decreases with similarity.

    Args:
        y_true: vectors.
        y_pred: vectors, of the same shape.
        axis: the axis of the vectors.

    Returns:
        The shape without `axis`.
    """
    y_true, y_pred = as_tensors_of_same_rank(y_true, y_pred)
    # `l2_normalize` compares the squared norm with its epsilon.
    epsilon = settings.epsilon() ** 2
    y_true = tf.math.l2_normalize(y_true, axis=axis, epsilon=epsilon)
    y_pred = tf.math.l2_normalize(y_pred, axis=axis, epsilon=epsilon)
    return tf.reduce_sum(y_true * y_pred, axis=axis)


class CosineSimilarity(FunctionMetric):
    """The mean cosine of the angle between targets and predictions.

    It is 1 for equal directions, 0 for orthogonal and -1 for opposite ones. The loss of the same
    name has the opposite sign.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"cosine_similarity"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        axis: integer, the axis of the vectors. Default: `-1`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(CosineSimilarity()([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [3.0, 0.0]]))
        0.5
    """

    _direction = "up"
    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"axis": -1}

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: Any = None, axis: Axes = -1
    ) -> None:
        super().__init__(cosine_similarity, name, dtype, axis=axis)
