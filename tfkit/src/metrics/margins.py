"""Hinge losses as metrics: the distance of predictions on the wrong side of a margin."""

from __future__ import annotations

from tfkit.src.losses.hinge import categorical_hinge, hinge, squared_hinge
from tfkit.src.metrics.reduction import PlainMetric


class Hinge(PlainMetric, function=hinge):
    """The mean of `max(1 - y_true * y_pred, 0)`, for labels -1 and 1, or 0 and 1.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"hinge"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: labels -1 and 1, or 0 and 1, `(batch, ..., d)`.
        y_pred: scores, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(Hinge()([[1.0, -1.0]], [[0.5, 0.5]]))
        1.0
    """


class SquaredHinge(PlainMetric, function=squared_hinge):
    """The mean of `max(1 - y_true * y_pred, 0) ** 2`, for labels -1 and 1, or 0 and 1.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"squared_hinge"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: labels -1 and 1, or 0 and 1, `(batch, ..., d)`.
        y_pred: scores, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(SquaredHinge()([[1.0, -1.0]], [[0.5, 0.5]]))
        1.25
    """


class CategoricalHinge(PlainMetric, function=categorical_hinge):
    """The mean of `max(1 + best wrong score - right score, 0)`, for one-hot labels.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"categorical_hinge"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: one-hot targets, `(batch, ..., classes)`.
        y_pred: scores, `(batch, ..., classes)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(CategoricalHinge()([[0.0, 1.0, 0.0]], [[0.5, 1.0, 0.25]]))
        0.5
    """
