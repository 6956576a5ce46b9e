"""Sums and means over all samples: `Sum`, `Mean`, and the mean of a function's values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.tables import kind_of
from tfkit.src.engine import replicas
from tfkit.src.losses.base import Loss
from tfkit.src.losses.missing import without_missing_labels
from tfkit.src.losses.reduction import mask_along
from tfkit.src.losses.tensors import as_tensor, weights_along
from tfkit.src.metrics.base import Metric
from tfkit.src.symbolic import masking


def entry_weights(sample_weight: Any, mask: Any, values: Any, dtype: Any) -> Any:
    """Returns the weights of the entries of `values`, 0 where masked; `None` without weights and mask.

    All metrics use this function, so that weights of each shape mean the same in all of them.

    Args:
        sample_weight: weights of samples, or of entries, or one for all; `None` for 1.
        mask: true where an entry counts; `None` if all do.
        values: the values to weight. The axes of weights and mask are its first ones.
        dtype: dtype of the weights.

    Returns:
        A tensor with the rank of `values` that broadcasts to it, or `None`.

    Raises:
        ValueError: for weights of a shape that does not fit `values`.
    """
    weights = None
    if sample_weight is not None:
        weights = weights_along(as_tensor(sample_weight, dtype, "`sample_weight`"), values)
    if mask is not None:
        included = mask_along(mask, values)
        # A choice and not a product: masked entries do not count, even where their weight is NaN.
        ones = tf.ones([], dtype) if weights is None else weights
        weights = tf.where(included, ones, tf.zeros([], dtype))
    return weights


def weighted(values: Any, weights: Any) -> Any:
    """Returns the product, in which a weight of 0 leaves out NaN and infinite values, too."""
    return values if weights is None else tf.math.multiply_no_nan(values, weights)


def reduce_to_samples(
    values: Any, sample_weight: Any, reduce: Callable[..., Any], dtype: str
) -> tuple[Any, Any]:
    """Returns one weighted value, and one weight, for each sample.

    Args:
        values: shape `(batch, ...)`.
        sample_weight: weights of the samples or of the values, or `None`.
        reduce: `tf.reduce_mean` or `tf.reduce_sum`, applied to all axes but the first.
        dtype: dtype of the results.

    Returns:
        Values of shape `(batch,)`, and weights of shape `(batch,)` or `None`.
    """
    mask = masking.get_mask(values)
    values = tf.cast(values, dtype)
    weights = entry_weights(sample_weight, mask, values, dtype)
    if weights is not None:
        weights = tf.broadcast_to(weights, tf.shape(values))
        values = weighted(values, weights)
        if values.shape.rank > 1:
            # Weights are reduced like the values: a mean over a sample's entries divides by their
            # weights.
            weights = reduce(weights, axis=list(range(1, values.shape.rank)))
    if values.shape.rank > 1:
        values = reduce(values, axis=list(range(1, values.shape.rank)))
    return values, weights


class Sum(Metric):
    """The weighted sum of all values.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"sum"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        values: numbers of any shape.
        sample_weight: weights of the values, or of their first axes; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> float(Sum()([1, 3, 5, 7], sample_weight=[1, 1, 0, 0]))
        4.0
    """

    _tfkit_sums = True

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), tf.zeros, dtype=self.dtype, name="total")

    @shortened
    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Adds `values`, each times its weight."""
        values, _ = reduce_to_samples(values, sample_weight, tf.reduce_sum, self.dtype)
        self.total.assign_add(tf.reduce_sum(values))

    def result(self) -> Any:
        """Returns the sum so far."""
        return tf.identity(self.total)


