"""Attention from queries to values: dot products, additive scores, multiple heads."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.layer_options import LayerOptions, RegularizedOptions
from tfkit.src.core.layer import Layer
from tfkit.src.layers.activation import Softmax
from tfkit.src.layers.attention_projection import alias, projection
from tfkit.src.layers.checks import check, check_positive_integer, check_rate, is_integer
from tfkit.src.layers.einsum_dense import EinsumDense
from tfkit.src.layers.regularization import Dropout
from tfkit.src.ops import attention_products
from tfkit.src.weights import constraints, random, regularizers
from tfkit.src.weights.initializers import lookup as initializers


def _causal_mask(queries: Any, keys: Any) -> tf.Tensor:
    """Returns which of `keys` steps each of `queries` steps may see: those up to its own; `(1, T, S)`."""
    return tf.range(queries)[tf.newaxis, :, tf.newaxis] >= tf.range(keys)


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
        query, value, key = (*inputs, inputs[1])[:3]
        query_mask, value_mask = (None, None) if mask is None else mask[:2]
        scores = self._calculate_scores(query=query, key=key)
        visible = self._calculate_score_mask(scores, value_mask, use_causal_mask)
        outputs, weights = self._apply_scores(
            scores=scores, value=value, scores_mask=visible, training=training
        )
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
        sums = query[:, :, tf.newaxis] + key[:, tf.newaxis]
        sums = sums if self.scale is None else sums * self.scale
        return self.concat_score_weight * tf.reduce_sum(tf.tanh(sums), axis=-1)

    def _calculate_score_mask(self, scores: tf.Tensor, v_mask: Any, use_causal_mask: bool) -> Any:
        """Returns which values each query may see, `(batch or 1, T or 1, S)`; `None` for all."""
        visible = None if v_mask is None else tf.cast(v_mask, "bool")[:, tf.newaxis]
        if not use_causal_mask:
            return visible
        causal = _causal_mask(tf.shape(scores)[-2], tf.shape(scores)[-1])
        return causal if visible is None else visible & causal

    def _apply_scores(
        self, scores: tf.Tensor, value: tf.Tensor, scores_mask: Any = None, training: Any = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the means of the values, `(batch, T, dim)`, and their weights, `(batch, T, S)`."""
        if scores_mask is not None:
            if scores_mask.shape.rank == 2:
                scores_mask = scores_mask[:, tf.newaxis]
            highest = tf.cast(65504.0 if scores.dtype == tf.float16 else 1e9, scores.dtype)
            scores = tf.where(scores_mask, scores, scores - highest)
        weights = tf.nn.softmax(scores)
        if training and self.dropout > 0:
            weights = random.dropout(weights, self.dropout, seed=self.seed_generator)
        return tf.matmul(weights, value), weights

    def _check(self, inputs: Any, mask: Any) -> None:
        holds = isinstance(inputs, (list, tuple)) and len(inputs) in (2, 3)
        if not holds or any(isinstance(each, (int, type(None))) for each in inputs):
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) must be called on a list "
                f"of length 2 or 3: [query, value] or [query, value, key]. Received: inputs={inputs!r}"
            )
        if mask is not None and (not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3)):
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) takes a list of 2 or 3 "
                f"masks: [query_mask, value_mask]. Received: mask={mask!r}"
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


