"""Metrics that maximize one rate of a classifier, given a lower bound for a second rate."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.metrics import confusion
from tfkit.src.metrics.base import Metric

_RATES = {
    "sensitivity": ("true_positives", "false_negatives"),
    "recall": ("true_positives", "false_negatives"),
    "specificity": ("true_negatives", "false_positives"),
    "precision": ("true_positives", "false_positives"),
}


class _OperatingPoint(Metric):
    """The largest `_maximized` over all thresholds at which `_constrained` is at least a level."""

    _direction = "up"
    _maximized: str
    _constrained: str

    _tfkit_sums = True

    def __init__(
        self,
        level: float,
        num_thresholds: int,
        class_id: int | None,
        name: str | None,
        dtype: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if not 0 <= level <= 1:
            raise ValueError(
                f"`{self._constrained}` must be in the range [0, 1]. Received: {level!r}"
            )
        setattr(self, self._constrained, level)
        self.num_thresholds = num_thresholds
        self.class_id = class_id
        self.thresholds = confusion.even_thresholds(num_thresholds).tolist()
        confusion.add_counts(self, (num_thresholds,))

    @property
    def value(self) -> float:
        """The required level; also available as an attribute named after its rate, such as `specificity`."""
        return getattr(self, self._constrained)

    @shortened
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the decisions of a batch at each threshold."""
        counts = confusion.confusion_counts(
            y_true, y_pred, self.thresholds, sample_weight, class_id=self.class_id
        )
        for name in confusion.ConfusionCounts._fields:
            getattr(self, name).assign_add(getattr(counts, name))

    def result(self) -> Any:
        """Returns the best value so far; 0 if no threshold reaches the level."""
        kept = self._rate(self._constrained) >= self.value  # (thresholds,)
        return tf.reduce_max(tf.where(kept, self._rate(self._maximized), 0.0))

    def _rate(self, name: str) -> Any:
        right, wrong = (getattr(self, count) for count in _RATES[name])
        return tf.math.divide_no_nan(right, right + wrong)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        names = ("num_thresholds", self._constrained, "class_id")
        return {**attributes(self, *names), **super().get_config()}


class SensitivityAtSpecificity(_OperatingPoint):
    """The best sensitivity, `TP / (TP + FN)`, of all thresholds with at least a given specificity.

    Specificity is `TN / (TN + FP)`. The result is 0 if no threshold reaches the level.

    Args:
        specificity: the level that a threshold must reach, from 0 to 1.
        num_thresholds: number of thresholds from 0 to 1 that are tried, at equal distances.
            Default: `200`.
        class_id: index of the only class, on the last axis, that counts; `None` for all.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if the level is not between 0 and 1, or if there is not at least one threshold.

    Example:
        >>> metric = SensitivityAtSpecificity(0.5)
        >>> float(metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]))
        0.5
    """

    _maximized, _constrained = "sensitivity", "specificity"

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(specificity, num_thresholds, class_id, name, dtype)


class SpecificityAtSensitivity(_OperatingPoint):
    """The best specificity, `TN / (TN + FP)`, of all thresholds with at least a given sensitivity.

    Sensitivity is `TP / (TP + FN)`. The result is 0 if no threshold reaches the level.

    Args:
        sensitivity: the level that a threshold must reach, from 0 to 1.
        num_thresholds: number of thresholds from 0 to 1 that are tried, at equal distances.
            Default: `200`.
        class_id: index of the only class, on the last axis, that counts; `None` for all.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if the level is not between 0 and 1, or if there is not at least one threshold.

    Example:
        >>> metric = SpecificityAtSensitivity(0.5)
        >>> round(float(metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8])), 3)
        0.667
    """

    _maximized, _constrained = "specificity", "sensitivity"

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)


class PrecisionAtRecall(_OperatingPoint):
    """The best precision, `TP / (TP + FP)`, of all thresholds with at least a given recall.

    Recall is `TP / (TP + FN)`. The result is 0 if no threshold reaches the level.

    Args:
        recall: the level that a threshold must reach, from 0 to 1.
        num_thresholds: number of thresholds from 0 to 1 that are tried, at equal distances.
            Default: `200`.
        class_id: index of the only class, on the last axis, that counts; `None` for all.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if the level is not between 0 and 1, or if there is not at least one threshold.

    Example:
        >>> metric = PrecisionAtRecall(0.5)
        >>> float(metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]))
        0.5
    """

    _maximized, _constrained = "precision", "recall"

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(recall, num_thresholds, class_id, name, dtype)


class RecallAtPrecision(_OperatingPoint):
    """The best recall, `TP / (TP + FN)`, of all thresholds with at least a given precision.

    Precision is `TP / (TP + FP)`. The result is 0 if no threshold reaches the level.

    Args:
        precision: the level that a threshold must reach, from 0 to 1.
        num_thresholds: number of thresholds from 0 to 1 that are tried, at equal distances.
            Default: `200`.
        class_id: index of the only class, on the last axis, that counts; `None` for all.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if the level is not between 0 and 1, or if there is not at least one threshold.

    Example:
        >>> metric = RecallAtPrecision(0.8)
        >>> float(metric([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]))
        0.5
    """

    _maximized, _constrained = "recall", "precision"

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(precision, num_thresholds, class_id, name, dtype)
