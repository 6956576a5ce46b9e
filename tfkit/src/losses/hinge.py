"""Margin losses: predictions on the right side of a margin cost nothing."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine import replicas
from tfkit.src.losses.tensors import as_tensors
from tfkit.src.losses.wrapper import PlainLoss
from tfkit.src.symbolic.tensors import symbolic_op


def _as_signs(y_true: tf.Tensor) -> tf.Tensor:
    """Returns labels 0 and 1 as -1 and 1; labels -1 and 1 are not changed."""
    # The whole batch decides, on all devices: if all labels are 1, both conventions look the same,
    # and stay as they are.
    is_binary = replicas.of_all(tf.reduce_all((y_true == 0) | (y_true == 1)))
    return tf.where(is_binary, 2.0 * y_true - 1.0, y_true)


@symbolic_op
def hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the hinge loss: `mean(max(1 - y_true * y_pred, 0))` over the last axis.

    Args:
        y_true: labels -1 and 1, or 0 and 1, `(..., d)`.
        y_pred: scores, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Reference:
        Cortes & Vapnik, "Support-vector networks", 1995.

    Example:
        >>> hinge([[1.0, -1.0]], [[0.5, 0.5]]).numpy()
        array([1.], dtype=float32)
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    return tf.reduce_mean(tf.maximum(1.0 - _as_signs(y_true) * y_pred, 0.0), -1)


@symbolic_op
def squared_hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the squared hinge loss: `mean(max(1 - y_true * y_pred, 0) ** 2)` over the last axis.

    Args:
        y_true: labels -1 and 1, or 0 and 1, `(..., d)`.
        y_pred: scores, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Reference:
        Cortes & Vapnik, "Support-vector networks", 1995.

    Example:
        >>> squared_hinge([[1.0, -1.0]], [[0.5, 0.5]]).numpy()
        array([1.25], dtype=float32)
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    return tf.reduce_mean(tf.square(tf.maximum(1.0 - _as_signs(y_true) * y_pred, 0.0)), -1)


@symbolic_op
def categorical_hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the hinge loss of several classes: `max(1 + best wrong score - right score, 0)`.

    Args:
        y_true: one-hot labels, `(..., classes)`.
        y_pred: scores, `(..., classes)`.

    Returns:
        Losses of shape `(...)`.

    Reference:
        Crammer & Singer, "On the algorithmic implementation of multiclass kernel-based vector
            machines", 2001.

    Example:
        >>> categorical_hinge([[0.0, 1.0, 0.0]], [[0.5, 1.0, 0.25]]).numpy()
        array([0.5], dtype=float32)
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    right = tf.reduce_sum(y_true * y_pred, -1)
    # The right class contributes 0 here: the best wrong score is never below 0, as in Keras.
    wrong = tf.reduce_max((1.0 - y_true) * y_pred, -1)
    return tf.maximum(wrong - right + 1.0, 0.0)


class Hinge(PlainLoss, function=hinge):
    """The hinge loss: `mean(max(1 - y_true * y_pred, 0))` over the last axis.

    Labels of 0 and 1 are first mapped to -1 and 1.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"hinge"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: labels -1 and 1, or 0 and 1, `(batch, ..., d)`.
        y_pred: scores, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Cortes & Vapnik, "Support-vector networks", 1995.

    Example:
        >>> float(Hinge()([[1.0, -1.0]], [[0.5, 0.5]]))
        1.0
    """


class SquaredHinge(PlainLoss, function=squared_hinge):
    """The squared hinge loss: `mean(max(1 - y_true * y_pred, 0) ** 2)` over the last axis.

    Labels of 0 and 1 are first mapped to -1 and 1.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"squared_hinge"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: labels -1 and 1, or 0 and 1, `(batch, ..., d)`.
        y_pred: scores, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Cortes & Vapnik, "Support-vector networks", 1995.

    Example:
        >>> float(SquaredHinge()([[1.0, -1.0]], [[0.5, 0.5]]))
        1.25
    """


class CategoricalHinge(PlainLoss, function=categorical_hinge):
    """The hinge loss of several classes: `max(1 + best wrong score - right score, 0)`.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"categorical_hinge"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: one-hot labels, `(batch, ..., classes)`.
        y_pred: scores, `(batch, ..., classes)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Crammer & Singer, "On the algorithmic implementation of multiclass kernel-based vector
            machines", 2001.

    Example:
        >>> float(CategoricalHinge()([[0.0, 1.0, 0.0]], [[0.5, 1.0, 0.25]]))
        0.5
    """
