"""Replacements of the plain product, or the plain lookup, in a layer that is quantized or has LoRA."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.layers.quantized.tables import Int4, Int8, Table

if TYPE_CHECKING:
    from tfkit.src.layers.quantized.base import Quantizable

Product = Callable[[Any, Any], tf.Tensor]


@dataclasses.dataclass
class IntegerProduct:
    """The product with a weight of integers, plus what LoRA adds to it.

    Attributes:
        layer: the layer with the weight.
        scheme: how the weight is integers.
        table: the weight.
        multiply: returns the product of inputs and a weight, both floats.
    """

    layer: Quantizable
    scheme: Int8 | Int4
    table: Table
    multiply: Product

    def __call__(self, inputs: tf.Tensor, factor: Any) -> tf.Tensor:
        """Returns the product of `inputs` and the weight, whose `factor` was made by the scheme."""
        # Products of integers as floats: exact up to 2**24, and on a CPU ten times as fast as products of
        # `int8`, for which TensorFlow has no fast kernel (2.21).
        layer = self.layer
        divisor = self.scheme.divisor(vars(layer), self.table)
        x = tf.cast(inputs, tf.float32)
        quantizer = self.scheme.activation_quantizer
        if quantizer is not None:
            integers, scale = quantizer(x, axis=layer._tfkit_summed_inputs(inputs))
            integers, scale = tf.cast(integers, tf.float32), tf.stop_gradient(scale)
            # The value of `integers` with the gradient of `inputs * scale`: rounding has the gradient zero.
            scaled = x * scale
            x = scaled + tf.stop_gradient(integers - scaled)
            divisor *= layer._tfkit_scale_of_outputs(scale)
        outputs = tf.cast(self.multiply(x, factor) / divisor, inputs.dtype)
        if layer.lora_enabled and self.table.name == layer._tfkit_main:
            outputs += tf.cast(layer._tfkit_low_rank(inputs, self.multiply), outputs.dtype)
        return outputs


@dataclasses.dataclass
class LowRankLookup:
    """A lookup of rows in a table with LoRA: only these rows of the sum are computed.

    Attributes:
        lookup: returns rows of the table itself.
        a: the first matrix of LoRA.
        b: the second matrix.
        scale: the factor of their product.
    """

    lookup: Product
    a: Any
    b: Any
    scale: float

    def __call__(self, table: Any, ids: tf.Tensor) -> tf.Tensor:
        """Returns the rows of `ids`."""
        rows = self.lookup(table, ids)
        low_rank = tf.tensordot(
            tf.nn.embedding_lookup(self.a, ids), tf.convert_to_tensor(self.b), 1
        )
        return rows + tf.cast(self.scale * low_rank, rows.dtype)
