"""The coefficient of determination."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.losses.tensors import squeeze_or_expand_to_same_rank
from tfkit.src.metrics.base import Metric, undone_on_error
from tfkit.src.metrics.reduction import entry_weights, weighted
from tfkit.src.symbolic.masking import get_mask

_AGGREGATIONS = (None, "uniform_average", "variance_weighted_average")


class R2Score(Metric):
    """The coefficient of determination: `1 - sum((y_true - y_pred)**2) / sum((y_true - mean)**2)`.

    `mean` is the mean of the targets. 1 is perfect; 0 is as good as a constant prediction of `mean`.

    Args:
        class_aggregation: `None` for a score for each output, `"uniform_average"` for their mean,
            `"variance_weighted_average"` for their mean weighted by the variance of the targets.
            Default: `"uniform_average"`.
        num_regressors: number of independent variables, for which the score is adjusted; 0 for no
            adjustment. There are as many samples as the sum of their weights. Default: `0`.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name. Default: `"r2_score"`.
        dtype: float dtype to compute in; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, `(batch, outputs)`.
        y_pred: predictions, `(batch, outputs)`.
        sample_weight: weights, `(batch,)` or `(batch, outputs)`; `None` for 1.

    Output shape: A scalar; with `class_aggregation=None`, `(outputs,)`.

    Raises:
        ValueError: if an argument is out of range, or if the data are not of shape
            `(batch, outputs)` with a known number of outputs.

    Example:
        >>> round(float(R2Score()([[1.0], [4.0], [3.0]], [[2.0], [4.0], [4.0]])), 3)
        0.571
    """

    _direction = "up"

    _tfkit_sums = True

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str | None = "r2_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if class_aggregation not in _AGGREGATIONS:
            raise ValueError(
                f"Invalid `class_aggregation`. Expected one of {_AGGREGATIONS}. "
                f"Received: {class_aggregation!r}"
            )
        if num_regressors < 0:
            raise ValueError(
                f"Invalid `num_regressors`. Expected a number >= 0. Received: {num_regressors!r}"
            )
        self.class_aggregation = class_aggregation
        self.num_regressors = num_regressors
        self.num_samples = self.add_variable((), tf.zeros, name="num_samples")
        self._built = False

    def _build(self, y_true_shape: Any, y_pred_shape: Any) -> None:
        for shape in (y_true_shape, y_pred_shape):
            if len(shape) != 2 or shape[-1] is None:
                raise ValueError(
                    "R2Score expects data of shape (samples, outputs) with a known number of "
                    f"outputs. Received: y_true.shape={y_true_shape}, y_pred.shape={y_pred_shape}"
                )
        shape = (y_pred_shape[-1],)
        self.squared_sum = self.add_variable(shape, tf.zeros, name="squared_sum")
        self.sum = self.add_variable(shape, tf.zeros, name="sum")
        self.total_mse = self.add_variable(shape, tf.zeros, name="residual")
        self.count = self.add_variable(shape, tf.zeros, name="count")
        self._built = True

    @shortened
    @undone_on_error
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds the weighted sums of a batch."""
        mask = get_mask(y_pred)
        y_true, y_pred = squeeze_or_expand_to_same_rank(
            tf.cast(y_true, self.dtype), tf.cast(y_pred, self.dtype)
        )
        if not self._built:
            self._build(y_true.shape, y_pred.shape)
        outputs = tf.TensorShape([None, *self.sum.shape])
        if not (
            outputs.is_compatible_with(y_true.shape) and outputs.is_compatible_with(y_pred.shape)
        ):
            raise ValueError(
                f"R2Score '{self.name}' expects data of shape {tuple(outputs)}, as before. Received: "
                f"y_true.shape={y_true.shape}, y_pred.shape={y_pred.shape}"
            )
        weights = entry_weights(sample_weight, mask, y_true, self.dtype)
        counts = (
            tf.ones_like(y_true) if weights is None else tf.broadcast_to(weights, tf.shape(y_true))
        )
        for variable, terms in (
            (self.sum, weighted(y_true, weights)),
            (self.squared_sum, weighted(y_true * y_true, weights)),
            (self.total_mse, weighted(tf.square(y_true - y_pred), weights)),
            (self.count, counts),
        ):
            variable.assign_add(tf.cast(tf.reduce_sum(terms, axis=0), variable.dtype))
        # A sample is a row, whatever the number of outputs, and counts as often as its weight says.
        num_samples = tf.reduce_sum(tf.reduce_mean(counts, axis=1))
        self.num_samples.assign_add(tf.cast(num_samples, self.num_samples.dtype))

    def result(self) -> Any:
        """Returns the score so far: one for each output with `class_aggregation=None`, else a scalar."""
        mean = self.sum / self.count
        # sum((y - mean) ** 2) from running sums, because the mean is known only at the end.
        total = self.squared_sum - self.sum * mean
        score = 1 - self.total_mse / total
        # Constant targets have no variance to explain: the score is 0, or 1 if they are predicted exactly.
        score = tf.where(tf.math.is_inf(score), 0.0, score)
        score = tf.where((self.total_mse == 0) & (self.count > 0), 1.0, score)
        if self.class_aggregation == "uniform_average":
            score = tf.reduce_mean(score)
        elif self.class_aggregation == "variance_weighted_average":
            weighed = tf.reduce_sum(total * score) / tf.reduce_sum(total)
            score = tf.where(tf.reduce_sum(total) == 0, tf.reduce_mean(score), weighed)
        return self._adjusted(score) if self.num_regressors else score

    def _adjusted(self, score: Any) -> Any:
        """Returns `1 - (1 - R2) (n - 1) / (n - p - 1)`; the plain score if n is too small."""
        freedom = self.num_samples - self.num_regressors - 1
        if tf.executing_eagerly() and freedom <= 0:
            warn(
                f"The adjusted R2 score needs more than {self.num_regressors + 1} values for "
                f"num_regressors={self.num_regressors}; giving the plain score. "
                f"Received: {float(self.num_samples):g} values"
            )
        adjusted = 1 - (1 - score) * tf.math.divide_no_nan(self.num_samples - 1, freedom)
        return tf.where(freedom > 0, adjusted, score)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), **attributes(self, "class_aggregation", "num_regressors")}
