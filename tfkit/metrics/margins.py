"""Hinge losses as metrics: how far predictions stand on the wrong side of a margin."""

from __future__ import annotations

from typing import Any

from tfkit.losses import categorical_hinge, hinge, squared_hinge
from tfkit.metrics.reduction import FunctionMetric


class Hinge(FunctionMetric):
    """Mean of `max(1 - y_true * y_pred, 0)`, for targets of -1 and 1 (0 and 1 are converted).

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(self, name: str | None = "hinge", dtype: Any = None) -> None:
        super().__init__(hinge, name, dtype)


class SquaredHinge(FunctionMetric):
    """Mean of `max(1 - y_true * y_pred, 0)**2`, for targets of -1 and 1 (0 and 1 are converted).

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(self, name: str | None = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(squared_hinge, name, dtype)


class CategoricalHinge(FunctionMetric):
    """Mean of `max(1 + best wrong score - right score, 0)`, for one-hot targets.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(self, name: str | None = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(categorical_hinge, name, dtype)
