"""Embeddings that also map vectors back to integers."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.calls import current_frame
from tfkit.src.base.registry.constructors import given
from tfkit.src.base.registry.serialization import serialize_keras_object
from tfkit.src.layers.checks import check
from tfkit.src.layers.embedding import Embedding
from tfkit.src.layers.parameters import add_parameter
from tfkit.src.layers.quantized.tables import Table


class ReversibleEmbedding(Embedding):
    """An `Embedding` that can be reversed: from vectors to a logit for each id.

    Forward it computes `embeddings[inputs]`; with `reverse=True`,
    `inputs @ transpose(embeddings)`. A language model can thus read and write tokens with one weight.

    Args:
        input_dim: positive integer, the number of vectors: the largest id plus one.
        output_dim: positive integer, the size of a vector.
        tie_weights: whether both directions use `embeddings`, of shape `(input_dim, output_dim)`.
            Otherwise the reverse one has `reverse_embeddings`, of shape
            `(output_dim, input_dim)`. Default: `True`.
        embeddings_initializer: initial value of both, as a name, a configuration or an
            `Initializer`. Default: `"uniform"`.
        embeddings_regularizer: penalty on both that is added to the loss; `None` for no penalty.
        embeddings_constraint: function that projects both after each update; `None` for no
            constraint.
        mask_zero: whether id 0 means padding. If so, the vectors have a mask that is `False`
            there; logits carry none. Default: `False`.
        reverse_dtype: dtype in which logits are computed, such as `"float32"` in a model of mixed
            precision; `None` for the compute dtype.
        logit_soft_cap: positive number that keeps logits between its negative and itself, by
            `cap * tanh(logits / cap)`; `None` for no limit.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: ids, or with `reverse` vectors.
        reverse: whether to go from vectors to logits. Default: `False`.

    Input shape: Any, of integers; with `reverse`, `(..., output_dim)`, of floats.

    Output shape: `(..., output_dim)`; with `reverse`, `(..., input_dim)`.

    Raises:
        ValueError: if a size or the cap is not positive, if `reverse_dtype` is not a float dtype, or if
            the inputs are strings.
        InvalidArgumentError: if an id is negative or not below `input_dim`.

    Reference:
        Press & Wolf, "Using the output embedding to improve language models", 2017.

    Example:
        >>> layer = ReversibleEmbedding(10, 4)
        >>> vectors = layer(tf.constant([[1, 2, 0]]))
        >>> vectors.shape, layer(vectors, reverse=True).shape
        (TensorShape([1, 3, 4]), TensorShape([1, 3, 10]))
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        tie_weights: bool = True,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        reverse_dtype: Any = None,
        logit_soft_cap: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**given(locals(), "tie_weights", "reverse_dtype", "logit_soft_cap"))
        holds = reverse_dtype is None or tf.as_dtype(reverse_dtype).is_floating
        check(self, holds, "reverse_dtype", "None or a float dtype", reverse_dtype)
        is_number = isinstance(logit_soft_cap, (int, float)) and logit_soft_cap > 0
        holds = logit_soft_cap is None or is_number
        check(self, holds, "logit_soft_cap", "None or a positive number", logit_soft_cap)
        self.tie_weights = tie_weights
        self.reverse_dtype = reverse_dtype
        self.logit_soft_cap = logit_soft_cap

    def _tfkit_add_tables(self) -> None:
        """Makes `embeddings` and, unless `tie_weights`, `reverse_embeddings`."""
        super()._tfkit_add_tables()
        scheme = self._tfkit_scheme()
        if self.tie_weights:
            return
        if scheme is not None:
            scheme.add(self, self._tfkit_table("reverse_embeddings"))
            return
        self.reverse_embeddings = add_parameter(
            self, "embeddings", (self.output_dim, self.input_dim), name="reverse_embeddings"
        )

    def _tfkit_tables(self) -> list[Table]:
        """Returns both weights; each has a scale for each id."""
        tables = super()._tfkit_tables()
        if not self.tie_weights:
            shape = (self.output_dim, self.input_dim)
            # With 4 bits they are packed as in Keras, differently from other weights.
            tables.append(
                Table("reverse_embeddings", shape, (0,), (self.input_dim,), 0, 0, "float32")
            )
        return tables

    def call(self, inputs: Any, reverse: bool = False) -> tf.Tensor:
        """Returns the vectors of the ids `inputs`; with `reverse`, the logits of vectors."""
        if not reverse:
            return super().call(inputs)
        frame = current_frame()
        if frame is not None and frame.layer is self:
            # Vectors are not ids: comparing them with 0 would not give a mask.
            frame.gives_mask = False
        dtype = self.reverse_dtype or self.compute_dtype
        inputs = tf.cast(inputs, dtype)
        shape = tf.concat([tf.shape(inputs)[:-1], [self.input_dim]], 0)
        # One matrix product for all axes: a batched product would multiply sample by sample.
        rows = tf.reshape(inputs, [-1, self.output_dim])
        logits = tf.reshape(self._logits(rows), shape)
        logits = tf.ensure_shape(logits, [*inputs.shape[:-1], self.input_dim])
        if self.logit_soft_cap is None:
            return logits
        # As in Gemma 2: logits stay below the cap, with a gradient everywhere.
        return self.logit_soft_cap * tf.tanh(logits / self.logit_soft_cap)

    def _logits(self, rows: tf.Tensor) -> tf.Tensor:
        def multiply(rows: tf.Tensor, weight: Any) -> tf.Tensor:
            return tf.matmul(rows, tf.cast(weight, rows.dtype), transpose_b=self.tie_weights)

        name = "embeddings" if self.tie_weights else "reverse_embeddings"
        product, weight = self._tfkit_product(multiply, name=name)
        return product(rows, weight)

    def _tfkit_low_rank(self, inputs: tf.Tensor, multiply: Any) -> tf.Tensor:
        """Returns the logits that LoRA adds; the product of the small matrices is as large as the table."""
        a, b, scale = self._tfkit_lora()
        return scale * multiply(multiply(inputs, b), a)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, including those of `Embedding` for LoRA and quantization."""
        lora = {"lora_rank": self.lora_rank, "lora_alpha": self.lora_alpha}
        quantization = serialize_keras_object(self.quantization_config)
        config = {**super().get_config(), "quantization_config": quantization}
        return {**config, **lora} if self.lora_rank else config
