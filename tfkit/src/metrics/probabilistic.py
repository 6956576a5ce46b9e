"""Crossentropies and divergences between predicted and true distributions, as metrics."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry.constructors import given
from tfkit.src.losses.binary import binary_crossentropy
from tfkit.src.losses.categorical import categorical_crossentropy, sparse_categorical_crossentropy
from tfkit.src.losses.probabilistic import kl_divergence, poisson
from tfkit.src.metrics.reduction import FunctionMetric, PlainMetric


class KLDivergence(PlainMetric, function=kl_divergence):
    """The mean Kullback-Leibler divergence: `sum(y_true * log(y_true / y_pred))`, in nats.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"kl_divergence"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: probabilities, `(batch, ..., d)`.
        y_pred: probabilities, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Reference:
        Kullback & Leibler, "On information and sufficiency", 1951.

    Example:
        >>> round(float(KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]])), 4)
        0.1438
    """


class Poisson(PlainMetric, function=poisson):
    """The mean of `y_pred - y_true * log(y_pred)` over all samples and entries.

    Up to a term that does not depend on predictions, it is minus the log-likelihood of counts with
    the predicted rates.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"poisson"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: counts, `(batch, ..., d)`.
        y_pred: rates above 0, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(Poisson()([[2.0, 0.0]], [[1.0, 2.0]]).numpy().round(4))
        1.5
    """


class BinaryCrossentropy(FunctionMetric):
    """The mean crossentropy of labels 0 and 1: `-(y * log(p) + (1 - y) * log(1 - p))`, in nats.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"binary_crossentropy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards 0.5, from 0 to 1. Default: `0`.

    Call arguments:
        y_true: labels between 0 and 1, `(batch, ..., d)`.
        y_pred: probabilities, or logits, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> round(float(BinaryCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
        0.6931
    """

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(binary_crossentropy, **given(locals()))


class CategoricalCrossentropy(FunctionMetric):
    """The mean crossentropy of one-hot labels: `-sum(y * log(p))` over the classes, in nats.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"categorical_crossentropy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        label_smoothing: how far labels move towards equal ones, from 0 to 1. Default: `0`.
        axis: integer, the axis of the classes. Default: `-1`.

    Call arguments:
        y_true: one-hot labels, or probabilities, `(batch, ..., classes)`.
        y_pred: probabilities, or logits, `(batch, ..., classes)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> y_true, y_pred = [[0.0, 1.0, 0.0]], [[0.25, 0.5, 0.25]]
        >>> round(float(CategoricalCrossentropy()(y_true, y_pred)), 4)
        0.6931
    """

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ) -> None:
        super().__init__(categorical_crossentropy, **given(locals()))


class SparseCategoricalCrossentropy(FunctionMetric):
    """The mean crossentropy of class ids: `-log(p[y])`, in nats.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"sparse_categorical_crossentropy"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        from_logits: whether predictions are logits, and not probabilities. Default: `False`.
        ignore_class: class id of entries whose crossentropy counts as 0, such as -1 or 255; `None`
            for none.
        axis: integer, the axis of the classes. Default: `-1`.

    Call arguments:
        y_true: class ids, `(batch, ...)` or `(batch, ..., 1)`.
        y_pred: probabilities, or logits, `(batch, ..., classes)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Raises:
        ValueError: if predictions have no such `axis`, or if the shapes of targets and predictions
            do not fit together.

    Example:
        >>> y_true, y_pred = [1, 0], [[0.25, 0.75], [0.75, 0.25]]
        >>> round(float(SparseCategoricalCrossentropy()(y_true, y_pred)), 4)
        0.2877
    """

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(sparse_categorical_crossentropy, **given(locals()))
