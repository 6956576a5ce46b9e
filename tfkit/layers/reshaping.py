"""Layers that move entries and compute nothing: flatten, reshape, permute, repeat."""

from __future__ import annotations

import math
from typing import Any, Unpack

import tensorflow as tf

from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions
from tfkit.layers.checks import check, check_positive_integer, is_integer
from tfkit.settings import standardize_data_format


class Flatten(Layer):
    """Each sample as a vector.

    Args:
        data_format: with `"channels_first"`, channels are moved last before flattening, so that the
            order of the entries does not depend on the layout.

    Output shape: `(batch, product of the other sizes)`.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, flattened."""
        rank = inputs.shape.rank
        if self.data_format == "channels_first" and rank > 1:
            inputs = tf.transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape[1:]
        size = math.prod(sizes) if sizes.is_fully_defined() else -1
        return _reshape_samples(inputs, (size,))


class Reshape(Layer):
    """Each sample in another shape.

    Args:
        target_shape: sizes without the batch; one may be -1 (or `None`): what is left over.

    Raises:
        ValueError: for a shape of other than positive integers and one -1, and for inputs with
            another number of entries.

    Example:
        >>> Reshape((2, -1))(tf.ones((1, 6))).shape
        TensorShape([1, 2, 3])
    """

    def __init__(self, target_shape: Any, **kwargs: Unpack[LayerOptions]) -> None:
        holds = isinstance(target_shape, (list, tuple, tf.TensorShape))
        sizes = tuple(-1 if size is None else size for size in target_shape) if holds else ()
        holds = holds and all(is_integer(size) and (size >= 0 or size == -1) for size in sizes)
        holds = holds and sizes.count(-1) <= 1
        check(self, holds, "target_shape", "a tuple of sizes with at most one -1", target_shape)
        super().__init__(**kwargs)
        self.target_shape = sizes

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, reshaped."""
        given = inputs.shape[1:]
        target = self.target_shape
        if given.is_fully_defined():
            entries, wanted = math.prod(given), math.prod(size for size in target if size != -1)
            if -1 in target and wanted and entries % wanted == 0:
                target = tuple(entries // wanted if size == -1 else size for size in target)
            if math.prod(target) != entries:
                raise ValueError(
                    f"Layer '{self.path}' (of type Reshape) cannot give samples of shape "
                    f"{tuple(given)}, {entries} entries, the shape target_shape="
                    f"{self.target_shape}. Expected a shape with the same number of entries."
                )
        return _reshape_samples(inputs, target)


def _reshape_samples(inputs: tf.Tensor, sizes: tuple[int, ...]) -> tf.Tensor:
    """`inputs` with samples of shape `sizes`. A known batch size stays known."""
    batch_size = inputs.shape[0]
    if batch_size is None:
        batch_size = tf.shape(inputs)[0] if -1 in sizes else -1
    return tf.reshape(inputs, [batch_size, *sizes])


class Permute(Layer):
    """Reorders the axes of each sample.

    Args:
        dims: the axes in their new order, counted from 1; `(2, 1)` swaps the first two.

    Raises:
        ValueError: where `dims` is no permutation of 1, 2, ...
    """

    def __init__(self, dims: Any, **kwargs: Unpack[LayerOptions]) -> None:
        holds = isinstance(dims, (list, tuple)) and sorted(dims) == list(range(1, len(dims) + 1))
        check(self, holds, "dims", "a permutation of 1, 2, ...: axes without the batch", dims)
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, transposed."""
        return tf.transpose(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """Repeats each sample.

    Args:
        n: how often.

    Input shape: `(batch, features)`.

    Output shape: `(batch, n, features)`.
    """

    def __init__(self, n: int, **kwargs: Unpack[LayerOptions]) -> None:
        if not is_integer(n):
            raise TypeError(
                f"Invalid value for argument `n` of layer {type(self).__name__}. Expected an "
                f"integer. Received: n={n!r} (of type {type(n).__name__})"
            )
        check_positive_integer(self, n=n)
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, repeated."""
        return tf.tile(inputs[:, tf.newaxis], [1, self.n, 1])
