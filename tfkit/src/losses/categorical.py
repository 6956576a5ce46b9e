"""Crossentropies of one class among several."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.constructors import given
from tfkit.src.losses.likelihood import find_logits, normalized, smooth_labels
from tfkit.src.losses.tensors import as_class_ids, as_tensors, check_class_ids, check_same_shape
from tfkit.src.losses.wrapper import FunctionLoss
from tfkit.src.ops.checks import one_axis
from tfkit.src.ops.losses import clip_probabilities, sparse_softmax_crossentropy
from tfkit.src.ops.promotion import promote
from tfkit.src.ops.shaping import moveaxis
from tfkit.src.symbolic.masking import set_mask
from tfkit.src.symbolic.tensors import symbolic_op


def _check_axis(axis: Any) -> None:
    if isinstance(axis, bool):
        raise ValueError(f"`axis` must be an integer. Received: axis={axis}")


def _check_one_hot(y_true: Any, y_pred: Any) -> None:
    """Raises an error for class ids in place of one-hot labels."""
    targets, scores = (getattr(each, "shape", None) for each in (y_true, y_pred))
    if targets is None or scores is None:
        return
    targets, scores = tf.TensorShape(targets), tf.TensorShape(scores)
    # With one class, or an unknown number, ids cannot be told from one-hot labels.
    if targets.rank is None or scores.rank is None or not scores.rank or scores[-1] in (None, 1):
        return
    if targets.rank == scores.rank - 1 or (targets.rank == scores.rank and targets[-1] == 1):
        raise ValueError(
            f"One-hot labels must have the shape of the predictions. Received: y_true of shape {targets} and "
            f"y_pred of shape {scores}. For class ids use `sparse_categorical_crossentropy`, or turn them "
            "into one-hot labels with `utils.to_categorical`."
        )


def _warn_of_single_class(y_pred: tf.Tensor, axis: int) -> None:
    if y_pred.shape.rank is not None and y_pred.shape[axis] == 1:
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
    """Returns the crossentropy of one-hot labels: `-sum(y * log(p))` over the classes.

    Probabilities are divided by their sum.

    Args:
        y_true: one-hot labels, or probabilities, `(..., classes)`.
        y_pred: probabilities, or logits, `(..., classes)`.
        from_logits: whether `y_pred` holds logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards equal ones, from 0 to 1. Default: `0.0`.
        axis: integer, the axis of the classes. Default: `-1`.

    Returns:
        Losses, of the shape without `axis`.

    Raises:
        ValueError: if targets and predictions differ in shape, or if `axis` is a boolean.

    Example:
        >>> categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    _check_axis(axis)
    _check_one_hot(y_true, y_pred)
    y_true, y_pred = as_tensors(y_true, y_pred)
    check_same_shape(y_true, y_pred)
    _warn_of_single_class(y_pred, axis)
    y_true = smooth_labels(y_true, label_smoothing, axis=axis)
    y_pred, from_logits = find_logits(y_pred, from_logits, "Softmax")
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(y_true, y_pred, axis=axis)
    # Normalized before it is clipped, as in Keras: then clipping changes the sum by at most
    # epsilon for each class.
    p = clip_probabilities(normalized(y_pred, axis))
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
    """Returns the crossentropy of one-hot labels, with less weight for good predictions.

    It is `-sum(alpha * (1 - p) ** gamma * y * log(p))` over the classes.

    Args:
        y_true: one-hot labels, or probabilities, `(..., classes)`.
        y_pred: probabilities, or logits, `(..., classes)`.
        alpha: weight of all classes, or a list of weights, one for each class. Default: `0.25`.
        gamma: exponent of the focusing factor; 0 switches focusing off. Default: `2.0`.
        from_logits: whether `y_pred` holds logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards equal ones, from 0 to 1. Default: `0.0`.
        axis: integer, the axis of the classes. Default: `-1`.

    Returns:
        Losses, of the shape without `axis`.

    Raises:
        ValueError: if targets and predictions differ in shape, or if `axis` is a boolean.

    Reference:
        Lin et al., "Focal loss for dense object detection", 2017.

    Example:
        >>> categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy().round(4)
        array([0.0433], dtype=float32)
    """
    _check_axis(axis)
    y_true, y_pred = as_tensors(y_true, y_pred)
    _warn_of_single_class(y_pred, axis)
    y_true = smooth_labels(y_true, label_smoothing, axis=axis)
    p = tf.nn.softmax(y_pred, axis) if from_logits else y_pred
    p = clip_probabilities(normalized(p, axis))
    # `alpha` may be one weight for each class, which makes 16 bits 32.
    alpha, losses = promote(alpha, (1.0 - p) ** gamma * y_true * tf.math.log(p))
    return -tf.reduce_sum(alpha * losses, axis)


