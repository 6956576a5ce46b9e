"""Losses of overlap between two masks."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.registry.constructors import Axes, given
from tfkit.src.losses.reduction import mask_along
from tfkit.src.losses.tensors import as_tensors
from tfkit.src.losses.wrapper import FunctionLoss
from tfkit.src.symbolic.masking import get_mask
from tfkit.src.symbolic.tensors import symbolic_op


def _unmasked(y_true: Any, y_pred: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns both as tensors; the mask of predictions makes both 0, which no sum of overlaps counts."""
    mask = get_mask(y_pred)
    y_true, y_pred = as_tensors(y_true, y_pred)
    if mask is None:
        return y_true, y_pred
    included = mask_along(mask, y_pred)
    nothing = tf.zeros([], y_pred.dtype)
    return tf.where(included, y_true, nothing), tf.where(included, y_pred, nothing)


@symbolic_op
def dice(y_true: Any, y_pred: Any, axis: Axes = None) -> tf.Tensor:
    """Returns the Dice loss: `1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred))`.

    Args:
        y_true: masks, with values from 0 to 1.
        y_pred: predictions, of the same shape.
        axis: axis or axes to sum over; `None` for all.

    Returns:
        Losses, of the shape without `axis`: a scalar for `None`.

    Reference:
        Milletari et al., "V-Net: fully convolutional neural networks for volumetric medical image
            segmentation", 2016.

    Example:
        >>> round(float(dice([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.3333
    """
    y_true, y_pred = _unmasked(y_true, y_pred)
    overlap = tf.reduce_sum(y_true * y_pred, axis)
    sizes = tf.reduce_sum(y_true, axis) + tf.reduce_sum(y_pred, axis)
    # Epsilon keeps two empty masks from 0 / 0; their loss is 1.
    return 1 - 2.0 * overlap / (sizes + settings.epsilon())


@symbolic_op
def tversky(
    y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Axes = None
) -> tf.Tensor:
    """Returns the Tversky loss: `1 - overlap / (overlap + alpha * invented + beta * missed)`.

    `overlap = sum(y_true * y_pred)`, `missed = sum(y_true * (1 - y_pred))`,
    `invented = sum((1 - y_true) * y_pred)`.

    Args:
        y_true: masks, with values from 0 to 1.
        y_pred: predictions, of the same shape.
        alpha: weight of falsely predicted elements, the false positives. Default: `0.5`.
        beta: weight of missed elements, the false negatives. Default: `0.5`.
        axis: axis or axes to sum over; `None` for all.

    Returns:
        Losses, of the shape without `axis`: a scalar for `None`.

    Reference:
        Salehi et al., "Tversky loss function for image segmentation using 3D fully convolutional
            deep networks", 2017.

    Example:
        >>> round(float(tversky([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]], beta=1.0)), 4)
        0.5
    """
    y_true, y_pred = _unmasked(y_true, y_pred)
    overlap = tf.reduce_sum(y_true * y_pred, axis)
    missed = tf.reduce_sum(y_true * (1 - y_pred), axis)
    invented = tf.reduce_sum((1 - y_true) * y_pred, axis)
    return 1 - overlap / (overlap + alpha * invented + beta * missed + settings.epsilon())


class Dice(FunctionLoss):
    """The Dice loss of overlap: `1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred))`.

    `tfkit.config.epsilon()` is added to the denominator.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"dice"`.
        axis: axis or axes to sum over; `None` for all, the batch included.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: masks, with values from 0 to 1.
        y_pred: predictions, of the same shape.
        sample_weight: factors of the losses; `None` for 1.

    Output shape: A scalar; without reduction the axes that `axis` leaves.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Milletari et al., "V-Net: fully convolutional neural networks for volumetric medical image
            segmentation", 2016.

    Example:
        >>> round(float(Dice()([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.3333
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dice",
        axis: Axes = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dice, reduction=reduction, name=name, dtype=dtype, axis=axis)


class Tversky(FunctionLoss):
    """The Tversky loss of overlap: `1 - overlap / (overlap + alpha * invented + beta * missed)`.

    `overlap = sum(y_true * y_pred)`, `missed = sum(y_true * (1 - y_pred))`,
    `invented = sum((1 - y_true) * y_pred)`; and `tfkit.config.epsilon()` is added to the
    denominator. With `alpha = beta = 0.5` it is `Dice`.

    Args:
        alpha: weight of falsely predicted elements, the false positives. Default: `0.5`.
        beta: weight of missed elements, the false negatives. Default: `0.5`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"tversky"`.
        axis: axis or axes to sum over; `None` for all, the batch included.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: masks, with values from 0 to 1.
        y_pred: predictions, of the same shape.
        sample_weight: factors of the losses; `None` for 1.

    Output shape: A scalar; without reduction the axes that `axis` leaves.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Salehi et al., "Tversky loss function for image segmentation using 3D fully convolutional
            deep networks", 2017.

    Example:
        >>> round(float(Tversky(beta=1.0)([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.5
    """

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "tversky",
        axis: Axes = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(tversky, **given(locals()))
