"""A weight as integers: its variables, how they are made from floats, and how they become floats again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.weights.quantizers.abs_max import abs_max_quantize_grouped_with_zero_point
from tfkit.src.weights.quantizers.base import AbsMaxQuantizer
from tfkit.src.weights.quantizers.int4 import pack_int4, unpack_int4


@dataclasses.dataclass(frozen=True)
class Table:
    """A weight of a layer that can be integers.

    Attributes:
        name: its attribute.
        shape: its shape as floats.
        summed: its axes over which products sum, so that all entries along them share a scale.
        scale_shape: shape of its scale, which broadcasts to the products.
        group_axis: the axis of the 4-bit matrix along which there are groups.
        packed_axis: the axis of that matrix along which two 4-bit integers make a byte.
        zero_dtype: dtype of the zeros of groups.
    """

    name: str
    shape: tuple[int, ...]
    summed: tuple[int, ...]
    scale_shape: tuple[int, ...]
    group_axis: int = 0
    packed_axis: int = 1
    zero_dtype: str = "int8"

    # 4-bit integers are a matrix with as many rows as entries along `summed`, in the order in which the
    # weight holds its entries. If the kernel's first axes are different ones, this is not the matrix of a
    # product, and a group does not belong to one output; Keras's files store them in this form.

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        size = math.prod(self.shape[axis] for axis in self.summed)
        others = math.prod(self.shape) // max(size, 1)
        return (others, size) if self.group_axis else (size, others)


class Int8:
    """Weights as 8-bit integers, each column with a scale."""

    def __init__(self, config: Any) -> None:
        self._config = config

    def quantized(self, table: Table, value: tf.Tensor) -> dict[str, Any]:
        """Returns the values of the variables, by attribute."""
        quantizer = getattr(self._config, "weight_quantizer", None) or AbsMaxQuantizer()
        integers, scale = quantizer(value, axis=table.summed, to_numpy=True)
        return {table.name: integers, f"{table.name}_scale": tf.reshape(scale, table.scale_shape)}

    def add(self, layer: Layer, table: Table, values: dict[str, Any] | None = None) -> None:
        """Makes the variables, of zeros and ones unless their values are given."""
        _add(layer, table.name, table.shape, "int8", values, "zeros")
        _add(layer, f"{table.name}_scale", table.scale_shape, None, values, "ones")

    def integers(self, own: Mapping[str, Any], table: Table) -> tf.Tensor:
        """Returns the integers in the weight's shape."""
        return tf.convert_to_tensor(own[table.name])

    def floats(self, own: Mapping[str, Any], table: Table) -> tf.Tensor:
        """Returns the weight in `float32`."""
        scale = self.divisor(own, table)
        shape = [1 if axis in table.summed else size for axis, size in enumerate(table.shape)]
        return tf.cast(self.integers(own, table), tf.float32) / tf.reshape(scale, shape)

    def factor(self, own: Mapping[str, Any], table: Table) -> tf.Tensor:
        """Returns what inputs are multiplied by: the weight times `divisor`, in `float32`."""
        return tf.cast(self.integers(own, table), tf.float32)

    def divisor(self, own: Mapping[str, Any], table: Table) -> Any:
        """Returns what products with `factor` are divided by."""
        return _scale(own, table)

    def rows(self, own: Mapping[str, Any], table: Table, weight: Any, ids: Any) -> tf.Tensor:
        """Returns rows of an embedding, in `float32`."""
        scale = tf.gather(self.divisor(own, table), ids)
        integers = tf.gather(weight, ids)
        return tf.cast(integers, tf.float32) / scale[..., None]

    @property
    def activation_quantizer(self) -> Any:
        """The quantizer of inputs; `None` for inputs that stay floats."""
        return AbsMaxQuantizer() if self._config is None else self._config.activation_quantizer


