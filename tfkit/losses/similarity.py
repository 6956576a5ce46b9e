"""Losses of embeddings: alike for one label, unlike for different ones."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.losses.wrapper import FunctionLoss
from tfkit.masking import set_mask
from tfkit.symbolic import symbolic_op


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
    """The circle loss of each embedding against the references.

    Args:
        y_true: class ids of shape `(batch,)` or `(batch, 1)`.
        y_pred: embeddings of length 1, of shape `(batch, dimensions)`.
        ref_labels: class ids of the references; those of the batch itself unless given.
        ref_embeddings: embeddings of the references; those of the batch itself unless given.
        remove_diagonal: whether an embedding is not compared with the reference of its own index.
        gamma: scale.
        margin: the paper's `m`: how strict the decision boundary is.

    Reference:
        Sun et al., 2020, https://arxiv.org/abs/2002.10857
    """
    y_pred = tf.convert_to_tensor(y_pred)
    labels = tf.reshape(tf.cast(y_true, "int32"), [-1, 1])
    references = y_pred if ref_embeddings is None else tf.cast(ref_embeddings, y_pred.dtype)
    if ref_labels is None:
        ref_labels = labels
    ref_labels = tf.reshape(tf.cast(ref_labels, "int32"), [1, -1])

    # In distances d = 1 - s instead of the paper's similarities s.
    d = tf.maximum(1 - tf.matmul(y_pred, references, transpose_b=True), 0.0)
    is_negative = labels != ref_labels
    is_positive = labels == ref_labels
    if remove_diagonal:
        is_self = tf.eye(tf.size(labels), tf.size(ref_labels), dtype="int32")
        is_positive &= is_self == 0
    positive = -gamma * (margin + d) * (margin - d)
    negative = gamma * tf.maximum(1 + margin - d, 0.0) * (1 - margin - d)
    losses = tf.math.softplus(
        _logsumexp_where(is_positive, positive) + _logsumexp_where(is_negative, negative)
    )
    set_mask(losses, losses > 0)
    return losses


def _logsumexp_where(condition: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    # Half the lowest number, not minus infinity: a row without pairs must not have NaN gradients.
    return tf.reduce_logsumexp(tf.where(condition, x, x.dtype.min / 2), axis=1)


class Circle(FunctionLoss):
    """The circle loss of embeddings of length 1, for labels that are class ids.

    Args:
        gamma: scale.
        margin: the paper's `m`: how strict the decision boundary is.
        remove_diagonal: whether an embedding is not compared with itself.
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.

    Reference:
        Sun et al., 2020, https://arxiv.org/abs/2002.10857
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
        super().__init__(
            circle,
            reduction=reduction,
            name=name,
            dtype=dtype,
            gamma=gamma,
            margin=margin,
            remove_diagonal=remove_diagonal,
        )
