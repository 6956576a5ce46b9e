"""The common part of attention layers with heads: from projected queries, keys and values to outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.layers.activation import Softmax
from tfkit.src.layers.attention_masks import for_heads, hidden, visible_steps
from tfkit.src.layers.checks import check, check_positive_integer, check_rate
from tfkit.src.layers.parameters import WithBias, WithKernel, take_options
from tfkit.src.ops.attention import attend
from tfkit.src.ops.attention_products import weighted_means
from tfkit.src.weights import regularizers


class AttentionWithHeads(Layer, WithBias, WithKernel):
    """The base of `MultiHeadAttention` and `GroupQueryAttention`.

    They make the projections in `build`, and compute the scores in `_compute_attention`.
    """

    dropout: float
    use_bias: bool
    sliding_window: int | None
    use_gate: bool
    seed: int | None
    _projections_regularizer: Any
    _query_dense: Any
    _key_dense: Any
    _value_dense: Any
    _gate_dense: Any
    _output_dense: Any
    _softmax: Softmax
    _dropout_layer: Any

    def _take_shared_options(self, arguments: Mapping[str, Any]) -> None:
        """Sets the options that both layers have, from the constructor's `locals()`."""
        window, flash = arguments["sliding_window"], arguments["flash_attention"]
        check_rate(self, dropout=arguments["dropout"])
        check_positive_integer(self, sliding_window=1 if window is None else window)
        expected = "None or False: TensorFlow has no flash attention"
        check(self, not flash, "flash_attention", expected, flash)
        for name in (
            "dropout",
            "use_bias",
            "sliding_window",
            "flash_attention",
            "use_gate",
            "seed",
        ):
            setattr(self, name, arguments[name])
        take_options(self, arguments, "kernel", "bias")
        # For the projections, as in Keras; the attribute without underscore would be the layer's own.
        self._projections_regularizer = regularizers.get(arguments["activity_regularizer"])
        self.supports_masking = True

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
        projected = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        outputs, weights = self._attended(*projected, mask, training, return_attention_scores)
        if self._gate_dense is not None:
            outputs *= self._gate_dense(query)
        outputs = self._output_dense(outputs)
        return (outputs, weights) if return_attention_scores else outputs

    def _attended(
        self,
        query: tf.Tensor,
        key: tf.Tensor,
        value: tf.Tensor,
        mask: Any,
        training: Any,
        return_attention_scores: bool,
    ) -> tuple[Any, Any]:
        """Calls `_compute_attention`, with the arguments of Keras's layer."""
        raise NotImplementedError

    # Subclasses may override this method: it has the name and the arguments of Keras's.

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

    def _means_of(
        self, scores: tf.Tensor, value: tf.Tensor, mask: Any, training: Any, with_weights: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the means of the values, `(batch, T, ..., heads, dim)`, and their weights.

        Args:
            scores: `(batch, ..., heads, T, S)`.
            value: projected values, `(batch, S, ..., heads, dim)`.
            mask: which steps each query may see, `(batch, T, S)`; `None` for all.
            training: whether to drop weights.
            with_weights: whether the caller returns the weights. As in Keras, it decides what a query gets
                that sees no step.
        """
        # In these cases Keras computes scores that are low where a mask excludes a
        # step. That differs from a masked softmax for a query that sees no step.
        if not (self.dropout or with_weights or scores.shape.rank != 4):
            scores, mask = hidden(scores, mask), None
        return attend(
            scores,
            value,
            softmax=lambda scores: self._masked_softmax(scores, mask),
            dropout=lambda weights: self._dropout_layer(weights, training=training),
            means=self._means,
        )

    def _masked_softmax(self, scores: Any, attention_mask: Any = None) -> Any:
        """Returns the weights of the values, `(batch, heads, T, S)`."""
        return self._softmax(scores, mask=for_heads(attention_mask, scores))

    def _means(self, weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        """Returns the means of values with these weights, `(batch, T, ..., heads, dim)`."""
        return weighted_means(weights, values)
