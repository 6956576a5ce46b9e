"""Accuracies: how often predictions agree with targets."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.registry.constructors import given
from tfkit.src.losses.tensors import as_class_ids, squeeze_or_expand_to_same_rank
from tfkit.src.metrics.reduction import FunctionMetric, PlainMetric
from tfkit.src.ops.indexing import in_top_k


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """Returns 1 where a prediction equals its target, else 0; shape of the two."""
    y_pred = tf.convert_to_tensor(y_pred)
    y_true, y_pred = squeeze_or_expand_to_same_rank(tf.cast(y_true, y_pred.dtype), y_pred)
    return tf.cast(tf.equal(y_true, y_pred), settings.floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """Returns 1 where a prediction is on the correct side of a threshold, else 0.

    Args:
        y_true: targets 0 and 1.
        y_pred: probabilities or scores, of the same shape up to a last axis of size 1.
        threshold: predictions above it count as 1, the others as 0. Default: `0.5`.

    Returns:
        Floats of the shape of `y_pred`.

    Example:
        >>> binary_accuracy([[1], [1], [0], [0]], [[1.0], [0.4], [0.6], [0.0]]).numpy().ravel()
        array([1., 0., 0., 1.], dtype=float32)
    """
    y_true, y_pred = squeeze_or_expand_to_same_rank(
        tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    )
    # A threshold such as 0.3 has no exact float16: the comparison would depend on its rounding.
    if y_pred.dtype != tf.float64:
        y_pred = tf.cast(y_pred, tf.float32)
    y_pred = tf.cast(y_pred > tf.cast(threshold, y_pred.dtype), y_true.dtype)
    return tf.cast(tf.equal(y_true, y_pred), settings.floatx())


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Returns 1 where the largest prediction is for the right class, else 0; for one-hot targets.

    Args:
        y_true: one-hot targets, `(..., classes)`.
        y_pred: probabilities or scores, `(..., classes)`.

    Returns:
        Floats of shape `(...)`.

    Example:
        >>> categorical_accuracy([[0, 1], [0, 1]], [[0.2, 0.8], [0.6, 0.4]]).numpy()
        array([1., 0.], dtype=float32)
    """
    target = tf.argmax(y_true, axis=-1)
    y_pred = tf.convert_to_tensor(y_pred)
    predicted = tf.argmax(y_pred, axis=-1)
    if target.shape.rank == y_pred.shape.rank:
        predicted = tf.expand_dims(predicted, -1)
    return tf.cast(tf.equal(target, predicted), settings.floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Returns 1 where the largest prediction is for the right class, else 0; for class ids.

    Args:
        y_true: class ids, `(...)` or `(..., 1)`.
        y_pred: probabilities or scores, `(..., classes)`.

    Returns:
        Floats of shape `(...)`.

    Example:
        >>> sparse_categorical_accuracy([1, 1], [[0.2, 0.8], [0.6, 0.4]]).numpy()
        array([1., 0.], dtype=float32)
    """
    y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = tf.squeeze(y_true, -1)
    # Not the dtype of the predictions: float16 cannot distinguish class 2048 from class 2049.
    index_dtype = tf.float32 if y_true.dtype.is_floating else tf.int64
    predicted = tf.cast(tf.argmax(y_pred, axis=-1), index_dtype)
    matches = tf.equal(tf.cast(y_true, index_dtype), predicted)
    if matches.shape.rank > 1 and matches.shape[-1] == 1:
        matches = tf.squeeze(matches, -1)
    return tf.cast(matches, settings.floatx())


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Returns 1 where the class is among the `k` largest predictions, else 0; for one-hot targets.

    Args:
        y_true: one-hot targets, `(..., classes)`.
        y_pred: probabilities or scores, `(..., classes)`.
        k: number of predictions that count. Default: `5`.

    Returns:
        Floats of shape `(...)`.

    Example:
        >>> top_k_categorical_accuracy([[0, 0, 1]], [[0.1, 0.6, 0.3]], k=2).numpy()
        array([1.], dtype=float32)
    """
    return sparse_top_k_categorical_accuracy(tf.argmax(y_true, axis=-1), y_pred, k)


def sparse_top_k_categorical_accuracy(
    y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False
) -> Any:
    """Returns 1 where the class is among the `k` largest predictions, else 0; for class ids.

    Args:
        y_true: class ids, `(...)`.
        y_pred: probabilities or scores, `(..., classes)`; with `from_sorted_ids`, class ids, best
            first.
        k: number of predictions that count. Default: `5`.
        from_sorted_ids: whether `y_pred` holds sorted class ids. Default: `False`.

    Returns:
        Floats of the shape of `y_true`.

    Example:
        >>> sparse_top_k_categorical_accuracy([2], [[0.1, 0.6, 0.3]], k=2).numpy()
        array([1.], dtype=float32)
    """
    y_pred = tf.convert_to_tensor(y_pred)
    # `in_top_k` needs a matrix.
    y_pred = tf.reshape(y_pred, [-1, y_pred.shape[-1]])
    if from_sorted_ids:
        # Predictions are class ids here, the best ones first.
        y_true = tf.cast(y_true, y_pred.dtype)
        targets = tf.reshape(y_true, [-1, 1])
        matches = tf.reduce_any(tf.equal(targets, y_pred[:, :k]), axis=1)
    else:
        y_true = as_class_ids(y_true, tf.int32)
        matches = in_top_k(tf.reshape(y_true, [-1]), y_pred, k)
    return tf.reshape(tf.cast(matches, settings.floatx()), tf.shape(y_true))


class Accuracy(PlainMetric, function=accuracy):
    """The fraction of predictions that equal their targets.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"accuracy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, ...)`.
        y_pred: predictions, `(batch, ...)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(Accuracy()([1, 2, 3, 4], [0, 2, 3, 4]))
        0.75
        >>> float(Accuracy()([1, 2], [0, 2], sample_weight=[1, 3]))
        0.75
    """

    _direction = "up"


class BinaryAccuracy(FunctionMetric):
    """The fraction of predictions on the side of a threshold that their targets, 0 or 1, require.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"binary_accuracy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        threshold: predictions above it count as 1, the others as 0. Default: `0.5`.

    Call arguments:
        y_true: targets 0 and 1, `(batch, ...)`.
        y_pred: probabilities or scores, `(batch, ...)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(BinaryAccuracy()([[1], [1], [0], [0]], [[0.98], [1.0], [0.0], [0.6]]))
        0.75
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5
    ) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(PlainMetric, function=categorical_accuracy):
    """The fraction of samples whose largest prediction is for the right class, for one-hot targets.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"categorical_accuracy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: one-hot targets, `(batch, ..., classes)`.
        y_pred: probabilities or scores, `(batch, ..., classes)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = CategoricalAccuracy()
        >>> float(metric([[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]))
        0.5
    """

    _direction = "up"


class SparseCategoricalAccuracy(PlainMetric, function=sparse_categorical_accuracy):
    """The fraction of samples whose largest prediction is for the right class, for class ids.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"sparse_categorical_accuracy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: class ids, `(batch, ...)` or `(batch, ..., 1)`.
        y_pred: probabilities or scores, `(batch, ..., classes)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(SparseCategoricalAccuracy()([2, 1], [[0.1, 0.6, 0.3], [0.05, 0.95, 0]]))
        0.5
    """

    _direction = "up"


class TopKCategoricalAccuracy(FunctionMetric):
    """The fraction of samples whose class is among the `k` largest predictions, for one-hot targets.

    Args:
        k: number of predictions that count. Default: `5`.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"top_k_categorical_accuracy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: one-hot targets, `(batch, ..., classes)`.
        y_pred: probabilities or scores, `(batch, ..., classes)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = TopKCategoricalAccuracy(k=2)
        >>> float(metric([[0, 0, 1], [0, 1, 0]], [[0.1, 0.6, 0.3], [0.4, 0.1, 0.5]]))
        0.5
    """

    _direction = "up"

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(FunctionMetric):
    """The fraction of samples whose class is among the `k` largest predictions, for class ids.

    Args:
        k: number of predictions that count. Default: `5`.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"sparse_top_k_categorical_accuracy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        from_sorted_ids: whether predictions are class ids, best first, and not scores. Default:
            `False`.

    Call arguments:
        y_true: class ids, `(batch, ...)` or `(batch, ..., 1)`.
        y_pred: probabilities or scores, `(batch, ..., classes)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = SparseTopKCategoricalAccuracy(k=2)
        >>> float(metric([2, 1], [[0.1, 0.6, 0.3], [0.4, 0.1, 0.5]]))
        0.5
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
        super().__init__(sparse_top_k_categorical_accuracy, **given(locals()))
