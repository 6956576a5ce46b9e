"""Intersection over union of predicted and target regions, from a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.base.registry.dtypes import is_int
from tfkit.src.losses.tensors import as_class_ids
from tfkit.src.metrics.base import Metric
from tfkit.src.metrics.reduction import entry_weights
from tfkit.src.symbolic.masking import get_mask, set_mask


class IoU(Metric):
    """Intersection over union, `TP / (TP + FP + FN)`, as a mean over some classes.

    It is computed from a confusion matrix of all entries.

    Args:
        num_classes: positive integer, the number of classes; entries with other class ids do not
            count.
        target_class_ids: list of the class ids to average over; classes that never occur are left
            out.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: dtype of the counts, to which weights are cast; `None` for `"int64"`.
        ignore_class: class id of targets that do not count, such as -1 or 255; `None` for none.
        sparse_y_true: whether targets are class ids, and not one-hot. Default: `True`.
        sparse_y_pred: whether predictions are class ids, and not scores of the classes. Default:
            `True`.
        axis: integer, the axis of the classes of data that are not class ids. Default: `-1`.

    Call arguments:
        y_true: class ids, `(batch, ...)`, or one-hot targets with an axis of classes.
        y_pred: class ids, `(batch, ...)`, or scores with an axis of classes.
        sample_weight: weights of the entries, `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if a target class id is not below `num_classes`.

    Example:
        >>> metric = IoU(num_classes=2, target_class_ids=[0])
        >>> round(float(metric([0, 0, 1, 1], [0, 1, 0, 1])), 3)
        0.333
    """

    _direction = "up"

    _tfkit_sums = True
    _fixed: tuple[str, ...] = ()  # The arguments that the constructor of a subclass does not have.

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(name=name, dtype=dtype or "int64")
        # First, because it raises an error for an absurd number of classes.
        self.total_cm = self.add_variable(
            (num_classes, num_classes), tf.zeros, dtype=self.dtype, name="total_confusion_matrix"
        )
        if max(target_class_ids) >= num_classes:
            raise ValueError(
                f"`target_class_ids` must be below num_classes={num_classes}. "
                f"Received: {list(target_class_ids)}"
            )
        self.num_classes = num_classes
        self.target_class_ids = list(target_class_ids)
        self.ignore_class = ignore_class
        self.sparse_y_true = sparse_y_true
        self.sparse_y_pred = sparse_y_pred
        self.axis = axis

    @shortened
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the entries of a batch by target class and predicted class."""
        mask = get_mask(y_pred)
        if not self.sparse_y_true:
            y_true = tf.argmax(y_true, axis=self.axis)
        if not self.sparse_y_pred:
            y_pred = tf.argmax(y_pred, axis=self.axis)
        if sample_weight is not None:
            sample_weight = tf.convert_to_tensor(sample_weight)
            if sample_weight.dtype.is_floating and is_int(self.dtype):
                warn(
                    f"Weights of dtype {sample_weight.dtype.name} are rounded towards zero, because "
                    f"{self.name} counts in {self.dtype}. Pass integer weights, or make the metric "
                    'with `dtype="float32"`.'
                )
        y_true, y_pred = as_class_ids(y_true, tf.int64), as_class_ids(y_pred, tf.int64)
        # Targets and predictions may differ by an axis of size 1: the weights are of the targets' entries.
        weights = entry_weights(sample_weight, mask, y_true, self.dtype)
        if weights is None:
            weights = tf.ones([1], self.dtype)
        weights = tf.reshape(tf.broadcast_to(weights, tf.shape(y_true)), [-1])
        y_true, y_pred = tf.reshape(y_true, [-1]), tf.reshape(y_pred, [-1])

        size = self.num_classes
        counts = (y_true >= 0) & (y_true < size) & (y_pred >= 0) & (y_pred < size)
        if self.ignore_class is not None:
            counts &= y_true != self.ignore_class
        cell = tf.where(counts, y_true * size + y_pred, -1)  # Negative cells are dropped.
        # A cell of the matrix is a segment: a one-hot product would need samples * classes ** 2
        # values.
        matrix = tf.math.unsorted_segment_sum(weights, cell, size * size)
        self.total_cm.assign_add(tf.reshape(matrix, [size, size]))

    def result(self) -> Any:
        """Returns the mean so far, over the target classes that occurred."""
        matrix = tf.cast(self.total_cm, tf.float32)
        intersection = tf.linalg.diag_part(matrix)
        # Columns are predictions, rows are targets: entries that are in both were added twice.
        union = tf.reduce_sum(matrix, axis=0) + tf.reduce_sum(matrix, axis=1) - intersection
        intersection = tf.gather(intersection, list(self.target_class_ids))
        union = tf.gather(union, list(self.target_class_ids))
        occurs = union > 1e-9
        iou = tf.where(occurs, intersection / (union + settings.epsilon()), 0.0)
        num_occurring = tf.reduce_sum(tf.cast(occurs, tf.float32))
        return tf.reduce_sum(iou) / (num_occurring + settings.epsilon())

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        sizes = attributes(self, "num_classes", "target_class_ids", "ignore_class")
        forms = attributes(self, "sparse_y_true", "sparse_y_pred", "axis")
        config = {**super().get_config(), **sizes, **forms}
        return {name: value for name, value in config.items() if name not in self._fixed}


class BinaryIoU(IoU):
    """Intersection over union of the classes 0 and 1, into which a threshold divides predictions.

    Args:
        target_class_ids: list of the classes to average over, of 0 and 1. Default: `(0, 1)`.
        threshold: predictions of at least this value are of class 1. Default: `0.5`.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: dtype of the counts, to which weights are cast; `None` for `"int64"`.

    Call arguments:
        y_true: targets 0 and 1, `(batch, ...)`.
        y_pred: predictions, `(batch, ...)`.
        sample_weight: weights of the entries, `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if a target class id is not below `num_classes`.

    Example:
        >>> metric = BinaryIoU(target_class_ids=[0, 1], threshold=0.3)
        >>> round(float(metric([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7])), 3)
        0.333
    """

    _tfkit_sums = True

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(2, target_class_ids, name=name, dtype=dtype)
        self.threshold = threshold

    @shortened
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the entries of a batch by target class and predicted class."""
        mask = get_mask(y_pred)
        y_pred = tf.cast(y_pred, tf.float32) >= self.threshold
        set_mask(y_pred, mask)
        super().update_state(y_true, y_pred, sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return attributes(self, "target_class_ids", "threshold", "name", "dtype")


class MeanIoU(IoU):
    """Intersection over union, `TP / (TP + FP + FN)`, as a mean over all classes that occur.

    It is computed from a confusion matrix of all entries.

    Args:
        num_classes: positive integer, the number of classes; entries with other class ids do not
            count.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: dtype of the counts, to which weights are cast; `None` for `"int64"`.
        ignore_class: class id of targets that do not count, such as -1 or 255; `None` for none.
        sparse_y_true: whether targets are class ids, and not one-hot. Default: `True`.
        sparse_y_pred: whether predictions are class ids, and not scores of the classes. Default:
            `True`.
        axis: integer, the axis of the classes of data that are not class ids. Default: `-1`.

    Call arguments:
        y_true: class ids, `(batch, ...)`, or one-hot targets with an axis of classes.
        y_pred: class ids, `(batch, ...)`, or scores with an axis of classes.
        sample_weight: weights of the entries, `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = MeanIoU(num_classes=2)
        >>> round(float(metric([0, 0, 1, 1], [0, 1, 0, 1])), 3)
        0.333
    """

    _fixed: tuple[str, ...] = ("target_class_ids",)

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        forms = (sparse_y_true, sparse_y_pred, axis)
        super().__init__(num_classes, range(num_classes), name, dtype, ignore_class, *forms)


class OneHotIoU(IoU):
    """Intersection over union as a mean over some classes, for one-hot targets.

    Args:
        num_classes: positive integer, the number of classes; entries with other class ids do not
            count.
        target_class_ids: list of the class ids to average over; classes that never occur are left
            out.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: dtype of the counts, to which weights are cast; `None` for `"int64"`.
        ignore_class: class id of targets that do not count, such as -1 or 255; `None` for none.
        sparse_y_pred: whether predictions are class ids, and not scores of the classes. Default:
            `False`.
        axis: integer, the axis of the classes of data that are not class ids. Default: `-1`.

    Call arguments:
        y_true: one-hot targets, `(batch, ..., classes)`.
        y_pred: scores, `(batch, ..., classes)`; with `sparse_y_pred` class ids, `(batch, ...)`.
        sample_weight: weights of the entries, `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if a target class id is not below `num_classes`.

    Example:
        >>> metric = OneHotIoU(num_classes=2, target_class_ids=[0])
        >>> y_true = [[1, 0], [1, 0], [0, 1], [0, 1]]
        >>> round(float(metric(y_true, [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])), 3)
        0.333
    """

    _fixed = ("sparse_y_true",)

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        forms = (False, sparse_y_pred, axis)
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, *forms)


class OneHotMeanIoU(MeanIoU):
    """Intersection over union as a mean over all classes that occur, for one-hot targets.

    Args:
        num_classes: positive integer, the number of classes; entries with other class ids do not
            count.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: dtype of the counts, to which weights are cast; `None` for `"int64"`.
        ignore_class: class id of targets that do not count, such as -1 or 255; `None` for none.
        sparse_y_pred: whether predictions are class ids, and not scores of the classes. Default:
            `False`.
        axis: integer, the axis of the classes of data that are not class ids. Default: `-1`.

    Call arguments:
        y_true: one-hot targets, `(batch, ..., classes)`.
        y_pred: scores, `(batch, ..., classes)`; with `sparse_y_pred` class ids, `(batch, ...)`.
        sample_weight: weights of the entries, `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = OneHotMeanIoU(num_classes=2)
        >>> y_true = [[1, 0], [1, 0], [0, 1], [0, 1]]
        >>> round(float(metric(y_true, [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])), 3)
        0.333
    """

    _fixed = ("target_class_ids", "sparse_y_true")

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)