@symbolic_op
def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """Returns the crossentropy of class ids: `-log(p[y])`.

    Args:
        y_true: class ids from 0 to `classes - 1`, `(...)` or `(..., 1)`.
        y_pred: probabilities, or logits, `(..., classes)` unless `axis` differs.
        from_logits: whether `y_pred` holds logits, and not probabilities. Default: `False`.
        ignore_class: class id of entries that do not count, such as -1 or 255; `None` for none.
        axis: integer, the axis of the classes. Default: `-1`.

    Returns:
        Losses of shape `(...)`.

    Raises:
        ValueError: if predictions have no such `axis`, or if the shapes do not fit together.
        InvalidArgumentError: if an id is negative or not below the number of classes.

    Example:
        >>> sparse_categorical_crossentropy([1, 0], [[0.5, 0.5], [0.25, 0.75]]).numpy().round(4)
        array([0.6931, 1.3863], dtype=float32)
    """
    y_pred = tf.convert_to_tensor(y_pred)
    y_true = as_class_ids(y_true, "int64")
    _check_axis(axis)
    # First, since it can be seen of unchanged predictions only.
    y_pred, from_logits = find_logits(y_pred, from_logits, "Softmax")
    place = one_axis(axis, y_pred.shape.rank)
    if place != y_pred.shape.rank - 1:
        y_true = moveaxis(y_true, place, -1) if y_true.shape.rank == y_pred.shape.rank else y_true
        y_pred = moveaxis(y_pred, place, -1)
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = tf.squeeze(y_true, -1)
    check_class_ids(y_true, y_pred)
    if ignore_class is not None:
        # An ignored id may be outside of the classes, such as -1 or 255: it is replaced before the
        # lookup.
        is_valid = y_true != ignore_class
        y_true = tf.where(is_valid, y_true, 0)
        y_pred = tf.where(is_valid[..., None], y_pred, 0)
    # The softmax of log(p) is p if the probabilities add up to 1, and normalizes them otherwise.
    logits = y_pred if from_logits else tf.math.log(clip_probabilities(y_pred))
    losses = sparse_softmax_crossentropy(y_true, logits)
    if ignore_class is not None:
        losses = tf.where(is_valid, losses, 0)
        set_mask(losses, is_valid)
    return losses


@symbolic_op
def categorical_generalized_cross_entropy(y_true: Any, y_pred: Any, q: float) -> tf.Tensor:
    """Returns a loss of class ids that is robust to wrong labels: `(1 - p[y] ** q) / q`.

    It is the crossentropy for `q` near 0, and the absolute error for `q` near 1.

    Args:
        y_true: class ids, `(...)` or `(..., 1)`.
        y_pred: probabilities, `(..., classes)`.
        q: number between 0 and 1; the greater, the less wrong labels matter.

    Returns:
        Losses of shape `(...)`.

    Reference:
        Zhang & Sabuncu, "Generalized cross entropy loss for training deep neural networks with
            noisy labels", 2018.

    Example:
        >>> categorical_generalized_cross_entropy([0], [[0.25, 0.75]], q=0.5).numpy()
        array([1.], dtype=float32)
    """
    y_pred = tf.convert_to_tensor(y_pred)
    y_true = as_class_ids(y_true, "int32")
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = tf.squeeze(y_true, -1)
    check_class_ids(y_true, y_pred)
    # A `one_hot` would give 0 for an id that is out of range, such as a missing one, without an error.
    p_of_label = tf.gather(y_pred, y_true, batch_dims=y_pred.shape.rank - 1)
    # A softmax may have NaN in one entry alone, and 0 in that of the label: the loss has to show it.
    is_lost = tf.reduce_any(tf.math.is_nan(y_pred), axis=-1)
    p_of_label = tf.where(is_lost, tf.constant(math.nan, y_pred.dtype), p_of_label)
    # Zhang and Sabuncu (2018): crossentropy for q near 0, mean absolute error for q = 1.
    return (1 - p_of_label**q) / q


