"""Crossentropies of labels 0 and 1."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import Axes, given
from tfkit.src.losses.likelihood import find_logits, smooth_labels
from tfkit.src.losses.tensors import as_tensors, check_same_shape
from tfkit.src.losses.wrapper import FunctionLoss
from tfkit.src.ops.losses import clip_probabilities
from tfkit.src.symbolic.tensors import symbolic_op


def _binary_crossentropy(y_true: tf.Tensor, y_pred: tf.Tensor, from_logits: bool) -> tf.Tensor:
    check_same_shape(y_true, y_pred)
    y_pred, from_logits = find_logits(y_pred, from_logits, "Sigmoid")
    if from_logits:
        # max(z, 0) - z * y + log(1 + exp(-|z|)): exact where a sigmoid would round to 0 or 1.
        return tf.nn.sigmoid_cross_entropy_with_logits(y_true, y_pred)
    p = clip_probabilities(y_pred)
    return -(y_true * tf.math.log(p) + (1 - y_true) * tf.math.log(1 - p))


@symbolic_op
def binary_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> tf.Tensor:
    """Returns the crossentropy of labels 0 and 1: `-mean(y * log(p) + (1 - y) * log(1 - p))`.

    Args:
        y_true: labels between 0 and 1, `(..., d)`.
        y_pred: probabilities, or logits, `(..., d)`.
        from_logits: whether `y_pred` holds logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards 0.5, from 0 to 1. Default: `0.0`.
        axis: integer, the axis over which the mean is taken. Default: `-1`.

    Returns:
        Losses, of the shape without `axis`.

    Raises:
        ValueError: if targets and predictions differ in shape.

    Example:
        >>> binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    y_true = smooth_labels(y_true, label_smoothing, 2)
    return tf.reduce_mean(_binary_crossentropy(y_true, y_pred, from_logits), axis)


@symbolic_op
def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> tf.Tensor:
    """Returns the crossentropy of labels 0 and 1, with less weight for good predictions.

    It is `-mean(alpha_t * (1 - p_t) ** gamma * log(p_t))`, where `p_t` is the probability of the
    true label: `p` for label 1, `1 - p` for label 0. `alpha_t` is 1 without class balancing.

    Args:
        y_true: labels between 0 and 1, `(..., d)`.
        y_pred: probabilities, or logits, `(..., d)`.
        apply_class_balancing: whether label 1 has weight `alpha` and label 0 `1 - alpha`. Default:
            `False`.
        alpha: weight of label 1, from 0 to 1. Default: `0.25`.
        gamma: exponent of the focusing factor; 0 switches focusing off. Default: `2.0`.
        from_logits: whether `y_pred` holds logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards 0.5, from 0 to 1. Default: `0.0`.
        axis: integer, the axis over which the mean is taken. Default: `-1`.

    Returns:
        Losses, of the shape without `axis`.

    Raises:
        ValueError: if targets and predictions differ in shape.

    Reference:
        Lin et al., "Focal loss for dense object detection", 2017.

    Example:
        >>> binary_focal_crossentropy([[1.0]], [[0.5]]).numpy().round(4)
        array([0.1733], dtype=float32)
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    y_true = smooth_labels(y_true, label_smoothing, 2)
    p = tf.sigmoid(y_pred) if from_logits else y_pred
    # Lin et al. (2017), "Focal Loss for Dense Object Detection": the probability of the right
    # label.
    p_t = y_true * p + (1 - y_true) * (1 - p)
    losses = (1.0 - p_t) ** gamma * _binary_crossentropy(y_true, y_pred, from_logits)
    if apply_class_balancing:
        # alpha_t of the paper: alpha for label 1, 1 - alpha for label 0.
        losses *= y_true * alpha + (1 - y_true) * (1 - alpha)
    return tf.reduce_mean(losses, axis)


class BinaryCrossentropy(FunctionLoss):
    """The crossentropy of labels 0 and 1: `-mean(y * log(p) + (1 - y) * log(1 - p))`.

    Probabilities `p` are clipped to `epsilon` and `1 - epsilon` (`tfkit.config.epsilon()`), unless
    they are known to come from a sigmoid, whose logits are then used.

    Args:
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards 0.5, from 0 to 1: label `y` becomes
            `y * (1 - s) + s / 2`. Default: `0.0`.
        axis: integer, the axis over which the mean of a sample is taken. Default: `-1`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"binary_crossentropy"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: labels between 0 and 1, `(batch, ..., d)`.
        y_pred: probabilities, or logits, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> round(float(BinaryCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
        0.6931
        >>> round(float(BinaryCrossentropy(from_logits=True)([[1.0]], [[0.0]])), 4)
        0.6931
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: Axes = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(binary_crossentropy, **given(locals()))


class BinaryFocalCrossentropy(FunctionLoss):
    """The crossentropy of labels 0 and 1, with less weight for samples that are predicted well.

    It computes `-mean(alpha_t * (1 - p_t) ** gamma * log(p_t))`, where `p_t` is the probability of
    the true label: `p` for label 1, `1 - p` for label 0. `alpha_t` is 1 without class balancing.

    Args:
        apply_class_balancing: whether label 1 has weight `alpha` and label 0 `1 - alpha`. Default:
            `False`.
        alpha: weight of label 1, from 0 to 1. Default: `0.25`.
        gamma: exponent of the focusing factor; 0 switches focusing off. Default: `2.0`.
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards 0.5, from 0 to 1: label `y` becomes
            `y * (1 - s) + s / 2`. Default: `0.0`.
        axis: integer, the axis over which the mean of a sample is taken. Default: `-1`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"binary_focal_crossentropy"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: labels between 0 and 1, `(batch, ..., d)`.
        y_pred: probabilities, or logits, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Lin et al., "Focal loss for dense object detection", 2017.

    Example:
        >>> round(float(BinaryFocalCrossentropy()([[1.0]], [[0.5]])), 4)
        0.1733
    """

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: Axes = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(binary_focal_crossentropy, **given(locals()))
