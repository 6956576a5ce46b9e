"""Crossentropies and divergences as metrics: how well predicted distributions fit."""

from __future__ import annotations

from typing import Any

from tfkit.losses import (
    binary_crossentropy,
    categorical_crossentropy,
    kl_divergence,
    poisson,
    sparse_categorical_crossentropy,
)
from tfkit.metrics.reduction import FunctionMetric


class KLDivergence(FunctionMetric):
    """Mean of `sum(y_true * log(y_true / y_pred))`, in nats.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(self, name: str | None = "kl_divergence", dtype: Any = None) -> None:
        super().__init__(kl_divergence, name, dtype)


class Poisson(FunctionMetric):
    """Mean of `y_pred - y_true * log(y_pred)`.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
    """

    _direction = "down"

    def __init__(self, name: str | None = "poisson", dtype: Any = None) -> None:
        super().__init__(poisson, name, dtype)


class BinaryCrossentropy(FunctionMetric):
    """Mean crossentropy between targets of 0 or 1 and predicted probabilities, in nats.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        from_logits: whether predictions are logits and no probabilities.
        label_smoothing: how far targets are drawn towards 0.5, from 0 to 1.
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(
            binary_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class CategoricalCrossentropy(FunctionMetric):
    """Mean crossentropy between one-hot targets and predicted probabilities, in nats.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        from_logits: whether predictions are logits and no probabilities.
        label_smoothing: how far targets are drawn towards the uniform distribution, from 0 to 1.
        axis: the axis of the classes.
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ) -> None:
        super().__init__(
            categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(FunctionMetric):
    """Mean crossentropy between target classes given by index and predicted probabilities, in nats.

    Args:
        name: label in logs.
        dtype: dtype of the mean; the default float type unless given.
        from_logits: whether predictions are logits and no probabilities.
        ignore_class: index of a class whose samples count as 0, such as -1 or 255.
        axis: the axis of the classes.
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(
            sparse_categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )
