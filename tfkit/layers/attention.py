"""Attention of queries to values: dot products, additive scores, several heads."""

from __future__ import annotations

import math
import string
from typing import Any, Unpack

import tensorflow as tf

from tfkit import constraints, initializers, random, regularizers
from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions, RegularizedOptions
from tfkit.layers.activation import Softmax
from tfkit.layers.checks import check, check_positive_integer, check_rate, is_integer
from tfkit.layers.einsum_dense import EinsumDense
from tfkit.layers.regularization import Dropout


def _causal_mask(queries: Any, keys: Any) -> tf.Tensor:
    """Which of `keys` steps each of `queries` steps may see: those up to its own; `(1, T, S)`."""
    return tf.range(queries)[tf.newaxis, :, tf.newaxis] >= tf.range(keys)


class Attention(Layer):
    """Means of values, weighted by the softmax of the products of query and keys.

    Args:
        use_scale: whether the scores are multiplied by a trained factor.
        score_mode: `"dot"`, products of query and key, or `"concat"`, sums of `tanh(query + key)`.
        dropout: share of the weights that is dropped while training.
        seed: integer, or `None` for a seed drawn when the layer is made.

    Call arguments:
        inputs: list of query `(batch, T, dim)`, value `(batch, S, dim)` and, unless it is the value,
            key `(batch, S, dim)`.
        mask: list of masks of query and value, `(batch, T)` and `(batch, S)`, or `None` for either.
        return_attention_scores: whether to give the weights `(batch, T, S)` as well.
        use_causal_mask: whether a query sees only the steps up to its own.
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
        """Makes the trained factors, scalars."""
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
        """The weighted means, `(batch, T, dim)`."""
        self._check(inputs, mask)
        query, value, key = (*inputs, inputs[1])[:3]
        query_mask, value_mask = (None, None) if mask is None else mask[:2]
        scores = self._scores(query, key)
        visible = None if value_mask is None else tf.cast(value_mask, "bool")[:, tf.newaxis]
        if use_causal_mask:
            causal = _causal_mask(tf.shape(scores)[-2], tf.shape(scores)[-1])
            visible = causal if visible is None else visible & causal
        if visible is not None:
            highest = tf.cast(65504.0 if scores.dtype == tf.float16 else 1e9, scores.dtype)
            scores = tf.where(visible, scores, scores - highest)
        weights = tf.nn.softmax(scores)
        if training and self.dropout > 0:
            weights = random.dropout(weights, self.dropout, seed=self.seed_generator)
        outputs = tf.matmul(weights, value)
        if query_mask is not None:
            present = tf.cast(query_mask, "bool")[..., tf.newaxis]
            outputs = tf.where(present, outputs, tf.zeros_like(outputs))
        return (outputs, weights) if return_attention_scores else outputs

    def _scores(self, query: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
        """How much each query has to do with each key, `(batch, T, S)`."""
        if self.score_mode == "dot":
            scores = tf.matmul(query, key, transpose_b=True)
            return scores if self.scale is None else scores * self.scale
        sums = query[:, :, tf.newaxis] + key[:, tf.newaxis]
        sums = sums if self.scale is None else sums * self.scale
        return self.concat_score_weight * tf.reduce_sum(tf.tanh(sums), axis=-1)

    def _check(self, inputs: Any, mask: Any) -> None:
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) must be called on a list: "
                f"[query, value] or [query, value, key]. Received: inputs={inputs!r}"
            )
        if mask is not None and (not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3)):
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) takes a list of masks: "
                f"[query_mask, value_mask]. Received: mask={mask!r}"
            )

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of the query."""
        return None if previous_mask is None else previous_mask[0]


class AdditiveAttention(Attention):
    """Means of values, weighted by the softmax of sums of `scale * tanh(query + key)`.

    Args:
        use_scale: whether `scale` is a trained vector, and not 1.
        dropout: share of the weights that is dropped while training.

    Call arguments: as those of `Attention`.

    Reference:
        Bahdanau et al., "Neural machine translation by jointly learning to align and translate",
        2014.
    """

    def __init__(
        self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Makes `scale`, of the size of the features."""
        self.scale = None
        if self.use_scale:
            self.scale = self.add_weight(
                name="scale", shape=(input_shape[0][-1],), initializer="glorot_uniform"
            )

    def _scores(self, query: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
        terms = tf.tanh(query[:, :, tf.newaxis] + key[:, tf.newaxis])
        return tf.reduce_sum(terms if self.scale is None else self.scale * terms, axis=-1)


class MultiHeadAttention(Layer):
    """Attention in several learned subspaces at once.

    Args:
        num_heads: number of heads.
        key_dim: size of a head's queries and keys.
        value_dim: size of a head's values, `key_dim` unless given.
        dropout: share of the weights that is dropped while training.
        use_bias: whether the projections add a bias.
        output_shape: size or sizes of the output's features, those of the query unless given.
        attention_axes: axes over which to attend, all between batch and features unless given.
        sliding_window: how many steps away a query sees, its own included; `None` for all.
        flash_attention: not supported; `None` or `False`.
        kernel_initializer: first value of the projections' kernels.
        bias_initializer: first value of the projections' biases.
        kernel_regularizer: penalty on the kernels.
        bias_regularizer: penalty on the biases.
        activity_regularizer: penalty on the outputs of the projections.
        kernel_constraint: what the kernels go through after each update.
        bias_constraint: what the biases go through after each update.
        use_gate: whether the result is multiplied by a learned function of the query, 0 to 1.
        seed: seed of the dropout.

    Call arguments:
        query: `(batch, T, dim)`.
        value: `(batch, S, dim)`.
        key: `(batch, S, dim)`, the value unless given.
        query_mask, value_mask, key_mask: which steps are present; those that travel with the tensors
            unless given.
        attention_mask: `(batch, T, S)`, which steps each query may see.
        return_attention_scores: whether to give the weights `(batch, num_heads, T, S)` as well.
        use_causal_mask: whether a query sees only the steps up to its own.

    Reference:
        Vaswani et al., "Attention is all you need", 2017.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: Any = None,
        attention_axes: Any = None,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs: Unpack[RegularizedOptions],
    ) -> None:
        check_positive_integer(self, num_heads=num_heads, key_dim=key_dim)
        check_positive_integer(self, value_dim=key_dim if value_dim is None else value_dim)
        check_positive_integer(self, sliding_window=1 if sliding_window is None else sliding_window)
        check_rate(self, dropout=dropout)
        expected = "None or False: TensorFlow has no flash attention"
        check(self, not flash_attention, "flash_attention", expected, flash_attention)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim or key_dim
        self.dropout = dropout
        self.use_bias = use_bias
        self._output_shape = (output_shape,) if is_integer(output_shape) else output_shape
        self.attention_axes = (attention_axes,) if is_integer(attention_axes) else attention_axes
        self.sliding_window = sliding_window
        self.flash_attention = flash_attention
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        # For the projections, as in Keras; the attribute without underscore would be the layer's own.
        self._projections_regularizer = regularizers.get(activity_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.use_gate = use_gate
        self.seed = seed
        self.supports_masking = True

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:
        """Makes the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        if tuple(value_shape[1:-1]) != tuple(key_shape[1:-1]):
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) takes keys and values of equal "
                "shapes apart from the features. Received: "
                f"value_shape={tuple(value_shape)}, key_shape={tuple(key_shape)}"
            )
        key_heads, value_heads = (self.num_heads, self.key_dim), (self.num_heads, self.value_dim)
        self.query_dense = self._projection("query", query_shape, 1, key_heads)
        self.key_dense = self._projection("key", key_shape, 1, key_heads)
        self.gate_dense = None
        if self.use_gate:
            self.gate_dense = self._projection(
                "gate", query_shape, 1, value_heads, activation="sigmoid"
            )
        self.value_dense = self._projection("value", value_shape, 1, value_heads)
        rank = len(query_shape)
        given = range(1, rank - 1) if self.attention_axes is None else self.attention_axes
        self._axes = tuple(axis % rank for axis in given)
        self._score_equation, self._combine_equation = _equations(rank + 1, self._axes)
        score_rank = rank + len(self._axes)
        over_keys = tuple(range(score_rank - len(self._axes), score_rank))
        self._softmax = Softmax(axis=over_keys, dtype=self.dtype_policy)
        self._dropout = Dropout(self.dropout, dtype=self.dtype_policy, seed=self.seed)
        heads_shape = (*query_shape[:-1], *value_heads)
        features = tuple(self._output_shape or (query_shape[-1],))
        self.output_dense = self._projection("attention_output", heads_shape, 2, features)

    def _projection(
        self,
        name: str,
        input_shape: Any,
        num_summed: int,
        features: tuple[int, ...],
        activation: Any = None,
    ) -> EinsumDense:
        """A dense layer from the last `num_summed` axes to `features`."""
        num_kept = len(input_shape) - num_summed
        letters = iter(string.ascii_lowercase)
        kept, summed, made = (
            "".join(next(letters) for _ in range(count))
            for count in (num_kept, num_summed, len(features))
        )
        layer = EinsumDense(
            f"{kept}{summed},{summed}{made}->{kept}{made}",
            output_shape=(*[None] * (num_kept - 1), *features),
            bias_axes=made if self.use_bias else None,
            activation=activation,
            kernel_initializer=_copy(self.kernel_initializer),
            bias_initializer=_copy(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer,
            bias_regularizer=self.bias_regularizer,
            activity_regularizer=self._projections_regularizer,
            kernel_constraint=self.kernel_constraint,
            bias_constraint=self.bias_constraint,
            name=name,
            dtype=self.dtype_policy,
        )
        layer.supports_masking = True  # A mask of the query or the value does no harm in here.
        layer.build(input_shape)
        return layer

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """The attended values, `(batch, T, dim)`."""
        key = value if key is None else key
        mask = self._mask(query, value, query_mask, value_mask, key_mask, use_causal_mask)
        if attention_mask is not None:
            attention_mask = tf.cast(attention_mask, "bool")
            mask = attention_mask if mask is None else attention_mask & mask
        scale = 1.0 / math.sqrt(self.key_dim)
        scores = tf.einsum(
            self._score_equation, self.key_dense(key), self.query_dense(query) * scale
        )
        if mask is not None:
            for _ in range(scores.shape.rank - mask.shape.rank):
                mask = tf.expand_dims(mask, -2 * len(self._axes) - 1)
            if not (self.dropout or return_attention_scores or scores.shape.rank != 4):
                # Keras's numbers: a query that sees nothing gets the mean of all values here, else 0.
                lowest = tf.cast(-3e4 if scores.dtype == tf.float16 else -1e9, scores.dtype)
                scores, mask = tf.where(mask, scores, lowest), None
        weights = self._softmax(scores, mask=mask)
        outputs = tf.einsum(
            self._combine_equation,
            self._dropout(weights, training=training),
            self.value_dense(value),
        )
        if self.gate_dense is not None:
            outputs *= self.gate_dense(query)
        outputs = self.output_dense(outputs)
        return (outputs, weights) if return_attention_scores else outputs

    def _mask(
        self,
        query: Any,
        value: Any,
        query_mask: Any,
        value_mask: Any,
        key_mask: Any,
        use_causal_mask: bool,
    ) -> Any:
        """Which steps each query may see, `(batch or 1, T, S)`; `None` for all."""
        masks = []
        if query_mask is not None:
            masks.append(tf.cast(query_mask, "bool")[..., tf.newaxis])
        for mask in (value_mask, key_mask):
            if mask is not None:
                masks.append(tf.cast(mask, "bool")[..., tf.newaxis, :])
        queries, keys = tf.shape(query)[1], tf.shape(value)[1]
        if use_causal_mask:
            masks.append(_causal_mask(queries, keys))
        if self.sliding_window is not None:
            distance = tf.abs(tf.range(queries)[:, tf.newaxis] - tf.range(keys))
            masks.append((distance < self.sliding_window)[tf.newaxis])
        visible = None
        for mask in masks:
            visible = mask if visible is None else visible & mask
        return visible


def _copy(initializer: Any) -> Any:
    """An initializer of the same configuration; without a seed it has a new one."""
    if not hasattr(initializer, "get_config"):
        return initializer
    return type(initializer).from_config(initializer.get_config())


def _equations(rank: int, axes: tuple[int, ...]) -> tuple[str, str]:
    """The sums for the scores and for the weighted means, of tensors `(batch, ..., heads, dim)`.

    Args:
        rank: number of axes of the projected queries.
        axes: those over which to attend.
    """
    letters = string.ascii_lowercase
    query = letters[:rank]
    key = "".join(letters[rank + i] if i in axes else query[i] for i in range(rank))
    shared = "".join(query[i] for i in range(rank - 1) if i not in axes)
    scores = shared + "".join(query[i] for i in axes) + "".join(key[i] for i in axes)
    return f"{key},{query}->{scores}", f"{scores},{key}->{query}"
