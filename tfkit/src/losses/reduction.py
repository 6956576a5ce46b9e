"""Reduces losses per sample to one number: weights, masks, means."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.losses.tensors import as_tensor, squeeze_or_expand_to_same_rank
from tfkit.src.runtime import replicas

_REDUCTIONS = ("sum_over_batch_size", "mean", "sum", "mean_with_sample_weight", "none", None)
_MEANS = ("sum_over_batch_size", "mean")


def standardize_reduction(reduction: str | None) -> str | None:
    """Returns `reduction` after checking it.

    Raises:
        ValueError: for an unknown name.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(
            f"Unknown `reduction`. Expected one of {_REDUCTIONS}. Received: reduction={reduction!r}"
        )
    return reduction


def reduce_weighted_values(
    values: Any,
    sample_weight: Any = None,
    mask: Any = None,
    reduction: str | None = "sum_over_batch_size",
    dtype: Any = None,
) -> tf.Tensor:
    """Returns `values`, weighted, masked and reduced.

    Args:
        values: one loss per sample, or per sample and step.
        sample_weight: weights of the same shape, or of its first axes.
        mask: true where a value counts. Means go over the values that count.
        reduction: `"sum"`; `"sum_over_batch_size"` or `"mean"`, the sum over the number of values;
            `"mean_with_sample_weight"`, the sum over the sum of weights; `"none"` or `None`.
        dtype: float type to compute in; that of `values` where it is `None`.

    Raises:
        ValueError: for an unknown reduction, and for weights that do not fit `values`.
    """
    standardize_reduction(reduction)
    if dtype is None:
        values = tf.convert_to_tensor(values)
    else:
        values = as_tensor(values, dtype, "what the loss function returned,")
    weights = sample_weight
    if weights is not None:
        weights = as_tensor(weights, values.dtype, "`sample_weight`")
    if mask is not None:
        included = as_tensor(tf.cast(mask, "bool"), values.dtype)
        if reduction in _MEANS:
            # The mean divides by the number of all values; scaled like this, it is that of the unmasked ones.
            total = tf.cast(tf.size(included), values.dtype)
            num_included = replicas.weighted(replicas.total(tf.reduce_sum(included)))
            included *= tf.math.divide_no_nan(total, num_included)
        weights = included if weights is None else _times(included, weights)
    if weights is not None:
        values = _times(values, weights)
    return _reduce(values, weights, reduction)


def _times(values: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Returns the product; weights with fewer axes belong to the first axes of `values`."""
    values, weights = squeeze_or_expand_to_same_rank(values, weights)
    rank, missing = values.shape.rank, 0
    if rank and weights.shape.rank is not None:
        missing = rank - weights.shape.rank
        if missing < 0:
            raise ValueError(
                "`sample_weight` has more axes than there are losses to weigh. "
                f"Received: sample_weight of shape {weights.shape}, losses of shape {values.shape}."
            )
    if missing and values.shape[: weights.shape.rank].is_compatible_with(weights.shape):
        # NumPy would match the last axes, which is wrong, and silent if batch and steps have the same size.
        weights = tf.reshape(weights, tf.concat([tf.shape(weights), [1] * missing], 0))
    try:
        tf.broadcast_static_shape(values.shape, weights.shape)
    except ValueError:
        raise ValueError(
            "`sample_weight` must have one weight for each loss, or for each sample. "
            f"Received: sample_weight of shape {weights.shape}, losses of shape {values.shape}."
        ) from None
    return values * weights


def _reduce(values: tf.Tensor, weights: tf.Tensor | None, reduction: str | None) -> tf.Tensor:
    if reduction in (None, "none") or values.shape.rank == 0 or values.shape == (0,):
        return values
    total = tf.reduce_sum(values)
    if reduction == "sum":
        return replicas.unweighted(total)
    if reduction in _MEANS or weights is None:
        count = tf.cast(tf.size(values), total.dtype)
    else:
        count = replicas.weighted(replicas.total(tf.reduce_sum(weights)))
    return scale_loss_for_distribution(tf.math.divide_no_nan(total, count))


def scale_loss_for_distribution(value: tf.Tensor) -> tf.Tensor:
    """Returns a replica's mean as its share of the global mean: gradients of replicas are summed.

    In the steps of a model the mean itself: there, an optimizer weighs gradients by the replica's rows.
    """
    if replicas.rows() is not None:
        return value
    num_replicas = tf.distribute.get_strategy().num_replicas_in_sync
    return value if num_replicas == 1 else value / tf.cast(num_replicas, value.dtype)


def unscale_loss_for_distribution(value: tf.Tensor) -> tf.Tensor:
    """Returns a replica's mean from its share of the global mean."""
    if replicas.rows() is not None:
        return value
    num_replicas = tf.distribute.get_strategy().num_replicas_in_sync
    return value if num_replicas == 1 else value * tf.cast(num_replicas, value.dtype)
