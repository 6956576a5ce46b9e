"""Losses between distributions: Kullback-Leibler divergence, Poisson, alignments (CTC)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.losses.tensors import as_class_ids, as_tensors
from tfkit.src.losses.wrapper import PlainLoss
from tfkit.src.symbolic.masking import get_mask
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def kl_divergence(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the Kullback-Leibler divergence: `sum(y_true * log(y_true / y_pred))` over the last axis.

    Args:
        y_true: probabilities, `(..., d)`.
        y_pred: probabilities, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Reference:
        Kullback & Leibler, "On information and sufficiency", 1951.

    Example:
        >>> kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]).numpy().round(4)
        array([0.1438], dtype=float32)
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    # Clipped and not normalized again, as in Keras.
    p = tf.clip_by_value(y_true, settings.epsilon(), 1.0)
    q = tf.clip_by_value(y_pred, settings.epsilon(), 1.0)
    return tf.reduce_sum(p * tf.math.log(p / q), -1)


@symbolic_op
def poisson(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns the Poisson loss: `mean(y_pred - y_true * log(y_pred))` over the last axis.

    Args:
        y_true: counts, `(..., d)`.
        y_pred: rates above 0, `(..., d)`.

    Returns:
        Losses of shape `(...)`.

    Example:
        >>> poisson([[2.0, 0.0]], [[1.0, 2.0]]).numpy().round(4)
        array([1.5], dtype=float32)
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    # Without epsilon, a rate of 0 would have an infinite loss for any count but 0.
    return tf.reduce_mean(y_pred - y_true * tf.math.log(y_pred + settings.epsilon()), -1)


@symbolic_op
def ctc(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Returns minus the log-likelihood of label sequences over all alignments with the time steps.

    Args:
        y_true: class ids, `(batch, max_labels)`, padded with 0, the blank.
        y_pred: logits, `(batch, steps, classes)`. Masked steps do not count: the loss is computed as
            if the sequence did not contain them.

    Returns:
        Losses of shape `(batch,)`.

    Raises:
        ValueError: if targets or predictions have a different number of axes.

    Reference:
        Graves et al., "Connectionist temporal classification", 2006.

    Example:
        >>> ctc([[1]], tf.zeros((1, 2, 2))).numpy().round(4)
        array([0.2877], dtype=float32)
    """
    mask = get_mask(y_pred)
    y_true, y_pred = as_class_ids(y_true, "int32"), tf.convert_to_tensor(y_pred)
    if y_true.shape.rank != 2 or y_pred.shape.rank != 3:
        raise ValueError(
            "CTC needs labels of shape (batch, max_labels) and logits of shape (batch, steps, classes). "
            f"Received: y_true of shape {y_true.shape} and y_pred of shape {y_pred.shape}."
        )
    dtype = "float64" if y_pred.dtype == "float64" else "float32"
    batch_size, num_steps = tf.unstack(tf.shape(y_pred)[:2])
    if mask is None:
        num_steps = tf.fill([batch_size], num_steps)
    else:
        mask = tf.broadcast_to(tf.cast(mask, "bool"), tf.shape(y_pred)[:2])
        # The steps that count are moved to the front, in their order.
        step = tf.range(num_steps)
        order = tf.argsort(tf.where(mask, step, step + num_steps), axis=-1)  # (batch, steps)
        y_pred = tf.gather(y_pred, order, batch_dims=1)
        num_steps = tf.reduce_sum(tf.cast(mask, "int32"), -1)
    losses = tf.nn.ctc_loss(
        labels=y_true,
        # TensorFlow's kernel computes only in float32.
        logits=tf.cast(y_pred, "float32"),
        # Class 0 is the blank, so labels are filled up with it.
        label_length=tf.reduce_sum(tf.cast(y_true != 0, "int32"), -1),
        logit_length=num_steps,
        logits_time_major=False,
        blank_index=0,
    )
    return tf.cast(losses, dtype)


class KLDivergence(PlainLoss, function=kl_divergence):
    """The Kullback-Leibler divergence: `sum(y_true * log(y_true / y_pred))` over the last axis.

    Probabilities are clipped to at least `tfkit.config.epsilon()`.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"kl_divergence"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: probabilities, `(batch, ..., d)`.
        y_pred: probabilities, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Kullback & Leibler, "On information and sufficiency", 1951.

    Example:
        >>> round(float(KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]])), 4)
        0.1438
    """


class Poisson(PlainLoss, function=poisson):
    """The Poisson loss: `mean(y_pred - y_true * log(y_pred))` over the last axis.

    Up to a term that does not depend on predictions, it is minus the log-likelihood of counts with
    the predicted rates.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"poisson"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: counts, `(batch, ..., d)`.
        y_pred: rates above 0, `(batch, ..., d)`.
        sample_weight: factors of the losses, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch, ...)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Example:
        >>> float(Poisson()([[2.0, 0.0]], [[1.0, 2.0]]).numpy().round(4))
        1.5
    """


class CTC(PlainLoss, function=ctc):
    """Connectionist temporal classification: minus the log-likelihood of label sequences.

    The likelihood of a sequence is the sum over all its alignments with the time steps. Class 0 is
    the blank.

    Args:
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default: `"ctc"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: class ids, `(batch, max_labels)`, padded with 0, the blank.
        y_pred: logits, `(batch, steps, classes)`.
        sample_weight: factors of the losses, `(batch,)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch,)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Graves et al., "Connectionist temporal classification", 2006.

    Example:
        >>> round(float(CTC()([[1]], tf.zeros((1, 2, 2)))), 4)
        0.2877
    """