class MultiHeadAttention(Layer):
    """Attention in several learned subspaces ("heads") at once.

    Each head computes `softmax(q @ transpose(k) / sqrt(key_dim)) @ v`, where `q`, `k` and `v` are
    linear projections of query, key and value. The heads' results side by side are projected to the
    outputs.

    Args:
        num_heads: positive integer, the number of heads.
        key_dim: positive integer, the size of a head's queries and keys.
        value_dim: size of a head's values; `None` for `key_dim`.
        dropout: share of the attention weights that is dropped while training, from 0 to 1.
            Default: `0.0`.
        use_bias: whether the projections add a trained bias. Default: `True`.
        output_shape: size of the output's last axis, or a tuple of sizes; `None` for that of the
            query.
        attention_axes: axis or axes over which to attend; `None` for all between batch and
            features.
        sliding_window: positive integer: a query sees the steps less than this far away, its own
            included; `None` for all.
        flash_attention: not supported; must be `None` or `False`.
        kernel_initializer: initial value of the projections' kernels. Default: `"glorot_uniform"`.
        bias_initializer: initial value of the projections' biases. Default: `"zeros"`.
        kernel_regularizer: penalty on the kernels that is added to the loss; `None` for no penalty.
        bias_regularizer: penalty on the biases; `None` for no penalty.
        activity_regularizer: penalty on the outputs of the projections; `None` for no penalty.
        kernel_constraint: function that projects the kernels after each update; `None` for no
            constraint.
        bias_constraint: function that projects the biases after each update; `None` for no
            constraint.
        use_gate: whether the result is multiplied by a sigmoid of another projection of the query.
            Default: `False`.
        seed: integer that determines the dropped entries; `None` for a seed that is drawn when the layer
            is made.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Call arguments:
        query: the tensor for whose steps values are averaged, `(batch, T, dim)`.
        value: the averaged values, `(batch, S, value_dim)`.
        key: the keys to compare the queries with, `(batch, S, key_dim)`; `None` for `value`.
        query_mask, value_mask, key_mask: booleans of shape `(batch, T)` or `(batch, S)`, `False`
            for steps that are padding; `None` for the masks that the tensors carry.
        attention_mask: booleans that broadcast to `(batch, T, S)`: which steps of the value each
            query may see. `None` for all.
        return_attention_scores: whether to return the attention weights as well.
        training: whether to drop weights.
        use_causal_mask: whether a query sees only the steps up to its own.

    Input shape: `(batch, T, dim)` for the query and `(batch, S, ...)` for value and key; with
    several attention axes in place of `T` and `S`.

    Output shape: `(batch, T, dim)`, or with the last axis of `output_shape`. With
    `return_attention_scores`, a tuple of this and the weights, `(batch, num_heads, T, S)`.

    Raises:
        ValueError: if a number is not a positive integer, if `dropout` is not between 0 and 1, or
            if key and value differ in shape apart from the features.

    Reference:
        Vaswani et al., "Attention is all you need", 2017.

    Example:
        >>> layer = MultiHeadAttention(num_heads=2, key_dim=4)
        >>> x = tf.ones((1, 5, 8))
        >>> outputs, weights = layer(x, x, use_causal_mask=True, return_attention_scores=True)
        >>> outputs.shape, weights.shape
        (TensorShape([1, 5, 8]), TensorShape([1, 2, 5, 5]))
    """

    _tfkit_omitted_from_config = {"flash_attention": None}

    # The names that subclasses written for Keras read and set.
    _num_heads, _key_dim, _value_dim = alias("num_heads"), alias("key_dim"), alias("value_dim")
    _use_bias, _use_gate, _attention_axes = alias("use_bias"), alias("use_gate"), alias("_axes")
    _query_dense, _key_dense = alias("query_dense"), alias("key_dense")
    _value_dense, _output_dense = alias("value_dense"), alias("output_dense")
    _gate_dense, _dropout = alias("gate_dense"), alias("dropout")
    _kernel_initializer, _bias_initializer = alias("kernel_initializer"), alias("bias_initializer")
    _dot_product_equation = alias("_score_equation")

    @property
    def _inverse_sqrt_key_dim(self) -> float:
        return 1.0 / math.sqrt(self.key_dim)

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
        sizes = output_shape if isinstance(output_shape, (list, tuple)) else [output_shape or 1]
        if not all(is_integer(size) for size in sizes):
            raise ValueError(
                "Invalid `output_shape` of layer MultiHeadAttention. Expected None, an integer or a tuple of "
                f"integers. Received: output_shape={output_shape!r}"
            )
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
                f"Layer '{self.path}' (of type {type(self).__name__}) takes keys and values whose "
                "shapes must be equal apart from the features. Received: "
                f"value_shape={tuple(value_shape)}, key_shape={tuple(key_shape)}"
            )
        key_heads, value_heads = (self.num_heads, self.key_dim), (self.num_heads, self.value_dim)
        self.query_dense = self._projection("query_dense", "query", query_shape, 1, key_heads)
        self.key_dense = self._projection("key_dense", "key", key_shape, 1, key_heads)
        self.gate_dense = None
        if self.use_gate:
            self.gate_dense = self._projection(
                "gate_dense", "gate", query_shape, 1, value_heads, activation="sigmoid"
            )
        self.value_dense = self._projection("value_dense", "value", value_shape, 1, value_heads)
        rank = len(query_shape)
        given = range(1, rank - 1) if self.attention_axes is None else self.attention_axes
        self._axes = tuple(axis % rank for axis in given)
        self._score_equation, self._combine_equation = _equations(rank + 1, self._axes)
        self._has_one_axis = rank == 3 and self._axes == (1,)
        score_rank = rank + len(self._axes)
        over_keys = tuple(range(score_rank - len(self._axes), score_rank))
        self._softmax = Softmax(axis=over_keys, dtype=self.dtype_policy)
        self._dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, seed=self.seed)
        heads_shape = (*query_shape[:-1], *value_heads)
        features = tuple(self._output_shape or (query_shape[-1],))
        self.output_dense = self._projection(
            "output_dense", "attention_output", heads_shape, 2, features
        )

    def _projection(
        self,
        attribute: str,
        name: str,
        input_shape: Any,
        num_summed: int,
        features: tuple[int, ...],
        activation: Any = None,
    ) -> EinsumDense:
        """Returns a dense layer from the last `num_summed` axes to `features`."""
        num_kept = len(input_shape) - num_summed
        letters = iter(string.ascii_lowercase)
        kept, summed, made = (
            "".join(next(letters) for _ in range(count))
            for count in (num_kept, num_summed, len(features))
        )
        equation = f"{kept}{summed},{summed}{made}->{kept}{made}"
        output_shape = (*[None] * (num_kept - 1), *features)
        return projection(
            self, attribute, name, input_shape, equation, output_shape, activation=activation
        )

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
        """Returns the attended values, `(batch, T, dim)`."""
        key = value if key is None else key
        mask = self._compute_attention_mask(
            query, value, query_mask, value_mask, key_mask, attention_mask, use_causal_mask
        )
        outputs, weights = self._compute_attention(
            self._query_dense(query),
            self._key_dense(key),
            self._value_dense(value),
            mask,
            training,
            return_attention_scores,
        )
        if self.gate_dense is not None:
            outputs *= self.gate_dense(query)
        outputs = self._output_dense(outputs)
        return (outputs, weights) if return_attention_scores else outputs

    # Subclasses may override these three methods: they have the names and arguments of Keras's.

    def _compute_attention_mask(
        self,
        query: Any,
        value: Any,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """Returns which steps each query may see, `(batch or 1, T, S)`; `None` for all."""
        masks = (query_mask, value_mask, key_mask)
        window = self.sliding_window
        return visible_steps(query, value, masks, use_causal_mask, window, attention_mask)

    def _compute_attention(
        self,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any = None,
        training: Any = None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> tuple[Any, Any]:
        """Returns the means of the values, `(batch, T, ..., heads, dim)`, and their weights.

        Args:
            query: projected queries, `(batch, T, ..., heads, dim)`.
            key: projected keys, `(batch, S, ..., heads, dim)`.
            value: projected values, `(batch, S, ..., heads, dim)`.
            attention_mask: which steps each query may see, `(batch, T, S)`; `None` for all.
            training: whether to drop weights.
            return_attention_scores: whether the caller returns the weights.
            use_causal_mask: whether a query sees only the steps up to its own, apart from the mask;
                `call` includes that in the mask.
        """
        if use_causal_mask:
            attention_mask = with_causal(attention_mask, query, value)
        scores = self._scores(query * self._inverse_sqrt_key_dim, key)
        if not (self.dropout or return_attention_scores or scores.shape.rank != 4):
            scores, attention_mask = hidden(scores, attention_mask), None
        weights = self._masked_softmax(scores, attention_mask)
        weights_used = self._dropout_layer(weights, training=training)
        return self._means(weights_used, value), weights

    def _masked_softmax(self, attention_scores: Any, attention_mask: Any = None) -> Any:
        """Returns the weights of the values, `(batch, ..., heads, T, S)`."""
        mask = for_heads(attention_mask, attention_scores, len(self._axes))
        return self._softmax(attention_scores, mask=mask)

    def _scores(self, queries: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
        """Returns the products of queries and keys, `(batch, ..., heads, T, S)`."""
        if self._has_one_axis:
            return attention_products.scores(queries, keys)
        return tf.einsum(self._score_equation, keys, queries)

    def _means(self, weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        """Returns the means of values with these weights, `(batch, T, ..., heads, dim)`."""
        if self._has_one_axis:
            return attention_products.weighted_means(weights, values)
        return tf.einsum(self._combine_equation, weights, values)


def with_causal(mask: Any, query: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    """Returns a mask of `(batch, T, S)` or `None` in which a query sees no step after its own."""
    causal = _causal_mask(tf.shape(query)[1], tf.shape(value)[1])
    return causal if mask is None else tf.cast(mask, "bool") & causal


def for_heads(mask: Any, scores: tf.Tensor, num_axes: int = 1) -> Any:
    """Returns a mask of `(batch, T, S)` with axes for the heads of `scores`; `None` stays.

    Args:
        mask: the mask; one that has the axes already is not changed.
        scores: `(batch, ..., heads, T, S)`.
        num_axes: number of axes over which to attend.
    """
    if mask is not None:
        for _ in range(scores.shape.rank - mask.shape.rank):
            mask = tf.expand_dims(mask, -2 * num_axes - 1)
    return mask


def hidden(scores: tf.Tensor, mask: Any) -> tf.Tensor:
    """Returns scores that are very low where the mask is false.

    Keras's numbers: with these a query that sees no step gets the mean of all values; with a masked softmax
    it gets 0.
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
        masks: those of query, value and key, `(batch, T)` or `(batch, S)`; `None` for no mask.
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
        parts.append(_causal_mask(queries, keys))
    if sliding_window is not None:
        distance = tf.abs(tf.range(queries)[:, tf.newaxis] - tf.range(keys))
        parts.append((distance < sliding_window)[tf.newaxis])
    if attention_mask is not None:
        attention_mask = tf.cast(attention_mask, "bool")
        steps = tf.TensorShape([query.shape[1], value.shape[1]])
        # Attention over several axes has a mask of more axes.
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
    """Whether sizes are those that are wanted, or 1, or unknown."""
    sizes = zip(reversed(shape), reversed(wanted), strict=False) if shape.rank is not None else ()
    return all(size in (1, None) or other is None or size == other for size, other in sizes)


def _equations(rank: int, axes: tuple[int, ...]) -> tuple[str, str]:
    """Returns the einsum equations for scores and weighted means, for tensors `(batch, ..., heads, dim)`.

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
