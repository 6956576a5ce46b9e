"""Checks that the labels of sparse losses are whole numbers, before they are cut to such in a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfkit.src.base.nests import brief
from tfkit.src.losses.base import Loss
from tfkit.src.losses.categorical import (
    SparseCategoricalCrossentropy,
    sparse_categorical_crossentropy,
)

_SPARSE = ("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy")
_ROWS = 10_000  # are checked, once in a `fit`


def check_class_ids(loss: Any, y: Any) -> None:
    """Raises an error for fractions as labels of `sparse_categorical_crossentropy`.

    Args:
        loss: the argument of `compile`.
        y: an array of targets, or a dict or list of them like `loss`; anything else is not checked.

    Raises:
        ValueError: that shows a label.
    """
    if isinstance(loss, Mapping) and isinstance(y, Mapping):
        for key in loss.keys() & y.keys():
            check_class_ids(loss[key], y[key])
    elif isinstance(loss, (list, tuple)) and isinstance(y, (list, tuple)):
        for each, targets in zip(loss, y, strict=False):
            check_class_ids(each, targets)
    elif isinstance(y, np.ndarray) and y.dtype.kind == "f" and _is_sparse(loss):
        labels = y[:_ROWS].reshape(-1)
        labels = labels[np.isfinite(labels)]  # Others are out of range, which the loss reports.
        fractions = labels[labels != np.floor(labels)]
        if len(fractions):
            raise ValueError(
                "`sparse_categorical_crossentropy` needs class ids, whole numbers from 0. Received: "
                f"y={brief(y)} with a label of {float(fractions[0]):.6g}. For probabilities of classes use "
                "`categorical_crossentropy`, for numbers `mse`; were the labels scaled with the inputs?"
            )


def _is_sparse(loss: Any) -> bool:
    if isinstance(loss, Loss):
        return type(loss) is SparseCategoricalCrossentropy
    return loss is sparse_categorical_crossentropy or (isinstance(loss, str) and loss in _SPARSE)