class Mean(Metric):
    """The weighted mean of all values; 0 before the first one.

    Args:
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"mean"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        values: numbers of any shape.
        sample_weight: weights of the values, or of their first axes; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> metric = Mean()
        >>> metric.update_state([1, 3, 5, 7], sample_weight=[1, 1, 0, 0])
        >>> float(metric.result())
        2.0
    """

    _tfkit_sums = True

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), tf.zeros, dtype=self.dtype, name="total")
        self.count = self.add_variable((), tf.zeros, dtype=self.dtype, name="count")

    @shortened
    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Adds `values`, each with its weight."""
        own = replicas.rows()
        if (
            own is not None
            and sample_weight is None
            and tf.convert_to_tensor(values).shape.rank == 0
        ):
            # A mean over the replica's rows: its weight is their share of the batch.
            sample_weight = own.share(self.dtype)
        values, weights = reduce_to_samples(values, sample_weight, tf.reduce_mean, self.dtype)
        self.total.assign_add(tf.reduce_sum(values))
        count = tf.size(values) if weights is None else tf.reduce_sum(weights)
        self.count.assign_add(tf.cast(count, self.dtype))

    def result(self) -> Any:
        """Returns the mean so far."""
        mean = tf.math.divide_no_nan(self.total, self.count)
        # An infinite weight times a value of 0 is NaN; XLA turns it into 0 where the value was a truth value.
        return tf.where(tf.math.is_inf(self.count), tf.constant(math.nan, mean.dtype), mean)


class MeanMetricWrapper(Mean):
    """The mean of `fn(y_true, y_pred)` over all samples; masked entries of `y_pred` do not count.

    A function that returns fewer axes than the mask has, such as one number for a batch, must leave out
    masked entries itself.

    Args:
        fn: function `(y_true, y_pred, **kwargs)` that returns a value for each sample.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.
        **kwargs: further arguments of `fn`.

    Call arguments:
        y_true: targets, `(batch, ..., d)`.
        y_pred: predictions, `(batch, ..., d)`.
        sample_weight: weights in the mean, `(batch,)` up to `(batch, ...)`; `None` for 1.

    Output shape: A scalar.

    Example:
        >>> def squared_difference(y_true, y_pred):
        ...     return tf.square(y_true - y_pred)
        >>> metric = MeanMetricWrapper(squared_difference)
        >>> float(metric(tf.constant([1.0, 2.0]), tf.constant([1.0, 4.0])))
        2.0
    """

    _tfkit_sums = True

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn = fn
        self._fn_kwargs = kwargs
        if isinstance(fn, Loss) or kind_of(fn) == "losses":
            self._direction = "down"

    @shortened
    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        """Adds the values of the function for a batch."""
        mask = masking.get_mask(y_pred)
        y_true = without_missing_labels(y_true, sample_weight, mask)
        values = self._fn(y_true, y_pred, **self._arguments())
        # A mean of the whole batch, which the function computes, has no masked entries.
        if mask is not None and len(values.shape):
            sample_weight = entry_weights(sample_weight, mask, values, self.dtype)
        super().update_state(values, sample_weight=sample_weight)

    def _arguments(self) -> dict[str, Any]:
        """Returns the further arguments of the function."""
        return self._fn_kwargs

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, including the function."""
        arguments = {"fn": self._fn, **self._arguments()}
        return {**super().get_config(), **serialization.serialize_keras_object(arguments)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a metric with the arguments in `config`."""
        return cls(**serialization.deserialize_keras_object(config))


class FunctionMetric(MeanMetricWrapper):
    """The mean of a function fixed by the class, whose options are attributes and configuration.

    An option that is set later applies from the next update on.
    """

    # Options that Keras's configuration of the metric lacks: in ours only if they are not defaults.
    _not_in_keras_configs: ClassVar[dict[str, Any]] = {}

    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, *args, **kwargs)
        for name, value in self._fn_kwargs.items():
            setattr(self, name, value)

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fn_kwargs}

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        arguments = self._arguments()
        for name, default in self._not_in_keras_configs.items():
            if arguments[name] == default:
                del arguments[name]
        return {"name": self.name, "dtype": self.dtype, **arguments}


class PlainMetric(FunctionMetric):
    """A metric without options: `class MeanSquaredError(PlainMetric, function=mean_squared_error)`."""

    if TYPE_CHECKING:

        def __init__(self, name: str | None = ..., dtype: Any = ...) -> None: ...

    def __init_subclass__(cls, function: Callable[..., Any] | None = None) -> None:
        """Gives a metric of tfkit its constructor, in which the name is the function's by default."""
        super().__init_subclass__()
        if function is None:  # A subclass of a user.
            return

        def __init__(
            self: PlainMetric, name: str | None = function.__name__, dtype: Any = None
        ) -> None:
            FunctionMetric.__init__(self, function, name, dtype)

        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        type.__setattr__(cls, "__init__", __init__)
