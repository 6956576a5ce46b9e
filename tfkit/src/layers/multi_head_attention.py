"""Attention in several learned subspaces."""

from __future__ import annotations

import math
import string
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import RegularizedOptions
from tfkit.src.layers.activation import Softmax
from tfkit.src.layers.attention_heads import AttentionWithHeads
from tfkit.src.layers.attention_masks import for_heads, with_causal
from tfkit.src.layers.attention_projection import (
    alias,
    projection,
    projection_equation,
    projection_options,
)
from tfkit.src.layers.checks import check_positive_integer, is_integer
from tfkit.src.layers.einsum_dense import EinsumDense
from tfkit.src.layers.regularization import Dropout
from tfkit.src.ops import attention_products


class MultiHeadAttention(AttentionWithHeads):
    """Attention in several learned subspaces ("heads") at once.

    Each head computes `softmax(q @ transpose(k) / sqrt(key_dim)) @ v`, where `q`, `k` and `v` are
    linear projections of query, key and value. The concatenated results of the heads are projected to the
    outputs.

    Args:
        num_heads: positive integer, the number of heads.
        key_dim: positive integer, the size of a head's queries and keys.
        value_dim: size of a head's values; `None` for `key_dim`.
        dropout: share of the attention weights that is dropped while training, from 0 to 1.
            Default: `0.0`.
        use_bias: whether the projections add a trained bias. Default: `True`.
        output_shape: size of the output's last axis, or a tuple of sizes; `None` for the size of the
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
    _kernel_regularizer, _bias_regularizer = alias("kernel_regularizer"), alias("bias_regularizer")
    _kernel_constraint, _bias_constraint = alias("kernel_constraint"), alias("bias_constraint")
    _activity_regularizer = alias("_projections_regularizer")
    _dot_product_equation, _flash_attention = alias("_score_equation"), alias("flash_attention")

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
        self._inverse_sqrt_key_dim = 1.0 / math.sqrt(key_dim)
        self._output_shape = (output_shape,) if is_integer(output_shape) else output_shape
        self.attention_axes = (attention_axes,) if is_integer(attention_axes) else attention_axes
        self._axes = self.attention_axes  # Until `build`.
        self._take_shared_options(locals())

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:
        """Makes the projections."""
        key_shape = self._checked_key_shape(value_shape, key_shape)
        key_heads, value_heads = (self.num_heads, self.key_dim), (self.num_heads, self.value_dim)
        self.query_dense = self._projection("query_dense", "query", query_shape, 1, key_heads)
        self.key_dense = self._projection("key_dense", "key", key_shape, 1, key_heads)
        self.gate_dense = None
        if self.use_gate:
            self.gate_dense = self._projection(
                "gate_dense", "gate", query_shape, 1, value_heads, activation="sigmoid"
            )
        self.value_dense = self._projection("value_dense", "value", value_shape, 1, value_heads)
        self._build_attention(len(query_shape) + 1)
        heads_shape = (*query_shape[:-1], *value_heads)
        features = tuple(self._output_shape or (query_shape[-1],))
        self.output_dense = self._projection(
            "output_dense", "attention_output", heads_shape, 2, features
        )

    def compute_output_shape(
        self, query_shape: Any, value_shape: Any, key_shape: Any = None
    ) -> tuple[int | None, ...]:
        """Returns the shape of the outputs, without the attention weights.

        It does not call the layer: a subclass may pass shapes with which its own `call` would fail.
        """
        self._checked_key_shape(value_shape, key_shape)
        return (*query_shape[:-1], *(self._output_shape or (query_shape[-1],)))

    def _checked_key_shape(self, value_shape: Any, key_shape: Any) -> Any:
        key_shape = value_shape if key_shape is None else key_shape
        if tuple(value_shape[1:-1]) != tuple(key_shape[1:-1]):
            raise ValueError(
                f"Layer {self._tfkit.title} expects keys and values whose shapes must be equal apart from "
                f"the features. Received: value_shape={tuple(value_shape)}, key_shape={tuple(key_shape)}"
            )
        return key_shape

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
        equation = projection_equation(num_kept, num_summed, len(features))
        output_shape = (*[None] * (num_kept - 1), *features)
        return projection(
            self, attribute, name, input_shape, equation, output_shape, activation=activation
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
        return self._compute_attention(query, key, value, mask, training, return_attention_scores)

    # Subclasses may override or call these methods: they have the names and arguments of Keras's.

    def _build_attention(self, rank: int) -> None:
        """Prepares the attention itself, for projections of `rank` axes: the inputs', and one of heads."""
        given = range(1, rank - 2) if self.attention_axes is None else self.attention_axes
        self._axes = tuple(axis % (rank - 1) for axis in given)
        self._score_equation, self._combine_equation = attention_equations(rank, self._axes)
        self._has_one_axis = rank == 4 and self._axes == (1,)
        # Axes of scores: the batch, those without attention, the heads, queries, keys.
        score_rank = rank - 1 + len(self._axes)
        over_keys = tuple(range(score_rank - len(self._axes), score_rank))
        self._softmax = Softmax(axis=over_keys, dtype=self.dtype_policy)
        self._dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, seed=self.seed)

    def _get_common_kwargs_for_sublayer(self) -> dict[str, Any]:
        """Returns the options of the dense layers inside."""
        return projection_options(self)

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
        # As in Keras, the queries are scaled, and not the scores.
        scores = self._scores(query * self._inverse_sqrt_key_dim, key)
        return self._means_of(scores, value, attention_mask, training, return_attention_scores)

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


def attention_equations(rank: int, axes: tuple[int, ...]) -> tuple[str, str]:
    """Returns the einsum equations for scores and weighted means, for tensors `(batch, ..., heads, dim)`.

    Args:
        rank: number of axes of the projected queries.
        axes: those over which to attend.
    """
    # A key has letters of its own along the axes of attention, and shares the others.
    query, others = string.ascii_lowercase[:rank], iter(string.ascii_lowercase[rank:])
    key = "".join(next(others) if axis in axes else query[axis] for axis in range(rank))
    shared = "".join(query[axis] for axis in range(rank - 1) if axis not in axes)
    scores = shared + "".join(query[i] for i in axes) + "".join(key[i] for i in axes)
    return f"{key},{query}->{scores}", f"{scores},{key}->{query}"
