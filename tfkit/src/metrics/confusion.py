"""Counts of right and wrong decisions at thresholds, and precision and recall computed from them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import constructors
from tfkit.src.base.registry.constructors import attributes, with_checked_values
from tfkit.src.engine.shared_programs import differing_in_xla
from tfkit.src.losses.tensors import squeeze_or_expand_to_same_rank
from tfkit.src.metrics.base import Metric
from tfkit.src.metrics.reduction import entry_weights
from tfkit.src.symbolic.masking import get_mask

Thresholds = Sequence[float] | np.ndarray

# The prediction of a class that is not among the top k, and the threshold that all others exceed.
NOT_IN_TOP_K = -1e10


class ConfusionCounts(NamedTuple):
    """Weighted numbers of decisions, shape `(thresholds,)` or `(thresholds, labels)` each."""

    true_positives: Any
    false_positives: Any
    true_negatives: Any
    false_negatives: Any


def add_counts(metric: Metric, shape: Sequence[int]) -> None:
    """Makes a variable of a metric for each of the four counts."""
    for name in ConfusionCounts._fields:
        setattr(metric, name, metric.add_variable(shape, tf.zeros, name=name))


def confusion_counts(
    y_true: Any,
    y_pred: Any,
    thresholds: Thresholds,
    sample_weight: Any = None,
    *,
    top_k: int | None = None,
    class_id: int | None = None,
    multi_label: bool = False,
    label_weights: Any = None,
) -> ConfusionCounts:
    """Counts, at each threshold, the predictions above it, by their targets.

    Args:
        y_true: targets; everything but 0 is positive.
        y_pred: predictions from 0 to 1, shape of `y_true` up to a last axis of size 1.
        thresholds: values in ascending order.
        sample_weight: weights of the samples, or of all predictions.
        top_k: only the `top_k` largest predictions along the last axis can be positive.
        class_id: the only index on the last axis that counts.
        multi_label: whether to count each index of the last axis on its own.
        label_weights: weights along the last axis.

    Raises:
        ValueError: for shapes that do not fit each other.
    """
    dtype = settings.floatx()
    mask = get_mask(y_pred)
    y_pred, y_true = squeeze_or_expand_to_same_rank(tf.cast(y_pred, dtype), tf.cast(y_true, dtype))
    if not y_pred.shape.is_compatible_with(y_true.shape):
        raise ValueError(
            "Targets and predictions must have the same shape. "
            f"Received: y_true.shape={y_true.shape}, y_pred.shape={y_pred.shape}"
        )
    weights = entry_weights(sample_weight, mask, y_pred, dtype)
    if top_k is not None:
        y_pred = _keep_top_k(y_pred, top_k)
    if class_id is not None:
        if y_pred.shape.rank == 1:
            raise ValueError(
                "`class_id` needs predictions of shape (samples, classes). "
                f"Received: class_id={class_id}, y_pred.shape={y_pred.shape}"
            )
        y_true = y_true[..., class_id, tf.newaxis]
        y_pred = y_pred[..., class_id, tf.newaxis]
        # Weights of samples have a last axis of size 1, which is for every class.
        if weights is not None and weights.shape[-1] != 1:
            weights = weights[..., class_id, tf.newaxis]

    positive = tf.cast(tf.cast(y_true, tf.bool), dtype)
    labels = tf.stack([positive, 1 - positive], axis=-1)  # (..., 2): positive, negative
    for weight in (weights, label_weights):
        if weight is not None:
            weight = tf.broadcast_to(tf.cast(weight, dtype), tf.shape(y_pred))
            labels = labels * weight[..., tf.newaxis]
    if not multi_label:
        labels = tf.reshape(labels, [-1, 2])
        y_pred = tf.reshape(y_pred, [-1])

    count_above = _count_by_bucket if evenly_spaced(thresholds) else _count_by_comparison
    above = count_above(labels, y_pred, thresholds)  # (thresholds, [labels,] 2)
    # Only one comparison is made for each threshold; the rest of the labels is below.
    below = tf.reduce_sum(labels, axis=0) - above
    return ConfusionCounts(above[..., 0], above[..., 1], below[..., 1], below[..., 0])


def _count_by_comparison(labels: Any, y_pred: Any, thresholds: Thresholds) -> Any:
    thresholds = tf.reshape(tf.constant(thresholds, y_pred.dtype), [-1] + [1] * y_pred.shape.rank)
    # Shape (thresholds, samples[, labels]).
    is_above = tf.cast(y_pred > thresholds, labels.dtype)
    return tf.reduce_sum(is_above[..., tf.newaxis] * labels, axis=1)


def _count_by_bucket(labels: Any, y_pred: Any, thresholds: Thresholds) -> Any:
    """Returns the counts for evenly spaced thresholds, with one addition per prediction."""
    size = len(thresholds)
    # The bucket of a prediction is the number of thresholds below it.
    bucket = tf.cast(tf.math.ceil(tf.clip_by_value(y_pred, 0.0, 1.0) * (size - 1)), tf.int32)
    if thresholds[0] < 0:
        # The first threshold of an AUC is just below 0, which a prediction of 0 exceeds.
        bucket = tf.maximum(bucket, 1)
    one_label = y_pred.shape.rank == 1
    num_labels = 1 if one_label else y_pred.shape[-1]
    above = _sums_above(size, num_labels, labels.dtype)(
        tf.reshape(labels, [-1, num_labels, 2]), tf.reshape(bucket, [-1, num_labels])
    )
    return above[:, 0] if one_label else above


@functools.cache
def _sums_above(size: int, num_labels: int, dtype: tf.DType) -> Any:
    """Returns a function that sums, for each of `size` thresholds, the contents of buckets above it.

    The function accepts values `(samples, num_labels, 2)` and buckets `(samples, num_labels)`.
    """

    def by_segments(values: tf.Tensor, bucket: tf.Tensor) -> tf.Tensor:
        # All labels in one sum: each has its own `size` segments.
        index = bucket + size * tf.range(num_labels)
        sums = tf.math.unsorted_segment_sum(
            tf.reshape(values, [-1, 2]), tf.reshape(index, [-1]), size * num_labels
        )
        sums = tf.transpose(tf.reshape(sums, [num_labels, size, 2]), [1, 0, 2])
        # Exclusive: a prediction in bucket b exceeds the thresholds before number b.
        return tf.cumsum(sums, axis=0, exclusive=True, reverse=True)

    def by_comparison(values: tf.Tensor, bucket: tf.Tensor) -> tf.Tensor:
        # XLA processes segments one by one in a loop, but this in one pass.
        is_above = bucket[:, tf.newaxis] > tf.range(size)[:, tf.newaxis]
        sums = [
            tf.reduce_sum(tf.where(is_above, value[:, tf.newaxis], 0), axis=0)
            for value in tf.unstack(values, axis=-1)
        ]
        return tf.stack(sums, axis=-1)

    specs = [
        tf.TensorSpec([None, num_labels, 2], dtype),
        tf.TensorSpec([None, num_labels], "int32"),
    ]
    return differing_in_xla(by_segments, by_comparison, specs)


def _keep_top_k(y_pred: Any, k: int) -> Any:
    _, best = tf.math.top_k(y_pred, k)
    kept = tf.reduce_sum(tf.one_hot(best, y_pred.shape[-1], dtype=y_pred.dtype), axis=-2)
    return tf.where(kept > 0, y_pred, NOT_IN_TOP_K)


def evenly_spaced(thresholds: Thresholds) -> bool:
    """Returns whether `thresholds` go from 0 to 1 at equal distances (up to the fuzz factor)."""
    size = len(thresholds)
    if size < 2:
        return False
    return np.allclose(thresholds, np.linspace(0, 1, size), atol=2 * settings.epsilon())


_MOST_THRESHOLDS = 1_000_000  # With more thresholds, neighbouring ones are equal in float32.


def even_thresholds(num_thresholds: int) -> np.ndarray:
    """Returns `num_thresholds` values from 0 to 1 at equal distances; 0.5 if there is only one.

    Raises:
        ValueError: for less than one.
    """
    if num_thresholds <= 0:
        raise ValueError(
            f"`num_thresholds` must be an integer above 0. Received: {num_thresholds!r}"
        )
    if num_thresholds > _MOST_THRESHOLDS:
        raise ValueError(
            f"`num_thresholds` must be at most {_MOST_THRESHOLDS:,}. Received: {num_thresholds!r}"
        )
    if num_thresholds == 1:
        return np.array([0.5])
    return np.arange(num_thresholds) / (num_thresholds - 1)


def checked_thresholds(thresholds: Any, default: float = 0.5) -> list[float]:
    """Returns `thresholds` as a list, after checking them.

    Raises:
        ValueError: for one that is not between 0 and 1.
    """
    if thresholds is None:
        return [default]
    listed = list(thresholds) if isinstance(thresholds, Iterable) else [thresholds]
    invalid = [value for value in listed if value is None or not 0 <= value <= 1]
    if invalid:
        raise ValueError(f"Threshold values must be in [0, 1]. Received: {invalid}")
    return listed


class _DecisionCount(Metric):
    """The weighted number of one kind of decision at each threshold."""

    _counted: str

    _tfkit_sums = True

    @with_checked_values
    @constructors.named_after_class
    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.thresholds = checked_thresholds(thresholds)
        self.accumulator = self.add_variable((len(self.thresholds),), tf.zeros, name="accumulator")

    @shortened
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the decisions of a batch."""
        counts = confusion_counts(y_true, y_pred, self.thresholds, sample_weight)
        self.accumulator.assign_add(getattr(counts, self._counted))

    def result(self) -> Any:
        """Returns the count: a scalar for one threshold, else one for each."""
        return self.accumulator[0] if len(self.thresholds) == 1 else tf.identity(self.accumulator)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"thresholds": self.init_thresholds, **super().get_config()}


