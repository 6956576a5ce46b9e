"""How often predictions agree with targets."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorflow as tf

from tfkit import settings
from tfkit.losses.tensors import squeeze_or_expand_to_same_rank
from tfkit.metrics.reduction import FunctionMetric


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where a prediction equals its target, else 0; shape of the two."""
    y_pred = tf.convert_to_tensor(y_pred)
    y_true, y_pred = squeeze_or_expand_to_same_rank(tf.cast(y_true, y_pred.dtype), y_pred)
    return tf.cast(tf.equal(y_true, y_pred), settings.floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """1 where a prediction above `threshold` (or not) goes with a target of 1 (or 0), else 0.

    Args:
        y_true: targets, 0 or 1.
        y_pred: predictions, of the same shape up to a last axis of size 1.
        threshold: predictions above it count as 1.

    Example:
        >>> binary_accuracy([[1], [1], [0], [0]], [[1.0], [0.4], [0.6], [0.0]]).numpy().ravel()
        array([1., 0., 0., 1.], dtype=float32)
    """
    y_true, y_pred = squeeze_or_expand_to_same_rank(
        tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    )
    if y_pred.dtype != tf.float64:
        y_pred = tf.cast(y_pred, tf.float32)
    y_pred = tf.cast(y_pred > tf.cast(threshold, y_pred.dtype), y_true.dtype)
    return tf.cast(tf.equal(y_true, y_pred), settings.floatx())


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where the largest prediction stands at the largest target, else 0.

    Args:
        y_true: one-hot targets, shape `(..., classes)`.
        y_pred: scores or probabilities, shape `(..., classes)`.

    Returns:
        Shape `(...)`.
    """
    target = tf.argmax(y_true, axis=-1)
    y_pred = tf.convert_to_tensor(y_pred)
    predicted = tf.argmax(y_pred, axis=-1)
    if target.shape.rank == y_pred.shape.rank:
        predicted = tf.expand_dims(predicted, -1)
    return tf.cast(tf.equal(target, predicted), settings.floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where the largest prediction stands at the target class, else 0.

    Args:
        y_true: class indices, shape `(...)` or `(..., 1)`.
        y_pred: scores or probabilities, shape `(..., classes)`.

    Returns:
        Shape `(...)`.
    """
    y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = tf.squeeze(y_true, -1)
    # Not the dtype of the predictions: float16 cannot tell class 2048 from class 2049.
    index_dtype = tf.float32 if y_true.dtype.is_floating else tf.int64
    predicted = tf.cast(tf.argmax(y_pred, axis=-1), index_dtype)
    matches = tf.equal(tf.cast(y_true, index_dtype), predicted)
    if matches.shape.rank > 1 and matches.shape[-1] == 1:
        matches = tf.squeeze(matches, -1)
    return tf.cast(matches, settings.floatx())


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """1 where the largest target stands among the `k` largest predictions, else 0.

    Args:
        y_true: one-hot targets, shape `(..., classes)`.
        y_pred: scores or probabilities, shape `(..., classes)`.
        k: how many predictions count.

    Returns:
        Shape `(...)`.
    """
    return sparse_top_k_categorical_accuracy(tf.argmax(y_true, axis=-1), y_pred, k)


def sparse_top_k_categorical_accuracy(
    y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False
) -> Any:
    """1 where the target class stands among the `k` largest predictions, else 0.

    Args:
        y_true: class indices, shape `(...)`.
        y_pred: scores or probabilities, shape `(..., classes)`; with `from_sorted_ids` class
            indices, best first.
        k: how many predictions count.
        from_sorted_ids: whether `y_pred` holds sorted class indices.

    Returns:
        Shape of `y_true`.
    """
    y_pred = tf.convert_to_tensor(y_pred)
    y_pred = tf.reshape(y_pred, [-1, y_pred.shape[-1]])
    y_true = tf.cast(y_true, y_pred.dtype if from_sorted_ids else tf.int32)
    targets = tf.reshape(y_true, [-1])
    if from_sorted_ids:
        matches = tf.reduce_any(tf.equal(targets[:, tf.newaxis], y_pred[:, :k]), axis=1)
    else:
        matches = tf.math.in_top_k(targets, tf.cast(y_pred, tf.float32), k)
    return tf.reshape(tf.cast(matches, settings.floatx()), tf.shape(y_true))


class Accuracy(FunctionMetric):
    """How often predictions equal targets.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.

    Example:
        >>> float(Accuracy()([1, 2, 3, 4], [0, 2, 3, 4]))
        0.75
    """

    _direction = "up"

    def __init__(self, name: str | None = "accuracy", dtype: Any = None) -> None:
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(FunctionMetric):
    """How often predictions above or below a threshold agree with targets of 1 or 0.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        threshold: predictions above it count as 1.

    Example:
        >>> float(BinaryAccuracy()([[1], [1], [0], [0]], [[0.98], [1.0], [0.0], [0.6]]))
        0.75
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5
    ) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(FunctionMetric):
    """How often the largest prediction stands at the class of a one-hot target.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.

    Example:
        >>> float(CategoricalAccuracy()([[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]))
        0.5
    """

    _direction = "up"

    def __init__(self, name: str | None = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(FunctionMetric):
    """How often the largest prediction stands at the class that the target names.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.

    Example:
        >>> float(SparseCategoricalAccuracy()([2, 1], [[0.1, 0.6, 0.3], [0.05, 0.95, 0]]))
        0.5
    """

    _direction = "up"

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(FunctionMetric):
    """How often the class of a one-hot target is among the `k` largest predictions.

    Args:
        k: how many predictions count.
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "up"

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(FunctionMetric):
    """How often the class that the target names is among the `k` largest predictions.

    Args:
        k: how many predictions count.
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        from_sorted_ids: whether predictions are class indices, best first, and no scores.
    """

    _direction = "up"
    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"from_sorted_ids": False}

    def __init__(
        self,
        k: int = 5,
        name: str | None = "sparse_top_k_categorical_accuracy",
        dtype: Any = None,
        from_sorted_ids: bool = False,
    ) -> None:
        super().__init__(
            sparse_top_k_categorical_accuracy, name, dtype, k=k, from_sorted_ids=from_sorted_ids
        )
