"""Margin losses: predictions on the right side of a margin cost nothing."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.losses.tensors import as_tensors
from tfkit.losses.wrapper import FunctionLoss
from tfkit.symbolic import symbolic_op


def _as_signs(y_true: tf.Tensor) -> tf.Tensor:
    """Labels 0 and 1 become -1 and 1; labels -1 and 1 stay."""
    is_binary = tf.reduce_all((y_true == 0) | (y_true == 1))
    return tf.where(is_binary, 2.0 * y_true - 1.0, y_true)


@symbolic_op
def hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`mean(max(1 - y_true * y_pred, 0))` over the last axis; labels are -1 and 1, or 0 and 1."""
    y_true, y_pred = as_tensors(y_true, y_pred)
    return tf.reduce_mean(tf.maximum(1.0 - _as_signs(y_true) * y_pred, 0.0), -1)


@symbolic_op
def squared_hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`mean(max(1 - y_true * y_pred, 0) ** 2)` over the last axis; labels as in `hinge`."""
    y_true, y_pred = as_tensors(y_true, y_pred)
    return tf.reduce_mean(tf.square(tf.maximum(1.0 - _as_signs(y_true) * y_pred, 0.0)), -1)


@symbolic_op
def categorical_hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """`max(1 + best wrong score - right score, 0)`; targets are one-hot.

    Reference:
        Crammer and Singer, 2001, https://jmlr.org/papers/v2/crammer01a.html
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    right = tf.reduce_sum(y_true * y_pred, -1)
    wrong = tf.reduce_max((1.0 - y_true) * y_pred, -1)
    return tf.maximum(wrong - right + 1.0, 0.0)


class Hinge(FunctionLoss):
    """`mean(max(1 - y_true * y_pred, 0))`; labels are -1 and 1, or 0 and 1.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "hinge",
        dtype: Any = None,
    ) -> None:
        super().__init__(hinge, reduction=reduction, name=name, dtype=dtype)


class SquaredHinge(FunctionLoss):
    """`mean(max(1 - y_true * y_pred, 0) ** 2)`; labels are -1 and 1, or 0 and 1.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "squared_hinge",
        dtype: Any = None,
    ) -> None:
        super().__init__(squared_hinge, reduction=reduction, name=name, dtype=dtype)


class CategoricalHinge(FunctionLoss):
    """`max(1 + best wrong score - right score, 0)`; targets are one-hot.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        dtype: see `Loss`.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_hinge",
        dtype: Any = None,
    ) -> None:
        super().__init__(categorical_hinge, reduction=reduction, name=name, dtype=dtype)
