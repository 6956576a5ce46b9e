"""Crossentropies of one class among several."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.frames import warn
from tfkit.losses.likelihood import clip_probabilities, find_logits, smooth_labels
from tfkit.losses.tensors import as_tensors, check_class_ids, check_same_shape
from tfkit.losses.wrapper import FunctionLoss
from tfkit.masking import set_mask
from tfkit.ops.losses import sparse_softmax_crossentropy
from tfkit.symbolic import symbolic_op


def _check_axis(axis: Any) -> None:
    if isinstance(axis, bool):
        raise ValueError(f"`axis` must be an integer. Received: axis={axis}")


def _check_one_hot(y_true: Any, y_pred: Any) -> None:
    """Refuses class ids in the place of one-hot labels."""
    targets, scores = (getattr(each, "shape", None) for each in (y_true, y_pred))
    if targets is None or scores is None:
        return
    targets, scores = tf.TensorShape(targets), tf.TensorShape(scores)
    if targets.rank is None or scores.rank is None or not scores.rank or scores[-1] in (None, 1):
        return
    if targets.rank == scores.rank - 1 or (targets.rank == scores.rank and targets[-1] == 1):
        raise ValueError(
            "One-hot labels must have the shape of the predictions. "
            f"Received: y_true of shape {targets} and y_pred of shape {scores}. For class ids use "
            "`sparse_categorical_crossentropy`, or turn them into one-hot labels with "
            "`utils.to_categorical`."
        )


def _warn_of_single_class(y_pred: tf.Tensor) -> None:
    if y_pred.shape[-1] == 1:
        warn(
            "A categorical loss got predictions of one class only, of shape "
            f"{y_pred.shape}. For two classes use `binary_crossentropy`.",
            SyntaxWarning,
        )


@symbolic_op
def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> tf.Tensor:
    """`-sum(y * log(p))` over the classes; predictions are scaled to sum to 1.

    Args:
        y_true: one-hot labels, or probabilities.
        y_pred: probabilities, or logits; of the shape of `y_true`.
        from_logits: whether `y_pred` is logits.
        label_smoothing: how far labels move towards even ones, 0 to 1.
        axis: the axis of classes.
    """
    _check_axis(axis)
    _check_one_hot(y_true, y_pred)
    y_true, y_pred = as_tensors(y_true, y_pred)
    check_same_shape(y_true, y_pred)
    _warn_of_single_class(y_pred)
    y_true = smooth_labels(y_true, label_smoothing, tf.shape(y_true)[-1])
    y_pred, from_logits = find_logits(y_pred, from_logits, "Softmax")
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(y_true, y_pred, axis=axis)
    p = clip_probabilities(y_pred / tf.reduce_sum(y_pred, axis, keepdims=True))
    return -tf.reduce_sum(y_true * tf.math.log(p), axis)


@symbolic_op
def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> tf.Tensor:
    """`-sum(alpha * (1 - p) ** gamma * y * log(p))` over the classes.

    Args:
        y_true: one-hot labels, or probabilities.
        y_pred: probabilities, or logits; of the shape of `y_true`.
        alpha: weight, or weights of the classes.
        gamma: strength of focusing; 0 for none.
        from_logits: whether `y_pred` is logits.
        label_smoothing: how far labels move towards even ones, 0 to 1.
        axis: the axis of classes.

    Reference:
        Lin et al., 2018, https://arxiv.org/abs/1708.02002
    """
    _check_axis(axis)
    y_true, y_pred = as_tensors(y_true, y_pred)
    _warn_of_single_class(y_pred)
    y_true = smooth_labels(y_true, label_smoothing, tf.shape(y_true)[-1])
    p = tf.nn.softmax(y_pred, axis) if from_logits else y_pred
    p = clip_probabilities(p / tf.reduce_sum(p, axis, keepdims=True))
    return -tf.reduce_sum(alpha * (1.0 - p) ** gamma * y_true * tf.math.log(p), axis)


@symbolic_op
def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """`-log(p[y])` for labels that are class ids.

    Args:
        y_true: class ids, of the shape of `y_pred` without its last axis, or with that of size 1.
        y_pred: probabilities, or logits; classes on the last axis.
        from_logits: whether `y_pred` is logits.
        ignore_class: id that marks what does not count, such as -1 or 255.
        axis: the axis of classes, which must be the last.

    Raises:
        ValueError: for another `axis`, and for shapes that do not fit.
    """
    y_pred = tf.convert_to_tensor(y_pred)
    y_true = tf.cast(y_true, "int64")
    if axis not in (-1, y_pred.shape.rank - 1):
        raise ValueError(f"Classes must be on the last axis, `axis=-1`. Received: axis={axis}")
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = tf.squeeze(y_true, -1)
    check_class_ids(y_true, y_pred)
    if ignore_class is not None:
        is_valid = y_true != ignore_class
        y_true = tf.where(is_valid, y_true, 0)
        y_pred = tf.where(is_valid[..., None], y_pred, 0)
    logits, from_logits = find_logits(y_pred, from_logits, "Softmax")
    if not from_logits:
        logits = tf.math.log(clip_probabilities(y_pred))
    losses = sparse_softmax_crossentropy(y_true, logits)
    if ignore_class is not None:
        losses = tf.where(is_valid, losses, 0)
        set_mask(losses, is_valid)
    return losses


@symbolic_op
def categorical_generalized_cross_entropy(y_true: Any, y_pred: Any, q: float) -> tf.Tensor:
    """`(1 - p[y] ** q) / q`: between crossentropy (q near 0) and absolute error (q near 1).

    Args:
        y_true: class ids.
        y_pred: probabilities; classes on the last axis.
        q: between 0 and 1; the greater, the less wrong labels matter.

    Reference:
        Zhang and Sabuncu, 2018, https://arxiv.org/abs/1805.07836
    """
    y_pred = tf.convert_to_tensor(y_pred)
    y_true = tf.cast(y_true, "int32")
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = tf.squeeze(y_true, -1)
    check_class_ids(y_true, y_pred)
    labels = tf.one_hot(y_true, tf.shape(y_pred)[-1], dtype=y_pred.dtype)
    return (1 - tf.reduce_sum(y_pred * labels, -1) ** q) / q


class CategoricalCrossentropy(FunctionLoss):
    """`-sum(y * log(p))` over the classes, for one-hot labels.

    Args:
        from_logits: whether predictions are logits.
        label_smoothing: how far labels move towards even ones, 0 to 1.
        axis: the axis of classes.
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            categorical_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalFocalCrossentropy(FunctionLoss):
    """`-sum(alpha * (1 - p) ** gamma * y * log(p))` over the classes, for one-hot labels.

    Args:
        alpha: weight, or weights of the classes.
        gamma: strength of focusing; 0 for none.
        from_logits: whether predictions are logits.
        label_smoothing: how far labels move towards even ones, 0 to 1.
        axis: the axis of classes.
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.

    Reference:
        Lin et al., 2018, https://arxiv.org/abs/1708.02002
    """

    def __init__(
        self,
        alpha: Any = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            categorical_focal_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(FunctionLoss):
    """`-log(p[y])`, for labels that are class ids.

    Args:
        from_logits: whether predictions are logits.
        ignore_class: id that marks what does not count, such as -1 or 255.
        reduction: see `Loss`.
        axis: the axis of classes, which must be the last.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            sparse_categorical_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )


class CategoricalGeneralizedCrossEntropy(FunctionLoss):
    """`(1 - p[y] ** q) / q`, for labels that are class ids, some of which may be wrong.

    Args:
        q: between 0 and 1; the greater, the less wrong labels matter.
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.

    Raises:
        ValueError: for a `q` outside of 0 to 1.

    Reference:
        Zhang and Sabuncu, 2018, https://arxiv.org/abs/1805.07836
    """

    def __init__(
        self,
        q: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_generalized_cross_entropy",
        dtype: Any = None,
    ) -> None:
        if not 0 < q < 1:
            raise ValueError(f"`q` must be between 0 and 1. Received: q={q}")
        super().__init__(
            categorical_generalized_cross_entropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            q=q,
        )