class Int4:
    """Weights as 4-bit integers, two in a byte: with groups of rows that have a scale and a zero each, or
    without groups and zeros.
    """

    def __init__(self, config: Any, block_size: int | None) -> None:
        self._config = config
        self._block = None if block_size in (None, -1) else block_size

    def quantized(self, table: Table, value: tf.Tensor) -> dict[str, Any]:
        """Returns the values of the variables, by attribute."""
        matrix = tf.reshape(value, table.matrix_shape)
        axis = table.group_axis
        if self._block is None:
            quantizer = getattr(self._config, "weight_quantizer", None)
            quantizer = quantizer or AbsMaxQuantizer(value_range=(-8, 7))
            integers, scale = quantizer(matrix, axis=axis, to_numpy=True)
            parts = {f"{table.name}_scale": tf.reshape(scale, [-1])}
        else:
            groups = abs_max_quantize_grouped_with_zero_point(
                tf.transpose(matrix) if axis else matrix, self._block, to_numpy=True
            )
            integers, scale, zero = (tf.transpose(it) if axis else it for it in groups)
            zero = tf.cast(zero, table.zero_dtype)
            parts = {f"{table.name}_scale": scale, f"{table.name}_zero": zero}
        return {table.name: pack_int4(integers, table.packed_axis)[0], **parts}

    def add(self, layer: Layer, table: Table, values: dict[str, Any] | None = None) -> None:
        """Makes the variables, of zeros and ones unless their values are given."""
        packed, scale = list(table.matrix_shape), list(table.matrix_shape)
        packed[table.packed_axis] = -(-packed[table.packed_axis] // 2)
        _add(layer, table.name, packed, "int8", values, "zeros")
        rows = scale[table.group_axis]
        if self._block is None:
            _add(layer, f"{table.name}_scale", [scale[1 - table.group_axis]], None, values, "ones")
            return
        scale[table.group_axis] = -(-rows // self._block)
        _add(layer, f"{table.name}_scale", scale, None, values, "ones")
        _add(layer, f"{table.name}_zero", scale, table.zero_dtype, values, "zeros")
        if "g_idx" not in vars(layer):  # As in Keras, a float.
            groups = (np.arange(rows) // self._block).astype("float32")
            _add(layer, "g_idx", [rows], "float32", {"g_idx": groups}, "zeros")

    def integers(self, own: Mapping[str, Any], table: Table) -> tf.Tensor:
        """Returns the integers in the weight's shape."""
        return tf.reshape(self._matrix(own, table), table.shape)

    def _matrix(self, own: Mapping[str, Any], table: Table) -> tf.Tensor:
        """Returns the integers as a matrix."""
        size = table.matrix_shape[table.packed_axis]
        return unpack_int4(own[table.name], size, table.packed_axis)

    def floats(self, own: Mapping[str, Any], table: Table) -> tf.Tensor:
        """Returns the weight in `float32`."""
        integers = self._matrix(own, table)
        matrix = self._restored(integers, *self._groups(own, table), table.group_axis)
        return tf.reshape(matrix, table.shape)

    def _groups(
        self, own: Mapping[str, Any], table: Table
    ) -> tuple[tf.Tensor, tf.Tensor | None, Any]:
        """Returns the scales, the zeros, and the group of each row."""
        scale = _scale(own, table)
        if self._block is None:
            return scale, None, None
        zero = tf.cast(own[f"{table.name}_zero"], tf.float32)
        return scale, zero, tf.cast(own["g_idx"], tf.int32)

    @staticmethod
    def _restored(
        integers: tf.Tensor, scale: tf.Tensor, zero: Any, groups: Any, axis: int
    ) -> tf.Tensor:
        """Returns the floats of integers whose groups are along an axis."""
        values = tf.cast(integers, tf.float32)
        if zero is None:
            return values / tf.expand_dims(scale, axis)
        return (values - tf.gather(zero, groups, axis=axis)) * tf.gather(scale, groups, axis=axis)

    def factor(self, own: Mapping[str, Any], table: Table) -> tf.Tensor:
        """Returns what inputs are multiplied by: the weight, in `float32`."""
        return self.floats(own, table)

    def divisor(self, own: Mapping[str, Any], table: Table) -> Any:
        """Returns what products with `factor` are divided by."""
        return 1.0

    def rows(self, own: Mapping[str, Any], table: Table, weight: Any, ids: Any) -> tf.Tensor:
        """Returns rows of an embedding, in `float32`."""
        integers = unpack_int4(tf.gather(weight, ids), table.shape[1], -1)
        scale, zero, groups = self._groups(own, table)
        scale = tf.gather(scale, ids)
        zero = None if zero is None else tf.gather(zero, ids)
        return self._restored(integers, scale, zero, groups, -1)

    @property
    def activation_quantizer(self) -> Any:
        """The quantizer of inputs; `None` for inputs that stay floats."""
        return getattr(self._config, "activation_quantizer", None)


def _scale(own: Mapping[str, Any], table: Table) -> tf.Tensor:
    """Returns the scales in `float32`; the variable has 16 bits under `bfloat16`."""
    return tf.cast(tf.convert_to_tensor(own[f"{table.name}_scale"]), tf.float32)


def _add(
    layer: Layer, name: str, shape: Any, dtype: Any, values: dict[str, Any] | None, first: str
) -> None:
    # Scales are read in 32 bits under mixed precision, too.
    value = values[name] if values else first
    weight = layer.add_weight(shape, value, dtype, name=name, trainable=False, autocast=False)
    setattr(layer, name, weight)
