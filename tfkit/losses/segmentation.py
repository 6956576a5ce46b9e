"""Losses of overlap between two masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit import config
from tfkit.losses.tensors import as_tensors
from tfkit.losses.wrapper import FunctionLoss
from tfkit.symbolic import symbolic_op

Axes = int | Sequence[int] | None


@symbolic_op
def dice(y_true: Any, y_pred: Any, axis: Axes = None) -> tf.Tensor:
    """`1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred))`.

    Args:
        y_true: targets.
        y_pred: predictions.
        axis: the axes to sum over; all where it is `None`.

    Reference:
        Milletari et al., 2016, https://arxiv.org/abs/1606.04797
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    overlap = tf.reduce_sum(y_true * y_pred, axis)
    sizes = tf.reduce_sum(y_true, axis) + tf.reduce_sum(y_pred, axis)
    return 1 - 2.0 * overlap / (sizes + config.epsilon())


@symbolic_op
def tversky(
    y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Axes = None
) -> tf.Tensor:
    """`1 - overlap / (overlap + alpha * missed + beta * invented)`.

    Args:
        y_true: targets.
        y_pred: predictions.
        alpha: weight of `missed = sum(y_true * (1 - y_pred))`.
        beta: weight of `invented = sum((1 - y_true) * y_pred)`.
        axis: the axes to sum over; all where it is `None`.

    Reference:
        Salehi et al., 2017, https://arxiv.org/abs/1706.05721
    """
    y_true, y_pred = as_tensors(y_true, y_pred)
    overlap = tf.reduce_sum(y_true * y_pred, axis)
    missed = tf.reduce_sum(y_true * (1 - y_pred), axis)
    invented = tf.reduce_sum((1 - y_true) * y_pred, axis)
    return 1 - overlap / (overlap + alpha * missed + beta * invented + config.epsilon())


class Dice(FunctionLoss):
    """`1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred))`.

    Args:
        reduction: see `Loss`.
        name: a label for people.
        axis: the axes to sum over; all where it is `None`.
        dtype: see `Loss`.
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
    """`1 - overlap / (overlap + alpha * missed + beta * invented)`.

    Args:
        alpha: weight of what is in the targets only.
        beta: weight of what is in the predictions only.
        reduction: see `Loss`.
        name: a label for people.
        axis: the axes to sum over; all where it is `None`.
        dtype: see `Loss`.
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
        super().__init__(
            tversky,
            reduction=reduction,
            name=name,
            dtype=dtype,
            alpha=alpha,
            beta=beta,
            axis=axis,
        )
