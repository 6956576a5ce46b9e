"""Attention in which groups of heads share their keys and values."""

from __future__ import annotations

import math
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import RegularizedOptions
from tfkit.src.layers.activation import Softmax
from tfkit.src.layers.attention_heads import AttentionWithHeads
from tfkit.src.layers.attention_masks import with_causal
from tfkit.src.layers.attention_projection import projection
from tfkit.src.layers.checks import check, check_positive_integer
from tfkit.src.layers.einsum_dense import EinsumDense
from tfkit.src.layers.regularization import Dropout
from tfkit.src.ops import attention_products


class GroupQueryAttention(AttentionWithHeads):
    """Attention in several learned subspaces ("heads"), groups of which share keys and values.

    Each query head computes `softmax(q @ transpose(k) / sqrt(head_dim)) @ v`, where `k` and `v`
    belong to its group: there are `num_query_heads / num_key_value_heads` heads in a group. With as
    many heads of both kinds it is `MultiHeadAttention`; with one key and value head it is
    multi-query attention. The concatenated results of the heads are projected to the outputs.

    Args:
        head_dim: positive integer, the size of a head's queries, keys and values.
        num_query_heads: positive integer, the number of query heads.
        num_key_value_heads: positive integer, the number of key and value heads, which divides
            `num_query_heads`.
        dropout: share of the attention weights that is dropped while training, from 0 to 1.
            Default: `0.0`.
        use_bias: whether the projections add a trained bias. Default: `True`.
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
        use_gate: whether the result is multiplied by a sigmoid of a second projection of the query.
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

    Input shape: `(batch, T, dim)` for the query, and `(batch, S, ...)` for value and key.

    Output shape: `(batch, T, dim)`. With `return_attention_scores`, a tuple of this and the
    weights, `(batch, num_query_heads, T, S)`.

    Raises:
        ValueError: if a number is not a positive integer, if the query heads do not divide into
            groups, if `dropout` is not between 0 and 1, or if the inputs do not have three axes.

    Reference:
        Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
            checkpoints", 2023.

    Example:
        >>> layer = GroupQueryAttention(head_dim=4, num_query_heads=6, num_key_value_heads=2)
        >>> x = tf.ones((1, 5, 8))
        >>> outputs, weights = layer(x, x, use_causal_mask=True, return_attention_scores=True)
        >>> outputs.shape, weights.shape
        (TensorShape([1, 5, 8]), TensorShape([1, 6, 5, 5]))
    """

    _tfkit_omitted_from_config = {"flash_attention": None}

    def __init__(
        self,
        head_dim: int,
        num_query_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
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
        check_positive_integer(
            self,
            head_dim=head_dim,
            num_query_heads=num_query_heads,
            num_key_value_heads=num_key_value_heads,
        )
        holds = num_query_heads % num_key_value_heads == 0
        expected = f"a multiple of num_key_value_heads={num_key_value_heads}"
        check(self, holds, "num_query_heads", expected, num_query_heads)
        super().__init__(**kwargs)
        self.head_dim = head_dim
        self.num_query_heads = num_query_heads
        self.num_key_value_heads = num_key_value_heads
        self._take_shared_options(locals())

    @property
    def num_repeats(self) -> int:
        """The number of query heads in a group."""
        return self.num_query_heads // self.num_key_value_heads

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:
        """Makes the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        self._check_shapes(query_shape, value_shape, key_shape)
        query_heads, heads = self.num_query_heads, self.num_key_value_heads
        self._query_dense = self._projection("query", query_shape, query_heads)
        self._key_dense = self._projection("key", key_shape, heads)
        self._gate_dense = None
        if self.use_gate:
            self._gate_dense = self._projection("gate", query_shape, query_heads, "sigmoid")
        self._value_dense = self._projection("value", value_shape, heads)
        self._softmax = Softmax(axis=-1, dtype=self.dtype_policy)
        self._dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, seed=self.seed)
        self.dim = query_shape[-1]
        heads_shape = (*query_shape[:2], query_heads, self.head_dim)
        self._output_dense = projection(
            self,
            "_output_dense",
            "attention_output",
            heads_shape,
            "abcd,cde->abe",
            (None, self.dim),
        )

    def _projection(self, name: str, shape: Any, heads: int, activation: Any = None) -> EinsumDense:
        """Returns a dense layer from features to heads: `(batch, steps, heads, head_dim)`."""
        sizes = (None, heads, self.head_dim)
        attribute, equation = f"_{name}_dense", "abc,cde->abde"
        return projection(self, attribute, name, shape, equation, sizes, activation=activation)

    def _check_shapes(self, query_shape: Any, value_shape: Any, key_shape: Any) -> None:
        ranks = {len(shape) for shape in (query_shape, value_shape, key_shape)}
        if ranks != {3} or value_shape[1] != key_shape[1]:
            raise ValueError(
                f"Layer {self._tfkit.title} expects a query `(batch, T, dim)`, a value and a key "
                "`(batch, S, ...)`, whose numbers of steps must be equal. Received: "
                f"query_shape={tuple(query_shape)}, value_shape={tuple(value_shape)}, "
                f"key_shape={tuple(key_shape)}"
            )

    def _attended(
        self,
        query: tf.Tensor,
        key: tf.Tensor,
        value: tf.Tensor,
        mask: Any,
        training: Any,
        return_attention_scores: bool,
    ) -> tuple[Any, Any]:
        # Shape (batch, S, query heads, dim): each head is repeated for its group.
        key, value = (tf.repeat(it, self.num_repeats, axis=2) for it in (key, value))
        # Keras does not pass it on to the method. Here it decides what a query gets that sees no step.
        is_own = type(self)._compute_attention is GroupQueryAttention._compute_attention
        options = {"return_attention_scores": return_attention_scores} if is_own else {}
        return self._compute_attention(
            query, key, value, attention_mask=mask, training=training, **options
        )

    # Subclasses may override these methods: they have the names and arguments of Keras's.

    def _compute_attention(
        self,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any = None,
        training: Any = None,
        use_causal_mask: bool = False,
        *,
        return_attention_scores: bool = False,
    ) -> tuple[Any, Any]:
        """Returns the means of the values, `(batch, T, heads, dim)`, and their weights.

        Args:
            query: projected queries, `(batch, T, heads, dim)`.
            key: projected keys, `(batch, S, heads, dim)`: one for each query head.
            value: projected values, `(batch, S, heads, dim)`.
            attention_mask: which steps each query may see, `(batch, T, S)`; `None` for all.
            training: whether to drop weights.
            use_causal_mask: whether a query sees only the steps up to its own, apart from the mask;
                `call` includes that in the mask.
            return_attention_scores: whether the caller returns the weights.
        """
        if use_causal_mask:
            attention_mask = with_causal(attention_mask, query, value)
        scores = attention_products.scores(query * (1.0 / math.sqrt(self.head_dim)), key)
        return self._means_of(scores, value, attention_mask, training, return_attention_scores)