class TruePositives(_DecisionCount):
    """The weighted number of positive predictions whose targets are positive.

    Args:
        thresholds: number from 0 to 1, or list of such numbers; predictions above a threshold are
            positive. `None` for 0.5.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar; with a list of thresholds, `(thresholds,)`.

    Raises:
        ValueError: if a threshold is not between 0 and 1, or if targets and predictions differ in
            shape.

    Example:
        >>> float(TruePositives()([0, 1, 1, 1], [1, 0, 1, 1]))
        2.0
    """

    _counted = "true_positives"


class TrueNegatives(_DecisionCount):
    """The weighted number of negative predictions whose targets are negative.

    Args:
        thresholds: number from 0 to 1, or list of such numbers; predictions above a threshold are
            positive. `None` for 0.5.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar; with a list of thresholds, `(thresholds,)`.

    Raises:
        ValueError: if a threshold is not between 0 and 1, or if targets and predictions differ in
            shape.

    Example:
        >>> float(TrueNegatives()([0, 1, 0, 0], [1, 0, 0, 0]))
        2.0
    """

    _counted = "true_negatives"


class FalsePositives(_DecisionCount):
    """The weighted number of positive predictions whose targets are negative.

    Args:
        thresholds: number from 0 to 1, or list of such numbers; predictions above a threshold are
            positive. `None` for 0.5.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar; with a list of thresholds, `(thresholds,)`.

    Raises:
        ValueError: if a threshold is not between 0 and 1, or if targets and predictions differ in
            shape.

    Example:
        >>> float(FalsePositives(thresholds=[0.2, 0.6])([0, 0, 1], [0.5, 0.7, 0.9])[0])
        2.0
    """

    _counted = "false_positives"


