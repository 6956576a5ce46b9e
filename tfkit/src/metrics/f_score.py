"""F-scores: precision and recall of classes as one number."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.metrics.base import Metric, undone_on_error
from tfkit.src.metrics.reduction import entry_weights, weighted
from tfkit.src.symbolic.masking import get_mask

_AVERAGES = (None, "micro", "macro", "weighted")


class FBetaScore(Metric):
    """A mean of precision and recall: `(1 + b**2) * precision * recall / (b**2 * precision + recall)`.

    Args:
        average: `None` for a score for each class, `"macro"` for their mean, `"weighted"` for their
            mean weighted by the classes' numbers of targets, `"micro"` for one score of all
            decisions together.
        beta: the `b` of the formula, a float above 0: how many times as much as precision recall
            weighs. Default: `1.0`.
        threshold: number above 0 and at most 1; predictions above it are positive. `None`: the
            largest prediction of each sample is positive.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"fbeta_score"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets 0 and 1, `(batch, classes)`.
        y_pred: predictions, `(batch, classes)`.
        sample_weight: weights of the samples, `(batch,)`, or of their classes, `(batch, classes)`;
            `None` for 1.

    Output shape: A scalar; with `average=None`, `(classes,)`.

    Raises:
        ValueError: if an argument is out of range, or if the data are not of shape
            `(batch, classes)` with a known number of classes.

    Reference:
        van Rijsbergen, "Information retrieval", 1979.

    Example:
        >>> metric = FBetaScore(beta=2.0, threshold=0.5)
        >>> y_true = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
        >>> metric(y_true, [[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]]).numpy().round(3)
        array([0.385, 0.909, 0.833], dtype=float32)
    """

    _direction = "up"

    _tfkit_sums = True

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if average not in _AVERAGES:
            raise ValueError(
                f"Invalid `average`. Expected one of {_AVERAGES}. Received: {average!r}"
            )
        if not isinstance(beta, float) or beta <= 0:
            raise ValueError(f"Invalid `beta`. Expected a float above 0. Received: {beta!r}")
        if threshold is not None and not (isinstance(threshold, float) and 0 < threshold <= 1):
            raise ValueError(
                f"Invalid `threshold`. Expected a float above 0 and not above 1. Received: {threshold!r}"
            )
        self.average = average
        self.beta = beta
        self.threshold = threshold
        self._built = False

    def _build(self, y_true_shape: Any, y_pred_shape: Any) -> None:
        for shape in (y_true_shape, y_pred_shape):
            if len(shape) != 2 or shape[-1] is None:
                raise ValueError(
                    f"{type(self).__name__} expects data of shape (samples, classes) with a known number of "
                    f"classes. Received: y_true.shape={y_true_shape}, y_pred.shape={y_pred_shape}"
                )
        # "micro" counts the decisions of all classes together.
        shape = () if self.average == "micro" else (y_pred_shape[-1],)

        def count(name: str) -> Any:
            return self.add_variable(shape, tf.zeros, dtype=self.dtype, name=name)

        self.true_positives = count("true_positives")
        self.false_positives = count("false_positives")
        self.false_negatives = count("false_negatives")
        self.intermediate_weights = count("intermediate_weights")
        self._built = True

    @shortened
    @undone_on_error
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the decisions of a batch."""
        mask = get_mask(y_pred)
        y_true, y_pred = tf.cast(y_true, self.dtype), tf.cast(y_pred, self.dtype)
        if not self._built:
            self._build(y_true.shape, y_pred.shape)
        if self.threshold is None:
            largest = tf.reduce_max(y_pred, axis=-1, keepdims=True)
            # A sample whose predictions are all 0 is assigned to no class.
            chosen = tf.logical_and(y_pred >= largest, tf.abs(y_pred) > 1e-9)
        else:
            chosen = y_pred > self.threshold
        weights = entry_weights(sample_weight, mask, y_true, self.dtype)
        axis = None if self.average == "micro" else 0

        def weighted_sum(decisions: Any) -> Any:
            return tf.reduce_sum(weighted(decisions, weights), axis=axis)

        # Choices and not products: 0 times infinity is NaN, and 0 in XLA.
        none = tf.zeros([], self.dtype)
        self.true_positives.assign_add(weighted_sum(tf.where(chosen, y_true, none)))
        self.false_positives.assign_add(weighted_sum(tf.where(chosen, 1 - y_true, none)))
        self.false_negatives.assign_add(weighted_sum(tf.where(chosen, none, y_true)))
        self.intermediate_weights.assign_add(weighted_sum(y_true))

    def result(self) -> Any:
        """Returns the score so far: one for each class with `average=None`, else a scalar."""
        epsilon = settings.epsilon()
        precision = self.true_positives / (self.true_positives + self.false_positives + epsilon)
        recall = self.true_positives / (self.true_positives + self.false_negatives + epsilon)
        beta_squared = self.beta**2
        score = (1 + beta_squared) * (
            precision * recall / (beta_squared * precision + recall + epsilon)
        )
        if self.average == "weighted":
            total = tf.reduce_sum(self.intermediate_weights) + epsilon
            return tf.reduce_sum(score * self.intermediate_weights / total)
        return score if self.average is None else tf.reduce_mean(score)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), **attributes(self, "average", "beta", "threshold")}


class F1Score(FBetaScore):
    """The harmonic mean of precision and recall: `2 * precision * recall / (precision + recall)`.

    Args:
        average: `None` for a score for each class, `"macro"` for their mean, `"weighted"` for their
            mean weighted by the classes' numbers of targets, `"micro"` for one score of all
            decisions together.
        threshold: number above 0 and at most 1; predictions above it are positive. `None`: the
            largest prediction of each sample is positive.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"f1_score"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets 0 and 1, `(batch, classes)`.
        y_pred: predictions, `(batch, classes)`.
        sample_weight: weights of the samples, `(batch,)`, or of their classes, `(batch, classes)`;
            `None` for 1.

    Output shape: A scalar; with `average=None`, `(classes,)`.

    Raises:
        ValueError: if an argument is out of range, or if the data are not of shape
            `(batch, classes)` with a known number of classes.

    Reference:
        van Rijsbergen, "Information retrieval", 1979.

    Example:
        >>> metric = F1Score(threshold=0.5)
        >>> y_true = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
        >>> metric(y_true, [[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]]).numpy().round(3)
        array([0.5  , 0.8  , 0.667], dtype=float32)
    """

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(average=average, beta=1.0, threshold=threshold, name=name, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        arguments = super().get_config()
        del arguments["beta"]
        return arguments
