"""Area under the ROC, precision-recall or precision-recall-gain curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.metrics.base import Metric, undone_on_error
from tfkit.src.metrics.confusion import (
    ConfusionCounts,
    add_counts,
    checked_thresholds,
    confusion_counts,
    even_thresholds,
)
from tfkit.src.symbolic.masking import get_mask, set_mask

_CURVES = ("ROC", "PR", "PRGAIN")
_SUMMATION_METHODS = ("interpolation", "majoring", "minoring")


class AUC(Metric):
    """The area under the ROC or the precision-recall curve, from counts at several thresholds.

    The ROC curve shows the true positive rate over the false positive rate, the PR curve precision
    over recall. More thresholds give a finer curve.

    Args:
        num_thresholds: number of thresholds from 0 to 1, at equal distances, at least 2. Default:
            `200`.
        curve: `"ROC"`, `"PR"`, or `"PRGAIN"` for gains of precision and recall. Default: `"ROC"`.
        summation_method: height of a piece of the curve: `"interpolation"` (the mean of both ends
            for ROC, Davis and Goadrich's integral for PR), `"majoring"` (the higher end) or
            `"minoring"` (the lower end). Default: `"interpolation"`.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        thresholds: list of the thresholds, without 0 and 1, which are added; `None` for
            `num_thresholds` at equal distances.
        multi_label: whether an area is computed for each label, whose mean is the result. Default:
            `False`.
        num_labels: number of labels with `multi_label`; `None` to use the first batch's.
        label_weights: list of a weight for each label: in the mean of areas with `multi_label`, in
            the counts otherwise. `None` for 1.
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.

    Call arguments:
        y_true: targets 0 and 1, `(batch, ...)`; with `multi_label`, `(batch, labels)`.
        y_pred: predictions from 0 to 1, or logits, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if `curve` or `summation_method` is unknown, if there are fewer than two
            thresholds, or if `num_labels` is given without `multi_label`.

    Reference:
        Davis & Goadrich, "The relationship between precision-recall and ROC curves", 2006; Flach &
            Kull, "Precision-recall-gain curves: PR analysis done right", 2015.

    Example:
        >>> float(AUC(num_thresholds=3)([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]))
        0.75
    """

    _direction = "up"

    _tfkit_sums = True

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.curve = _choice("curve", str(curve).upper(), _CURVES)
        self.summation_method = _choice(
            "summation_method", str(summation_method).lower(), _SUMMATION_METHODS
        )
        self._given_thresholds = None
        if thresholds is not None:
            self._given_thresholds = sorted(checked_thresholds(thresholds))
            self._thresholds = np.array([0.0, *self._given_thresholds, 1.0])
        elif num_thresholds > 1:
            self._thresholds = even_thresholds(num_thresholds)
        else:
            raise ValueError(
                f"`num_thresholds` must be an integer above 1. Received: {num_thresholds!r}"
            )
        # Just outside of 0 and 1, so that predictions of 0 and 1 are between them.
        self._thresholds[0], self._thresholds[-1] = -settings.epsilon(), 1 + settings.epsilon()
        self.num_thresholds = len(self._thresholds)
        if num_labels and not multi_label:
            raise ValueError(
                "`num_labels` requires `multi_label=True`. "
                f"Received: num_labels={num_labels}, multi_label={multi_label}"
            )
        self.multi_label = multi_label
        self.num_labels = num_labels
        self.label_weights = label_weights
        if label_weights is not None:
            self.label_weights = np.asarray(label_weights, self.dtype)
        self._from_logits = from_logits
        self._built = False
        if num_labels or not multi_label:
            self._build((None, num_labels))

    def _build(self, shape: Any) -> None:
        if len(shape) != 2:
            raise ValueError(
                "With `multi_label=True` predictions must have shape (samples, labels). "
                f"Received: y_pred.shape={shape}"
            )
        labels = [shape[1]] if self.multi_label else []
        # Shape (thresholds,) or (thresholds, labels).
        add_counts(self, [self.num_thresholds, *labels])
        self._built = True

    @property
    def thresholds(self) -> list[float]:
        """The values that predictions are compared with, in ascending order."""
        return self._thresholds.tolist()

    @shortened
    @undone_on_error
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the decisions of a batch at each threshold."""
        y_pred = tf.convert_to_tensor(y_pred)
        if not self._built:
            self._build(y_pred.shape)
        if self._from_logits:
            # The mask belongs to the logits, and is passed on.
            mask = get_mask(y_pred)
            y_pred = tf.sigmoid(y_pred)
            set_mask(y_pred, mask)
        counts = confusion_counts(
            y_true,
            y_pred,
            self._thresholds,
            sample_weight,
            multi_label=self.multi_label,
            label_weights=None if self.multi_label else self.label_weights,
        )
        for name, count in counts._asdict().items():
            getattr(self, name).assign_add(count)

    def result(self) -> Any:
        """Returns the area so far."""
        counts = ConfusionCounts(*(tf.identity(getattr(self, k)) for k in ConfusionCounts._fields))
        if self.curve == "PR" and self.summation_method == "interpolation":
            pieces = _interpolated_pr_pieces(counts)
        else:
            x, y = _CURVE_POINTS[self.curve](counts)
            # Thresholds rise, and so x falls.
            pieces = (x[:-1] - x[1:]) * self._heights(y[:-1], y[1:])
        areas = tf.reduce_sum(pieces, axis=0)
        if not self.multi_label:
            return areas
        if self.label_weights is None:
            return tf.reduce_mean(areas)
        return tf.math.divide_no_nan(
            tf.reduce_sum(areas * self.label_weights), tf.reduce_sum(self.label_weights)
        )

    def _heights(self, left: Any, right: Any) -> Any:
        if self.summation_method == "interpolation":
            return (left + right) / 2
        return (tf.minimum if self.summation_method == "minoring" else tf.maximum)(left, right)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        weights = self.label_weights
        arguments = {
            **attributes(self, "num_thresholds", "curve", "summation_method"),
            **attributes(self, "multi_label", "num_labels"),
            "label_weights": None if weights is None else weights.tolist(),
            "from_logits": self._from_logits,
        }
        if self._given_thresholds is not None:
            arguments["thresholds"] = list(self._given_thresholds)
        return {**super().get_config(), **arguments}


def _choice(argument: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"Invalid `{argument}`. Expected one of {choices}. Received: {value!r}")
    return value


def _roc_curve(counts: ConfusionCounts) -> tuple[Any, Any]:
    tp, fp, tn, fn = counts
    return tf.math.divide_no_nan(fp, fp + tn), tf.math.divide_no_nan(tp, tp + fn)


def _pr_curve(counts: ConfusionCounts) -> tuple[Any, Any]:
    tp, fp, _, fn = counts
    return tf.math.divide_no_nan(tp, tp + fn), tf.math.divide_no_nan(tp, tp + fp)


def _pr_gain_curve(counts: ConfusionCounts) -> tuple[Any, Any]:
    """Returns recall gain and precision gain of Flach and Kull, with recall gain cut off below 0."""
    tp, fp, tn, fn = counts
    odds = tf.math.divide_no_nan(tp + fn, tn + fp)
    # Flach and Kull (2015), "Precision-Recall-Gain Curves".
    # recG = (rec - pi) / ((1 - pi) rec) = 1 - odds FN / TP, with the odds pi / (1 - pi).
    recall_gain = 1 - odds * tf.math.divide_no_nan(fn, tp)
    precision_gain = 1 - odds * tf.math.divide_no_nan(fp, tp)
    found = tp > 0
    return tf.where(found, tf.maximum(recall_gain, 0.0), 0.0), tf.where(found, precision_gain, 1.0)


def _interpolated_pr_pieces(counts: ConfusionCounts) -> Any:
    """Returns areas below the PR curve between neighbouring thresholds A and B.

    Between them, true positives are assumed to grow in proportion to positives P = TP + FP:
    TP = TP_B + slope * (P - P_B), which makes precision TP / P a curve with a closed integral
    (Davis and Goadrich), slope * (dTP + intercept * log(P_A / P_B)) / (all positive targets).
    """
    tp, fp, _, fn = counts
    positives = tp + fp
    tp_difference = tp[:-1] - tp[1:]
    difference = tf.maximum(positives[:-1] - positives[1:], 0.0)
    slope = tf.math.divide_no_nan(tp_difference, difference)
    intercept = tp[1:] - slope * positives[1:]
    ratio = tf.math.divide_no_nan(positives[:-1], positives[1:])
    both = tf.logical_and(positives[:-1] > 0, positives[1:] > 0)
    # Davis and Goadrich (2006): between two thresholds, true positives are linear in all positives, so
    # precision is not. The area is an integral with a logarithm.
    log_ratio = tf.math.log(tf.where(both, ratio, 1.0))
    area = slope * (tp_difference + intercept * log_ratio)
    return tf.math.divide_no_nan(area, tf.maximum(tp[1:] + fn[1:], 0.0))


_CURVE_POINTS = {"ROC": _roc_curve, "PR": _pr_curve, "PRGAIN": _pr_gain_curve}
