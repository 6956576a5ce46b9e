"""How targets, predictions, masks and sample weights of different ranks are brought together."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import settings


def match_ranks(a: Any, b: Any, expand_rank_1: bool = True) -> tuple[Any, Any]:
    """`a` and `b` with one rank, where a last axis of size 1 is all that tells them apart.

    The last axis is dropped, unless the other one is a vector: then the vector gets a last axis.
    Other ranks are left as they are.
    """
    if a.shape.rank == b.shape.rank + 1 and a.shape[-1] == 1:
        if b.shape.rank == 1 and expand_rank_1:
            return a, tf.expand_dims(b, -1)
        return tf.squeeze(a, -1), b
    if b.shape.rank == a.shape.rank + 1 and b.shape[-1] == 1:
        b, a = match_ranks(b, a, expand_rank_1)
    return a, b


def float_pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Targets and predictions as float tensors of the dtype of the predictions, with one rank."""
    y_pred = tf.convert_to_tensor(y_pred)
    if not y_pred.dtype.is_floating:
        y_pred = tf.cast(y_pred, settings.floatx())
    return match_ranks(tf.cast(y_true, y_pred.dtype), y_pred)


def mask_weights(sample_weight: Any, mask: Any, dtype: str) -> Any:
    """Sample weights with the masked entries at zero; `None` where there are neither."""
    if mask is None:
        return sample_weight
    mask = tf.cast(mask, dtype)
    if sample_weight is None:
        return mask
    mask, sample_weight = match_ranks(mask, tf.cast(sample_weight, dtype))
    return sample_weight * mask
