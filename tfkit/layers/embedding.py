"""Vectors for integers."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import constraints, initializers, regularizers
from tfkit.core.layer import Layer
from tfkit.frames import warn
from tfkit.layers.checks import check_absent, check_positive_integer


class Embedding(Layer):
    """A trained vector for each of the integers from 0 to `input_dim - 1`.

    Args:
        input_dim: number of vectors, the largest id plus one.
        output_dim: size of a vector.
        embeddings_initializer: first value of `embeddings`.
        embeddings_regularizer: penalty on `embeddings`.
        embeddings_constraint: what `embeddings` goes through after each update.
        mask_zero: whether id 0 is padding, which later layers, losses and metrics leave out.
        weights: value of `embeddings`, of shape `(input_dim, output_dim)`; replaces the initial one.
        lora_rank: not supported; `None`.
        lora_alpha: not supported; `None`.
        quantization_config: not supported; `None`.

    Input shape: any; integers, or floats that are cast to integers.

    Output shape: `(..., output_dim)`.

    Raises:
        ValueError: for sizes that are no positive integers.

    Example:
        >>> Embedding(10, 4)(tf.constant([[1, 2, 0]])).shape
        TensorShape([1, 3, 4])
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        lora_rank: None = None,
        lora_alpha: None = None,
        quantization_config: None = None,
        **kwargs: Any,
    ) -> None:
        check_positive_integer(self, input_dim=input_dim, output_dim=output_dim)
        check_absent(
            self,
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            quantization_config=quantization_config,
        )
        if kwargs.pop("input_length", None) is not None:
            warn("Argument `input_length` is deprecated. Just remove it.")
        super().__init__(**kwargs)
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        self.autocast = False  # In 16 bits, float ids above 256 would become other ids.
        if weights is not None:
            self.build()
            self.set_weights(weights if isinstance(weights, list) else [weights])

    def build(self, input_shape: Any = None) -> None:
        """Makes `embeddings`, of shape `(input_dim, output_dim)`."""
        if not self.built:
            self.embeddings = self.add_weight(
                name="embeddings",
                shape=(self.input_dim, self.output_dim),
                initializer=self.embeddings_initializer,
                regularizer=self.embeddings_regularizer,
                constraint=self.embeddings_constraint,
            )

    def call(self, inputs: Any) -> tf.Tensor:
        """The vectors of the ids `inputs`."""
        if inputs.dtype == tf.string:
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) takes integer ids. "
                f"Received: a string tensor of shape {tuple(inputs.shape)}. Turn strings into ids first."
            )
        ids = inputs if inputs.dtype in (tf.int32, tf.int64) else tf.cast(inputs, tf.int32)
        return tf.cast(tf.nn.embedding_lookup(self.embeddings, ids), self.compute_dtype)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Where the id is not 0, if `mask_zero`."""
        return tf.not_equal(inputs, 0) if self.mask_zero else None

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, without `weights`: these are state."""
        return {**super().get_config(), "weights": None}
