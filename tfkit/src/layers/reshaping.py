"""Layers that move entries without computation: flatten, reshape, permute, repeat."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
import tensorflow as tf

from tfkit.src.base.nests import plain_sizes
from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check, check_positive_integer, check_type, is_integer
from tfkit.src.layers.sparse import is_sparse
from tfkit.src.ops.sparse import with_shape
from tfkit.src.symbolic.input_spec import InputSpec


class Flatten(Layer):
    """Reshapes each sample to a vector.

    Args:
        data_format: `"channels_last"`, or `"channels_first"`, where the channels are moved last
            before, so that the order of the entries does not depend on the layout; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, ...)`.

    Output shape: `(batch, size)`, where `size` is the product of the other sizes; `(batch, 1)` for
    inputs of shape `(batch,)`.

    Raises:
        ValueError: if `data_format` is unknown, or if the inputs are a scalar.

    Example:
        >>> Flatten()(tf.ones((2, 3, 4))).shape
        TensorShape([2, 12])
    """

    def __init__(self, data_format: str | None = None, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, flattened."""
        rank = inputs.shape.rank
        if self.data_format == "channels_first" and rank > 1:
            # Channels become the last axis: flattened samples are the same in both formats.
            inputs = _transposed(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape[1:]
        size = math.prod(sizes) if sizes.is_fully_defined() else -1
        return _reshape_samples(inputs, (size,))


class Reshape(Layer):
    """Reshapes each sample; the order of its entries is kept.

    Args:
        target_shape: tuple of the sizes without the batch; one of them may be -1 or `None`, for
            what is left over.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, ...)`.

    Output shape: `(batch, *target_shape)`.

    Raises:
        ValueError: if `target_shape` contains anything but sizes and one -1, or if samples have
            a different number of entries.

    Example:
        >>> Reshape((2, -1))(tf.ones((1, 6))).shape
        TensorShape([1, 2, 3])
    """

    _tfkit_built_at_once = True

    def __init__(self, target_shape: Any, **kwargs: Unpack[LayerOptions]) -> None:
        holds = isinstance(target_shape, (list, tuple, tf.TensorShape, np.ndarray))
        sizes = (
            tuple(-1 if size is None else size for size in plain_sizes(target_shape))
            if holds
            else ()
        )
        holds = holds and all(is_integer(size) and (size >= 0 or size == -1) for size in sizes)
        holds = holds and sizes.count(-1) <= 1
        check(self, holds, "target_shape", "a tuple of sizes with at most one -1", target_shape)
        super().__init__(**kwargs)
        self.target_shape = sizes

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, reshaped."""
        given = inputs.shape[1:]
        target = self.target_shape
        if given.is_fully_defined():
            entries, wanted = math.prod(given), math.prod(size for size in target if size != -1)
            if -1 in target and wanted and entries % wanted == 0:
                target = tuple(entries // wanted if size == -1 else size for size in target)
            # Here and not in TensorFlow, whose message names neither the layer nor the sample's shape.
            if math.prod(target) != entries:
                raise ValueError(
                    f"Layer '{self.path}' (of type Reshape) cannot give samples of shape "
                    f"{tuple(given)}, {entries} entries, the shape target_shape="
                    f"{self.target_shape}. Expected a shape with the same number of entries."
                )
        return _reshape_samples(inputs, target)


def _reshape_samples(inputs: tf.Tensor, sizes: tuple[int, ...]) -> tf.Tensor:
    """Returns `inputs` with samples of shape `sizes`. A static batch size is kept."""
    batch_size = inputs.shape[0]
    if batch_size is None:
        # A shape can have one -1: if the sample has it, the batch size must be a tensor.
        batch_size = _rows(inputs) if -1 in sizes else -1
    if is_sparse(inputs):
        static = [inputs.shape[0], *(None if size == -1 else size for size in sizes)]
        return with_shape(tf.sparse.reshape(inputs, tf.stack([batch_size, *sizes])), static)
    return tf.reshape(inputs, [batch_size, *sizes])


def _rows(inputs: Any) -> tf.Tensor:
    """Returns the size of the batch."""
    if is_sparse(inputs):
        return tf.cast(inputs.dense_shape[0], tf.int32)
    return tf.shape(inputs)[0]


def _transposed(inputs: Any, axes: list[int]) -> Any:
    """Returns `inputs`, a tensor or a sparse tensor, with permuted axes."""
    if is_sparse(inputs):
        return with_shape(tf.sparse.transpose(inputs, axes), [inputs.shape[axis] for axis in axes])
    return tf.transpose(inputs, axes)


class Permute(Layer):
    """Reorders the axes of each sample.

    Args:
        dims: tuple of the axes in their new order, counted from 1, without the batch; `(2, 1)`
            transposes matrices.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, ...)`, with as many axes after the batch as `dims` has entries.

    Output shape: The input shape with the axes in the new order.

    Raises:
        ValueError: if `dims` is not a permutation of 1, 2, ..., or if the inputs have a different
            number of axes.

    Example:
        >>> Permute((2, 1))(tf.ones((1, 2, 3))).shape
        TensorShape([1, 3, 2])
    """

    def __init__(self, dims: Any, **kwargs: Unpack[LayerOptions]) -> None:
        holds = isinstance(dims, (list, tuple)) and sorted(dims) == list(range(1, len(dims) + 1))
        check(self, holds, "dims", "a permutation of 1, 2, ...: axes without the batch", dims)
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, transposed."""
        return _transposed(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """Repeats each sample along a new axis.

    Args:
        n: positive integer, the number of repetitions.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, features)`.

    Output shape: `(batch, n, features)`.

    Raises:
        TypeError: if `n` is not an integer.
        ValueError: if `n` is not positive, or if the inputs do not have two axes.

    Example:
        >>> RepeatVector(2)(tf.constant([[1.0, 2.0]])).numpy().tolist()
        [[[1.0, 2.0], [1.0, 2.0]]]
    """

    def __init__(self, n: int, **kwargs: Unpack[LayerOptions]) -> None:
        check_type(self, is_integer(n), "n", "an integer", n)
        check_positive_integer(self, n=n)
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, repeated."""
        return tf.tile(inputs[:, tf.newaxis], [1, self.n, 1])
