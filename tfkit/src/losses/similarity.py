"""Losses of embeddings: similar for equal labels, dissimilar for different ones."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import given
from tfkit.src.losses.tensors import as_class_ids
from tfkit.src.losses.wrapper import FunctionLoss
from tfkit.src.symbolic.masking import get_mask, set_mask
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def circle(
    y_true: Any,
    y_pred: Any,
    ref_labels: Any = None,
    ref_embeddings: Any = None,
    remove_diagonal: bool = True,
    gamma: float = 80,
    margin: float = 0.4,
) -> tf.Tensor:
    """Returns the circle loss of each embedding against the references; see `Circle`.

    Args:
        y_true: class ids, `(batch,)` or `(batch, 1)`.
        y_pred: embeddings of length 1, `(batch, d)`.
        ref_labels: class ids of the references, `(references,)`; `None` for `y_true`.
        ref_embeddings: embeddings of the references, `(references, d)`; `None` for `y_pred`.
        remove_diagonal: whether an embedding is not compared with the reference at the same index.
            Default: `True`.
        gamma: factor of the similarities. Default: `80`.
        margin: how far similarities may be from 0 and 1 at the decision boundary. Default: `0.4`.

    Returns:
        Losses of shape `(batch,)`.

    Reference:
        Sun et al., "Circle loss: a unified perspective of pair similarity optimization", 2020.

    Example:
        >>> circle([0, 0, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).shape
        TensorShape([3])
    """
    y_pred = tf.convert_to_tensor(y_pred)
    labels = tf.reshape(as_class_ids(y_true, "int32"), [-1, 1])
    references = y_pred if ref_embeddings is None else tf.cast(ref_embeddings, y_pred.dtype)
    if ref_labels is None:
        ref_labels = labels
    ref_labels = tf.reshape(as_class_ids(ref_labels, "int32"), [1, -1])

    # In distances d = 1 - s instead of the paper's similarities s.
    # Shape (batch, references). Rounding can make a cosine of unit vectors exceed 1.
    d = tf.maximum(1 - tf.matmul(y_pred, references, transpose_b=True), 0.0)
    is_negative = labels != ref_labels
    is_positive = labels == ref_labels
    if remove_diagonal:
        # An embedding that is its own reference is at distance 0, from which nothing is learned.
        is_self = tf.eye(tf.size(labels), tf.size(ref_labels), dtype="int32")
        is_positive &= is_self == 0
    mask = get_mask(y_pred) if ref_embeddings is None else None
    if mask is not None:  # A masked embedding is not a reference, either.
        mask = tf.reshape(tf.cast(mask, "bool"), [1, -1])
        is_positive &= mask
        is_negative &= mask
    # Sun et al. (2020) with s = 1 - d: alpha_p = max(1 + m - s_p, 0) = m + d, Delta_p = 1 - m,
    # alpha_n = max(s_n + m, 0) = max(1 + m - d, 0), Delta_n = m.
    positive = -gamma * (margin + d) * (margin - d)
    negative = gamma * tf.maximum(1 + margin - d, 0.0) * (1 - margin - d)
    losses = tf.math.softplus(
        _logsumexp_where(is_positive, positive) + _logsumexp_where(is_negative, negative)
    )
    # Samples without pairs, or with nothing left to learn, do not count in the mean.
    set_mask(losses, losses > 0)
    return losses


def _logsumexp_where(condition: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    # Half the lowest number, not minus infinity: a row without pairs must not have NaN gradients.
    return tf.reduce_logsumexp(tf.where(condition, x, x.dtype.min / 2), axis=1)


class Circle(FunctionLoss):
    """The circle loss of embeddings: similar within a class, dissimilar between classes.

    For cosine similarities `s_p` of a sample to samples of its class and `s_n` to others, it
    computes
    `log(1 + sum(exp(gamma * a_n * (s_n - margin))) * sum(exp(-gamma * a_p * (s_p - 1 + margin))))`
    with `a_n = max(s_n + margin, 0)` and `a_p = max(1 + margin - s_p, 0)`.

    Args:
        gamma: factor of the similarities. Default: `80.0`.
        margin: how far similarities may be from 0 and 1 at the decision boundary. Default: `0.4`.
        remove_diagonal: whether a sample is not compared with itself. Default: `True`.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name. Default:
            `"circle"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: class ids, `(batch,)` or `(batch, 1)`.
        y_pred: embeddings of length 1, `(batch, d)`.
        sample_weight: factors of the losses, `(batch,)`; `None` for 1.

    Output shape: A scalar; without reduction `(batch,)`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the shapes of targets, predictions
            and weights do not fit together.

    Reference:
        Sun et al., "Circle loss: a unified perspective of pair similarity optimization", 2020.

    Example:
        >>> embeddings = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        >>> Circle(reduction="none")([0, 0, 1], embeddings).shape
        TensorShape([3])
    """

    def __init__(
        self,
        gamma: float = 80.0,
        margin: float = 0.4,
        remove_diagonal: bool = True,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "circle",
        dtype: Any = None,
    ) -> None:
        super().__init__(circle, **given(locals()))
