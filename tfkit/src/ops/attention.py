"""Attention by scaled dot products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.ops import attention_products
from tfkit.src.ops.promotion import promote_tensors, to_dtype, to_float32
from tfkit.src.symbolic.tensors import symbolic_op


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
    """Returns `softmax(query key^T * scale + bias) value`, for each head.

    Args:
        query: a tensor of shape `(batch, targets, heads, size)`.
        key: a tensor of shape `(batch, sources, key heads, size)`. Where there are fewer key
            heads, groups of heads share one.
        value: a tensor of shape `(batch, sources, key heads, size)`.
        bias: tensor to add to the logits, which broadcasts to
            `(batch, heads, targets, sources)`; `None` for nothing.
        mask: true where attention is allowed, a bool tensor that broadcasts to that shape; `None`
            for everywhere.
        scale: factor of the logits; `None` for `1 / sqrt(size)`.
        is_causal: whether a target attends to no later source. Default: `False`.
        flash_attention: not supported: TensorFlow has no such kernel. `None` and `False` are
            accepted.
        attn_logits_soft_cap: limit of the absolute value of the logits, kept by
            `cap * tanh(logits / cap)`; `None` for no limit.

    Returns:
        A tensor of shape `(batch, targets, heads, size)` and of the common dtype of the three;
        logits and softmax are of float32 at least.

    Raises:
        ValueError: for other ranks, for heads that do not divide into groups, and for
            `flash_attention=True`.

    Reference:
        Vaswani et al., "Attention is all you need", 2017.

    Example:
        >>> query, key = tf.zeros((1, 2, 1, 4)), tf.zeros((1, 3, 1, 4))
        >>> value = tf.reshape(tf.constant([0.0, 3.0, 9.0]), (1, 3, 1, 1))
        >>> ops.dot_product_attention(query, key, value).numpy().round(4).ravel().tolist()
        [4.0, 4.0]
        >>> ops.dot_product_attention(query, key, value, is_causal=True).numpy().ravel().tolist()
        [0.0, 1.5]
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
        # Grouped queries: several heads of queries share a head of keys.
        key, value = (tf.repeat(x, heads // key_heads, axis=2) for x in (key, value))
    logits = to_float32(attention_products.scores(query, key))  # (batch, heads, T, S)
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
        # (T, S): the lower triangle
        earlier = tf.linalg.band_part(tf.ones(shape[2:], tf.bool), -1, 0)
        allowed = earlier if allowed is None else tf.logical_and(allowed, earlier)
    if allowed is not None:
        # 0.7 of the lowest float32, as in Keras: minus infinity would make a row without an
        # allowed step NaN.
        logits = tf.where(allowed, logits, tf.cast(-0.7 * 3.38953e38, logits.dtype))
    outputs, _ = attend(
        logits,
        value,
        softmax=lambda logits: tf.cast(tf.nn.softmax(logits), dtype),
        means=attention_products.weighted_means,
    )
    return outputs


def attend(
    scores: tf.Tensor,
    value: tf.Tensor,
    *,
    softmax: Callable[[tf.Tensor], tf.Tensor] = tf.nn.softmax,
    dropout: Callable[[tf.Tensor], tf.Tensor] | None = None,
    means: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] = tf.matmul,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `dropout(softmax(scores)) @ value` and `softmax(scores)`, which all forms of attention share.

    Args:
        scores: the similarity of each query and each key, `(..., T, S)`.
        value: the values, `(..., S, dim)`; for other orders of axes, pass `means`.
        softmax: function from scores to weights.
        dropout: function that drops weights; `None` to keep all.
        means: product of weights and values.
    """
    weights = softmax(scores)
    return means(weights if dropout is None else dropout(weights), value), weights
