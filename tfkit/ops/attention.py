"""Attention by scaled dot products."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.ops.promotion import promote_tensors, to_dtype, to_float32
from tfkit.symbolic import symbolic_op


@symbolic_op
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> tf.Tensor:
    """`softmax(query key^T * scale + bias) value`, for each head.

    Args:
        query: `(batch, targets, heads, size)`.
        key: `(batch, sources, key heads, size)`; several heads may share a key head.
        value: `(batch, sources, key heads, size)`.
        bias: added to the logits, broadcast to `(batch, heads, targets, sources)`.
        mask: true where attention is allowed, of the same shape.
        scale: `1 / sqrt(size)` unless given.
        is_causal: whether a target attends to no later source.
        flash_attention: must not be true: TensorFlow has no such kernel.
        attn_logits_soft_cap: logits stay between minus and plus this number, by a `tanh`.

    Raises:
        ValueError: for other ranks, for heads that do not divide into groups, and for
            `flash_attention=True`.

    Reference:
        Vaswani et al., "Attention is all you need", 2017.
    """
    if flash_attention:
        raise ValueError(
            "TensorFlow has no flash attention. Pass `flash_attention=None`. "
            f"Received: flash_attention={flash_attention}"
        )
    query, key, value = promote_tensors(query, key, value)
    if not query.shape.rank == key.shape.rank == value.shape.rank == 4:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. Received: query.shape="
            f"{query.shape}, key.shape={key.shape}, value.shape={value.shape}."
        )
    dtype = query.dtype
    heads, key_heads = query.shape[2], key.shape[2]
    if None not in (heads, key_heads) and heads % key_heads:
        raise ValueError(
            "The heads of `query` must be a multiple of the heads of `key` and `value`. "
            f"Received: query.shape={query.shape}, key.shape={key.shape}"
        )
    if None not in (heads, key_heads) and heads > key_heads:
        key, value = (tf.repeat(x, heads // key_heads, axis=2) for x in (key, value))
    logits = to_float32(tf.einsum("btnh,bsnh->bnts", query, key))
    size = tf.cast(tf.shape(key)[-1], logits.dtype)
    logits *= tf.math.rsqrt(size) if scale is None else to_dtype(scale, logits.dtype)
    if bias is not None:
        logits += tf.cast(bias, logits.dtype)
    if attn_logits_soft_cap is not None:
        cap = tf.cast(attn_logits_soft_cap, logits.dtype)
        logits = cap * tf.tanh(logits / cap)
    allowed = None if mask is None else tf.cast(mask, tf.bool)
    if is_causal:
        shape = tf.shape(logits)
        earlier = tf.linalg.band_part(tf.ones(shape[2:], tf.bool), -1, 0)
        allowed = earlier if allowed is None else tf.logical_and(allowed, earlier)
    if allowed is not None:
        logits = tf.where(allowed, logits, tf.cast(-0.7 * 3.38953e38, logits.dtype))
    weights = tf.cast(tf.nn.softmax(logits), dtype)
    return tf.einsum("bnts,bsnh->btnh", weights, value)
