"""Attention from queries to values: dot products, and additive scores."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.layers.attention_masks import causal_mask
from tfkit.src.layers.checks import check, check_rate
from tfkit.src.ops.attention import attend
from tfkit.src.weights import random


class Attention(Layer):
    """Dot-product attention: means of values, weighted by `softmax(query @ transpose(key))`.

    With `score_mode="concat"`, the score of a query and a key is
    `w * sum(tanh(scale * (query + key)))`, with a trained scalar `w`.

    Args:
        use_scale: whether the scores are multiplied by a trained scalar, which starts as 1.
            Default: `False`.
        score_mode: `"dot"` for products of query and key, or `"concat"` for sums of
            `tanh(query + key)`. Default: `"dot"`.
        dropout: share of the attention weights that is dropped while training, from 0 to 1.
            Default: `0.0`.
        seed: integer that determines the dropped entries; `None` for a seed that is drawn when the layer
            is made.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: list of query, value and, unless it is the value, key.
        mask: list of the masks of query and value, booleans `(batch, T)` and `(batch, S)`; `None`
            for either or both. Outputs of masked queries are 0; masked values have weight 0.
        training: whether to drop weights.
        return_attention_scores: whether to return the attention weights as well.
        use_causal_mask: whether a query sees only the steps up to its own.

    Input shape: A list of query `(batch, T, dim)`, value `(batch, S, dim)` and, optionally, key
    `(batch, S, dim)`.

    Output shape: `(batch, T, dim)`. With `return_attention_scores`, a tuple of this and the
    weights, `(batch, T, S)`.

    Raises:
        ValueError: if `score_mode` is unknown, if `dropout` is not between 0 and 1, or if inputs or
            masks are not lists of two or three.

    Reference:
        Luong et al., "Effective approaches to attention-based neural machine translation", 2015.

    Example:
        >>> query, value = tf.zeros((1, 1, 2)), tf.constant([[[1.0, 2.0], [3.0, 4.0]]])
        >>> Attention()([query, value]).numpy().tolist()
        [[[2.0, 3.0]]]
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        check_rate(self, dropout=dropout)
        holds = score_mode in ("dot", "concat")
        check(self, holds, "score_mode", "'dot' or 'concat'", score_mode)
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.score_mode = score_mode
        self.dropout = dropout
        self.seed = seed
        if dropout > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Makes the trained factors, which are scalars."""
        self._check(input_shape, None)
        self.scale = self.concat_score_weight = None
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(
                name="concat_score_weight", shape=(), initializer="ones"
            )

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """Returns the weighted means, `(batch, T, dim)`."""
        self._check(inputs, mask)
        # Without keys, the values are the keys.
        query, value, key = (*inputs, inputs[1])[:3]
        query_mask, value_mask = (None, None) if mask is None else mask[:2]
        scores = self._calculate_scores(query=query, key=key)
        visible = self._calculate_score_mask(scores, value_mask, use_causal_mask)
        outputs, weights = self._apply_scores(
            scores=scores, value=value, scores_mask=visible, training=training
        )
        # Steps of the query that do not count get 0.
        if query_mask is not None:
            present = tf.expand_dims(tf.cast(query_mask, "bool"), -1)
            outputs = tf.where(present, outputs, tf.zeros_like(outputs))
        return (outputs, weights) if return_attention_scores else outputs

    # Subclasses may override these three methods: they have the names and arguments of Keras's.

    def _calculate_scores(self, query: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
        """Returns the similarity of each query and each key, `(batch, T, S)`."""
        if self.score_mode == "dot":
            scores = tf.matmul(query, key, transpose_b=True)
            return scores if self.scale is None else scores * self.scale
        # (batch, T, 1, dim) + (batch, 1, S, dim)
        sums = query[:, :, tf.newaxis] + key[:, tf.newaxis]
        sums = sums if self.scale is None else sums * self.scale
        return self.concat_score_weight * tf.reduce_sum(tf.tanh(sums), axis=-1)

    def _calculate_score_mask(self, scores: tf.Tensor, v_mask: Any, use_causal_mask: bool) -> Any:
        """Returns which values each query may see, `(batch or 1, T or 1, S)`; `None` for all."""
        visible = None if v_mask is None else tf.cast(v_mask, "bool")[:, tf.newaxis]
        if not use_causal_mask:
            return visible
        causal = causal_mask(tf.shape(scores)[-2], tf.shape(scores)[-1])
        return causal if visible is None else visible & causal

    def _apply_scores(
        self, scores: tf.Tensor, value: tf.Tensor, scores_mask: Any = None, training: Any = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the means of the values, `(batch, T, dim)`, and their weights, `(batch, T, S)`."""
        if scores_mask is not None:
            if scores_mask.shape.rank == 2:
                scores_mask = scores_mask[:, tf.newaxis]
            # A low number instead of a difference, which large scores would survive.
            scores = tf.where(scores_mask, scores, tf.cast(scores.dtype.min, scores.dtype))

        def weigh(scores: tf.Tensor) -> tf.Tensor:
            weights = tf.nn.softmax(scores)
            if scores_mask is not None:
                # A query that sees nothing would get the mean of all values.
                weights = tf.where(scores_mask, weights, tf.zeros_like(weights))
            if training and self.dropout > 0:
                return random.dropout(weights, self.dropout, seed=self.seed_generator)
            return weights

        return attend(scores, value, softmax=weigh)

    def _check(self, inputs: Any, mask: Any) -> None:
        holds = isinstance(inputs, (list, tuple)) and len(inputs) in (2, 3)
        if not holds or any(isinstance(each, (int, type(None))) for each in inputs):
            raise ValueError(
                f"Layer {self._tfkit.title} must be called on a list of length 2 or 3: [query, value] or "
                f"[query, value, key]. Received: inputs={inputs!r}"
            )
        if mask is not None and (not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3)):
            raise ValueError(
                f"Layer {self._tfkit.title} expects a list of 2 or 3 masks: [query_mask, value_mask]. "
                f"Received: mask={mask!r}"
            )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the mask of the query."""
        return None if mask is None else mask[0]


class AdditiveAttention(Attention):
    """Additive attention: means of values, weighted by `softmax(sum(scale * tanh(query + key)))`.

    Args:
        use_scale: whether `scale` is a trained vector of the size of the features; otherwise it is
            1. Default: `True`.
        dropout: share of the attention weights that is dropped while training, from 0 to 1.
            Default: `0.0`.
        **kwargs: `seed`, as in `Attention`; options of every layer, which `Layer` describes:
            `name`, `trainable`, `dtype`, `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: list of query, value and, unless it is the value, key.
        mask: list of the masks of query and value, booleans `(batch, T)` and `(batch, S)`; `None`
            for either or both. Outputs of masked queries are 0; masked values have weight 0.
        training: whether to drop weights.
        return_attention_scores: whether to return the attention weights as well.
        use_causal_mask: whether a query sees only the steps up to its own.

    Input shape: A list of query `(batch, T, dim)`, value `(batch, S, dim)` and, optionally, key
    `(batch, S, dim)`.

    Output shape: `(batch, T, dim)`. With `return_attention_scores`, a tuple of this and the
    weights, `(batch, T, S)`.

    Raises:
        ValueError: if `score_mode` is unknown, if `dropout` is not between 0 and 1, or if inputs or
            masks are not lists of two or three.

    Reference:
        Bahdanau et al., "Neural machine translation by jointly learning to align and translate",
            2014.

    Example:
        >>> query, value = tf.zeros((1, 1, 2)), tf.constant([[[1.0, 2.0], [3.0, 4.0]]])
        >>> AdditiveAttention(use_scale=False)([query, value]).shape
        TensorShape([1, 1, 2])
    """

    def __init__(
        self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Makes `scale`, of the size of the features."""
        self._check(input_shape, None)
        self.scale = None
        if self.use_scale:
            self.scale = self.add_weight(
                name="scale", shape=(input_shape[0][-1],), initializer="glorot_uniform"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "seed": self.seed}

    def _calculate_scores(self, query: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
        terms = tf.tanh(query[:, :, tf.newaxis] + key[:, tf.newaxis])
        return tf.reduce_sum(terms if self.scale is None else self.scale * terms, axis=-1)
