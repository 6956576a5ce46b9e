"""Embeddings: trained vectors for integers."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.layers.checks import check_positive_integer
from tfkit.src.layers.lora import MainWeight, stored
from tfkit.src.layers.quantized.base import Quantizable
from tfkit.src.layers.quantized.tables import Table
from tfkit.src.layers.sparse import dense
from tfkit.src.ops.arithmetic import not_equal
from tfkit.src.weights import constraints, regularizers
from tfkit.src.weights.initializers import lookup as initializers


class Embedding(Quantizable):
    """Maps each integer from 0 to `input_dim - 1` to a trained vector: `embeddings[inputs]`.

    `embeddings` has shape `(input_dim, output_dim)`.

    Args:
        input_dim: positive integer, the number of vectors: the largest id plus one.
        output_dim: positive integer, the size of a vector.
        embeddings_initializer: initial value of `embeddings`, as a name, a configuration or an
            `Initializer`. Default: `"uniform"`.
        embeddings_regularizer: penalty on `embeddings` that is added to the loss; `None` for no
            penalty.
        embeddings_constraint: function that projects `embeddings` after each update; `None` for no
            constraint.
        mask_zero: whether id 0 means padding. If so, the outputs have a mask that is `False`
            there, which later layers, losses and metrics respect. Default: `False`.
        weights: value of `embeddings`, an array of shape `(input_dim, output_dim)`, which replaces
            the initial one; `None` for the initializer's.
        lora_rank: positive integer, to freeze `embeddings` and train two small matrices whose product is
            added to it, as `enable_lora` does for a built layer; `None` for no LoRA.
        lora_alpha: number that scales the product, by `lora_alpha / lora_rank`; `None` for `lora_rank`.
        quantization_config: a `tfkit.quantizers.QuantizationConfig` for a layer that is quantized from the
            beginning, by `dtype="int8_from_float32"`, or is saved; `None` for the default of its mode.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any, of integers, or of floats that are cast to `int32`.

    Output shape: `(..., output_dim)`.

    Raises:
        ValueError: if a size is not a positive integer, or if the inputs are strings.
        InvalidArgumentError: if an id is negative or not below `input_dim`.

    Example:
        >>> layer = Embedding(10, 4, mask_zero=True)
        >>> layer(tf.constant([[1, 2, 0]])).shape
        TensorShape([1, 3, 4])
        >>> layer.compute_mask(tf.constant([[1, 2, 0]])).numpy().tolist()
        [[True, True, False]]
    """

    embeddings = MainWeight()
    _embeddings = stored("embeddings")
    _tfkit_main, _tfkit_kind_of_main = "embeddings", "embedding"
    _tfkit_omitted_from_config = {"lora_rank": None, "lora_alpha": None}

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        quantization_config: Any = None,
        **kwargs: Any,
    ) -> None:
        check_positive_integer(self, input_dim=input_dim, output_dim=output_dim)
        if kwargs.pop("input_length", None) is not None:
            warn("Argument `input_length` is deprecated. Just remove it.")
        super().__init__(**kwargs)
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self._tfkit_take_lora(lora_rank, lora_alpha)
        self._tfkit_take_quantization(quantization_config)
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        self.autocast = False  # In 16 bits, float ids above 256 would be rounded to other ids.
        if weights is not None:
            # `weights` are values, and need the variable.
            self.build()
            self.set_weights(weights if isinstance(weights, list) else [weights])

    def build(self, input_shape: Any = None) -> None:
        """Makes `embeddings`, of shape `(input_dim, output_dim)`."""
        if not self.built:
            self._tfkit_add_tables()
            self._tfkit_add_requested_lora()

    def _tfkit_add_tables(self) -> None:
        """Makes `embeddings`."""
        self._tfkit_add_main((self.input_dim, self.output_dim))

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the vectors of the ids `inputs`."""
        if inputs.dtype == tf.string:
            raise ValueError(
                f"Layer {self._tfkit.title} expects integer ids. Received: a string tensor of shape "
                f"{tuple(inputs.shape)}. Turn strings into ids first."
            )
        inputs = dense(inputs)
        ids = inputs if inputs.dtype in (tf.int32, tf.int64) else tf.cast(inputs, tf.int32)
        lookup, embeddings = self._tfkit_lookup()
        return tf.cast(lookup(embeddings, ids), self.compute_dtype)

    def _tfkit_tables(self) -> list[Table]:
        """Returns `embeddings`, which has a scale for each vector."""
        shape = (self.input_dim, self.output_dim)
        return [Table("embeddings", shape, (1,), (self.input_dim,), group_axis=1)]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the mask of ids other than 0, if `mask_zero`."""
        # An op, because a model file can name it where this is called on a symbolic tensor.
        return not_equal(dense(inputs), 0) if self.mask_zero else None

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without `weights`: these are state."""
        config = super().get_config()
        config.pop("weights", None)
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        return config
