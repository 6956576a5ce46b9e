"""Masks of the steps that the queries of an attention layer may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def causal_mask(queries: Any, keys: Any) -> tf.Tensor:
    """Returns which of `keys` steps each of `queries` steps may see: those up to its own; `(1, T, S)`."""
    return tf.range(queries)[tf.newaxis, :, tf.newaxis] >= tf.range(keys)


def with_causal(mask: Any, query: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    """Returns a mask of `(batch, T, S)` or `None` in which a query sees no step after its own."""
    causal = causal_mask(tf.shape(query)[1], tf.shape(value)[1])
    return causal if mask is None else tf.cast(mask, "bool") & causal


def for_heads(mask: Any, scores: tf.Tensor, num_axes: int = 1) -> Any:
    """Returns a mask of `(batch, T, S)` with axes for the heads of `scores`; `None` stays.

    Args:
        mask: the mask; one that has the axes already is not changed.
        scores: `(batch, ..., heads, T, S)`.
        num_axes: number of axes over which to attend.
    """
    if mask is not None:
        for _ in range(len(scores.shape) - len(mask.shape)):
            mask = tf.expand_dims(mask, -2 * num_axes - 1)
    return mask


def hidden(scores: tf.Tensor, mask: Any) -> tf.Tensor:
    """Returns scores that are very low where the mask is false.

    The values are Keras's: with them, a query that sees no step gets the mean of all values; with a masked
    softmax it would get 0.
    """
    if mask is None:
        return scores
    lowest = tf.cast(-3e4 if scores.dtype == tf.float16 else -1e9, scores.dtype)
    return tf.where(tf.cast(for_heads(mask, scores), "bool"), scores, lowest)


def visible_steps(
    query: Any,
    value: Any,
    masks: Sequence[Any],
    use_causal_mask: bool,
    sliding_window: int | None,
    attention_mask: Any = None,
) -> Any:
    """Returns which steps each query may see, `(batch or 1, T, S)`; `None` for all.

    Args:
        query: `(batch, T, ...)`.
        value: `(batch, S, ...)`.
        masks: masks of query, value and key, `(batch, T)` or `(batch, S)`; `None` for no mask.
        use_causal_mask: whether a query sees only the steps up to its own.
        sliding_window: a query sees the steps less than this far away; `None` for all.
        attention_mask: further restrictions of the steps that a query may see; `None` for none.
    """
    query_mask, *value_masks = masks
    parts = []
    if query_mask is not None:
        parts.append(tf.expand_dims(tf.cast(query_mask, "bool"), -1))
    for mask in value_masks:
        if mask is not None:
            parts.append(tf.cast(mask, "bool")[..., tf.newaxis, :])
    queries, keys = tf.shape(query)[1], tf.shape(value)[1]
    if use_causal_mask:
        parts.append(causal_mask(queries, keys))
    if sliding_window is not None:
        # The window extends to both sides.
        distance = tf.abs(tf.range(queries)[:, tf.newaxis] - tf.range(keys))
        parts.append((distance < sliding_window)[tf.newaxis])
    if attention_mask is not None:
        attention_mask = tf.cast(attention_mask, "bool")
        steps = tf.TensorShape([query.shape[1], value.shape[1]])
        # Attention over several axes has a mask with more axes.
        if query.shape.rank == 3 and not _fits(attention_mask.shape[-2:], steps):
            raise ValueError(
                "`attention_mask` must have the steps of the query and of the value as its last axes, "
                f"{tuple(steps)}. Received: attention_mask of shape {tuple(attention_mask.shape)}, query of "
                f"shape {tuple(query.shape)}, value of shape {tuple(value.shape)}"
            )
        if query.shape.rank == 3 and attention_mask.shape.rank == 4:  # One for each head.
            parts = [tf.expand_dims(part, 1) for part in parts]
        parts.insert(0, attention_mask)
    visible = None
    for part in parts:
        visible = part if visible is None else visible & part
    return visible


def _fits(shape: tf.TensorShape, wanted: tf.TensorShape) -> bool:
    """Whether sizes are the expected ones, or 1, or unknown."""
    sizes = zip(reversed(shape), reversed(wanted), strict=False) if shape.rank is not None else ()
    return all(size in (1, None) or other is None or size == other for size, other in sizes)