class FalseNegatives(_DecisionCount):
    """The weighted number of negative predictions whose targets are positive.

    Args:
        thresholds: number from 0 to 1, or list of such numbers; predictions above a threshold are
            positive. `None` for 0.5.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar; with a list of thresholds, `(thresholds,)`.

    Raises:
        ValueError: if a threshold is not between 0 and 1, or if targets and predictions differ in
            shape.

    Example:
        >>> float(FalseNegatives()([0, 1, 1, 1], [0, 1, 0, 0]))
        2.0
    """

    _counted = "false_negatives"


class _PrecisionOrRecall(Metric):
    """The ratio of true positives to the sum of true positives and one kind of wrong decision."""

    _direction = "up"
    _other: str

    _tfkit_sums = True

    @with_checked_values
    @constructors.named_after_class
    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.top_k = top_k
        self.class_id = class_id
        # With `top_k` each of the best k counts as a positive decision, whatever its value.
        default = 0.5 if top_k is None else NOT_IN_TOP_K
        self.thresholds = checked_thresholds(thresholds, default)
        shape = (len(self.thresholds),)
        self.true_positives = self.add_variable(shape, tf.zeros, name="true_positives")
        setattr(self, self._other, self.add_variable(shape, tf.zeros, name=self._other))

    @shortened
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the decisions of a batch."""
        counts = confusion_counts(
            y_true, y_pred, self.thresholds, sample_weight, top_k=self.top_k, class_id=self.class_id
        )
        self.true_positives.assign_add(counts.true_positives)
        getattr(self, self._other).assign_add(getattr(counts, self._other))

    def result(self) -> Any:
        """Returns the fraction: a scalar for one threshold, else one for each."""
        total = self.true_positives + getattr(self, self._other)
        fraction = tf.math.divide_no_nan(self.true_positives, total)
        return fraction[0] if len(self.thresholds) == 1 else fraction

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        arguments = {"thresholds": self.init_thresholds, **attributes(self, "top_k", "class_id")}
        return {**arguments, **super().get_config()}


class Precision(_PrecisionOrRecall):
    """The fraction of positive predictions that are right: `TP / (TP + FP)`.

    It is 0 as long as there are no positive predictions.

    Args:
        thresholds: number from 0 to 1, or list of such numbers; predictions above a threshold are
            positive. `None` for 0.5, or with `top_k` for no threshold.
        top_k: number of largest predictions of a sample that can be positive; `None` for all.
        class_id: index of the only class, on the last axis, that counts; `None` for all.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar; with a list of thresholds, `(thresholds,)`.

    Raises:
        ValueError: if a threshold is not between 0 and 1, if targets and predictions differ in
            shape, or if `class_id` is given for predictions without an axis of classes.

    Example:
        >>> metric = Precision()
        >>> round(float(metric([0, 1, 1, 1], [1, 0, 1, 1])), 3)
        0.667
    """

    _other = "false_positives"


class Recall(_PrecisionOrRecall):
    """The fraction of positive targets that are found: `TP / (TP + FN)`.

    It is 0 as long as there are no positive targets.

    Args:
        thresholds: number from 0 to 1, or list of such numbers; predictions above a threshold are
            positive. `None` for 0.5, or with `top_k` for no threshold.
        top_k: number of largest predictions of a sample that can be positive; `None` for all.
        class_id: index of the only class, on the last axis, that counts; `None` for all.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets; all but 0 are positive.
        y_pred: predictions from 0 to 1, of the same shape.
        sample_weight: weights of samples or entries; `None` for 1.

    Output shape: A scalar; with a list of thresholds, `(thresholds,)`.

    Raises:
        ValueError: if a threshold is not between 0 and 1, if targets and predictions differ in
            shape, or if `class_id` is given for predictions without an axis of classes.

    Example:
        >>> metric = Recall()
        >>> round(float(metric([0, 1, 1, 1], [1, 0, 1, 1])), 3)
        0.667
    """

    _other = "false_negatives"