class CategoricalCrossentropy(FunctionLoss):
    """The crossentropy of one-hot labels: `-sum(y * log(p))` over the classes.

    Probabilities are divided by their sum, and clipped to `epsilon` and `1 - epsilon`
    (`tfkit.config.epsilon()`), unless they are known to come from a softmax, whose logits are then
    used.

    Args:
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards equal ones, from 0 to 1: label `y` becomes
            `y * (1 - s) + s / classes`. Default: `0.0`.
        axis: integer, the axis of the classes. Default: `-1`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"categorical_crossentropy"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: one-hot labels, or probabilities, `(batch, ..., classes)`.
        y_pred: probabilities, or logits, `(batch, ..., classes)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> y_true, y_pred = [[0.0, 1.0, 0.0]], [[0.25, 0.5, 0.25]]
        >>> round(float(CategoricalCrossentropy()(y_true, y_pred)), 4)
        0.6931
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
        super().__init__(categorical_crossentropy, **given(locals()))


class CategoricalFocalCrossentropy(FunctionLoss):
    """The crossentropy of one-hot labels, with less weight for samples that are predicted well.

    It computes `-sum(alpha * (1 - p) ** gamma * y * log(p))` over the classes.

    Args:
        alpha: weight of all classes, or a list of weights, one for each class. Default: `0.25`.
        gamma: exponent of the focusing factor; 0 switches focusing off. Default: `2.0`.
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards equal ones, from 0 to 1: label `y` becomes
            `y * (1 - s) + s / classes`. Default: `0.0`.
        axis: integer, the axis of the classes. Default: `-1`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"categorical_focal_crossentropy"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: one-hot labels, or probabilities, `(batch, ..., classes)`.
        y_pred: probabilities, or logits, `(batch, ..., classes)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Lin et al., "Focal loss for dense object detection", 2017.

    Example:
        >>> y_true, y_pred = [[0.0, 1.0, 0.0]], [[0.25, 0.5, 0.25]]
        >>> round(float(CategoricalFocalCrossentropy()(y_true, y_pred)), 4)
        0.0433
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
        super().__init__(categorical_focal_crossentropy, **given(locals()))


class SparseCategoricalCrossentropy(FunctionLoss):
    """The crossentropy of class ids: `-log(p[y])`.

    Args:
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        ignore_class: class id of entries that do not count, such as -1 or 255; `None` for none.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        axis: integer, the axis of the classes. Default: `-1`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"sparse_categorical_crossentropy"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: class ids from 0 to `classes - 1`, `(batch, ...)` or `(batch, ..., 1)`.
        y_pred: probabilities, or logits, `(batch, ..., classes)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, if predictions have no such `axis`, or if
            the shapes of targets, predictions and weights do not fit together.
        InvalidArgumentError: if an id is negative or not below the number of classes.

    Example:
        >>> y_true, y_pred = [1, 0], [[0.25, 0.75], [0.75, 0.25]]
        >>> round(float(SparseCategoricalCrossentropy()(y_true, y_pred)), 4)
        0.2877
    """

    _not_in_keras_configs: ClassVar[dict[str, Any]] = {"axis": -1}

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(sparse_categorical_crossentropy, **given(locals()))


class CategoricalGeneralizedCrossEntropy(FunctionLoss):
    """A loss of class ids that is robust to wrong labels: `(1 - p[y] ** q) / q`.

    It is the crossentropy for `q` near 0, and the absolute error for `q` near 1.

    Args:
        q: number between 0 and 1, without these; the greater, the less wrong labels matter.
            Default: `0.5`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"categorical_generalized_cross_entropy"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: class ids from 0 to `classes - 1`, `(batch, ...)` or `(batch, ..., 1)`.
        y_pred: probabilities, `(batch, ..., classes)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `q` is not between 0 and 1, if `reduction` or `dtype` is unknown, or if the
            shapes of targets, predictions and weights do not fit together.

    Reference:
        Zhang & Sabuncu, "Generalized cross entropy loss for training deep neural networks with
            noisy labels", 2018.

    Example:
        >>> y_true, y_pred = [1, 0], [[0.75, 0.25], [0.75, 0.25]]
        >>> round(float(CategoricalGeneralizedCrossEntropy()(y_true, y_pred)), 4)
        0.634
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
        super().__init__(categorical_generalized_cross_entropy, **given(locals()))
