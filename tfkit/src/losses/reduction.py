"""Reduces losses per sample to one number: weights, masks, means."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.engine import replicas
from tfkit.src.losses.tensors import as_tensor, squeeze_or_expand_to_same_rank, weights_along

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
        mask: true where a value counts. Means are over the values that count. If it has further axes, such
            as steps for one loss per sample, a value counts if any of its entries does: the loss itself
            has left out the others.
        reduction: `"sum"`; `"sum_over_batch_size"` or `"mean"`, the sum over the number of values;
            `"mean_with_sample_weight"`, the sum over the sum of weights; `"none"` or `None`.
        dtype: float type to compute in; `None` for the dtype of `values`.

    Raises:
        ValueError: for an unknown reduction, and for weights that do not fit `values`.
    """
    standardize_reduction(reduction)
    if dtype is None:
        values = tf.convert_to_tensor(values)
    else:
        values = as_tensor(values, dtype, "what the loss function returned,")
    weights, included = None, None
    if mask is not None:
        included = tf.cast(mask_along(mask, values), values.dtype)
    if sample_weight is not None:
        weights = as_tensor(sample_weight, values.dtype, "`sample_weight`")
        values, weights = squeeze_or_expand_to_same_rank(values, weights)
        # Weights are for samples, and may lack the other axes of the values.
        if values.shape.rank:  # A loss that is one number for a batch is weighted by each weight.
            weights = weights_along(weights, values)
    if included is not None:
        included = weights_along(included, values, "mask")
        if reduction in _MEANS:
            # The mean divides by the number of all values; this scale makes it the mean of the unmasked ones.
            total = tf.cast(tf.size(included), values.dtype)
            num_included = replicas.weighted(replicas.total(tf.reduce_sum(included)))
            included *= tf.math.divide_no_nan(total, num_included)
        weights = included if weights is None else included * weights
    if weights is not None:
        values = values * weights
        if reduction == "mean_with_sample_weight":
            # A weight of a sample counts once for each of its values, as in the numerator.
            weights = tf.broadcast_to(weights, tf.shape(values))
    return _reduce(values, weights, reduction)


def mask_along(mask: Any, values: tf.Tensor) -> tf.Tensor:
    """Returns whether each entry of `values` counts, in a form that broadcasts to it.

    Args:
        mask: true where an entry of the predictions counts.
        values: what was computed from them: it has the first axes of the mask, or all of them.
    """
    mask = tf.cast(mask, "bool")
    rank, given = values.shape.rank, mask.shape.rank
    if rank is not None and given is not None and given > rank:
        # A loss over the last axis has fewer axes than its mask: a sample counts if any of its
        # entries does.
        mask = tf.reduce_any(mask, axis=list(range(rank, given)))
    return weights_along(mask, values, "mask")


def _reduce(values: tf.Tensor, weights: tf.Tensor | None, reduction: str | None) -> tf.Tensor:
    # An empty vector stays what it is, as in Keras.
    if reduction in (None, "none") or values.shape.rank == 0 or values.shape == (0,):
        return values
    total = tf.reduce_sum(values)
    if reduction == "sum":
        return replicas.unweighted(total)
    # These means divide by the number of values, whatever they weigh.
    if reduction in _MEANS or weights is None:
        count = tf.cast(tf.size(values), total.dtype)
    else:
        count = replicas.weighted(replicas.total(tf.reduce_sum(weights)))
    # A batch in which nothing counts has the loss 0, and not NaN.
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
