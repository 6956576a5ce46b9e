"""Pooling in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import budget
from tfkit.src.ops import kernels
from tfkit.src.ops.convolution import channels_last, layout, over_windows, per_axis
from tfkit.src.ops.promotion import as_tensor
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.symbolic.tensors import symbolic_op

Sizes = int | Sequence[int]
# The dtypes of TensorFlow's kernels for volumes on CPU (2.21). In float64 there are none on any device.
_VOLUMES = (tf.float32, tf.bfloat16)


def pool_windows(
    function: Any, x: tf.Tensor, sizes: Sequence[int], strides: Sequence[int], padding: str
) -> tf.Tensor:
    """Returns the largest value or the mean of each window, for volumes of every dtype that images may have.

    Args:
        function: `kernels.max_pool` or `tf.nn.avg_pool`.
        x: a tensor with one to three spatial axes, channels last.
        sizes: the window, a number for each spatial axis.
        strides: the distances of windows, likewise.
        padding: `"VALID"` or `"SAME"`.
    """
    if x.shape.rank != 5 or x.dtype in _VOLUMES:
        return function(x, sizes, strides, padding, layout(x))
    if x.dtype == tf.float16:
        wide = function(tf.cast(x, tf.float32), sizes, strides, padding, layout(x))
        return tf.cast(wide, tf.float16)
    # As images: two axes, with the third among the channels, then this one. The mean of means is the mean,
    # because all windows in a row have equally many positions inside.
    batch, depth, height, width, channels = static_or_dynamic_shape(x)
    planes = tf.reshape(x, [batch, depth, height, width * channels])
    planes = function(planes, sizes[:2], strides[:2], padding, "NHWC")
    _, depth, height, _ = static_or_dynamic_shape(planes)
    rows = tf.reshape(planes, [batch, depth * height, width, channels])
    rows = function(rows, [1, sizes[2]], [1, strides[2]], padding, "NHWC")
    return tf.reshape(rows, [batch, depth, height, static_or_dynamic_shape(rows)[2], channels])


def _pool(
    function: Any, inputs: Any, pool_size: Sizes, strides: Any, padding: str, data_format: Any
) -> tf.Tensor:
    inputs = as_tensor(inputs)
    if inputs.shape.rank not in (3, 4, 5):
        raise ValueError(
            "`inputs` must have 3, 4 or 5 axes: batch, 1 to 3 spatial axes, channels. "
            f"Received: inputs.shape={inputs.shape}"
        )
    windows = per_axis("pool_size", pool_size, inputs.shape.rank - 2)
    strides = windows if strides is None else per_axis("strides", strides, inputs.shape.rank - 2)

    def pool(x: Any) -> Any:
        return pool_windows(function, x, windows, strides, padding.upper())

    return channels_last(
        inputs, data_format, lambda x: over_windows("pooling", pool, x, windows, padding.upper())
    )


@symbolic_op
def max_pool(
    inputs: Any,
    pool_size: Sizes,
    strides: Sizes | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns the largest element of each window of images, channel by channel.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`, with
            one to three spatial axes.
        pool_size: size of the window, one number or one for each spatial axis.
        strides: step of the window, one number or one for each spatial axis; `None` for
            `pool_size`, so that windows do not overlap.
        padding: `"valid"` (only whole windows) or `"same"` (output size `ceil(size / stride)`;
            values outside do not count). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of shape `(batch, *new sizes, channels)`, or with channels second, of the dtype
        of `inputs`.

    Raises:
        ValueError: for any other rank, or a window larger than the inputs.

    Example:
        >>> signal = tf.reshape(tf.constant([1.0, 3.0, 2.0, 0.0, 5.0]), (1, 5, 1))
        >>> ops.max_pool(signal, 2).numpy().ravel().tolist()
        [3.0, 2.0]
        >>> ops.max_pool(signal, 2, padding="same").numpy().ravel().tolist()
        [3.0, 2.0, 5.0]
    """
    return _pool(kernels.max_pool, inputs, pool_size, strides, padding, data_format)


@symbolic_op
def average_pool(
    inputs: Any,
    pool_size: Sizes,
    strides: Sizes | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns the mean of each window of images, channel by channel.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`, with
            one to three spatial axes. They must be floats.
        pool_size: size of the window, one number or one for each spatial axis.
        strides: step of the window, one number or one for each spatial axis; `None` for
            `pool_size`, so that windows do not overlap.
        padding: `"valid"` (only whole windows) or `"same"` (output size `ceil(size / stride)`;
            values outside do not count). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of shape `(batch, *new sizes, channels)`, or with channels second, of the dtype
        of `inputs`.

    Raises:
        ValueError: for any other rank, or a window larger than the inputs.

    Example:
        >>> signal = tf.reshape(tf.constant([1.0, 3.0, 2.0, 0.0, 5.0]), (1, 5, 1))
        >>> ops.average_pool(signal, 2).numpy().ravel().tolist()
        [2.0, 1.0]
        >>> ops.average_pool(signal, 2, padding="same").numpy().ravel().tolist()
        [2.0, 1.0, 5.0]
    """
    return _pool(tf.nn.avg_pool, inputs, pool_size, strides, padding, data_format)


def _adaptive_pool(inputs: Any, output_size: Sizes, data_format: Any, is_mean: bool) -> tf.Tensor:
    inputs = as_tensor(inputs)
    sizes = per_axis("output_size", output_size, inputs.shape.rank - 2)

    def pool(x: Any) -> Any:
        for axis, size in enumerate(sizes, start=1):
            budget.check_outputs(size)
            length = x.shape[axis]
            reduce = tf.reduce_mean if is_mean else tf.reduce_max
            if length is None:
                x = _over_unknown_windows(x, axis, size, is_mean)
            elif length % size == 0:
                shape = list(static_or_dynamic_shape(x))
                shape[axis : axis + 1] = [size, length // size]
                # Windows of equal length: an axis of windows and one inside of them, without
                # slices.
                x = reduce(tf.reshape(x, shape), axis + 1)
            else:
                edges = np.arange(size + 1) * length
                starts, stops = edges[:-1] // size, -(-edges[1:] // size)
                leading = (slice(None),) * axis
                windows = [
                    reduce(x[(*leading, slice(start, stop))], axis)
                    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
                ]
                x = tf.stack(windows, axis)
        return x

    return channels_last(inputs, data_format, pool)


def _over_unknown_windows(x: tf.Tensor, axis: int, size: int, is_mean: bool) -> tf.Tensor:
    """Returns means or maxima of the windows along an axis of unknown size, all windows at once."""
    length = tf.shape(x, tf.int64)[axis]
    edges = tf.range(size + 1, dtype=tf.int64) * length
    starts, stops = edges[:-1] // size, -(-edges[1:] // size)
    places = starts[:, None] + tf.range(tf.reduce_max(stops - starts))
    # A window that is shorter than the longest one repeats its last position.
    windows = tf.gather(x, tf.minimum(places, stops[:, None] - 1), axis=axis)
    if not is_mean:
        return tf.reduce_max(windows, axis + 1)
    inside = tf.reshape(
        places < stops[:, None],
        [*static_or_dynamic_shape(places), *[1] * (x.shape.rank - axis - 1)],
    )
    sums = tf.reduce_sum(tf.where(inside, windows, tf.zeros_like(windows)), axis + 1)
    counts = tf.reshape(stops - starts, [size, *[1] * (x.shape.rank - axis - 1)])
    return sums / tf.cast(counts, x.dtype)


@symbolic_op
def adaptive_average_pool(
    inputs: Any, output_size: Sizes, data_format: str | None = None
) -> tf.Tensor:
    """Returns the means of windows that divide images into a given number of nearly equal parts.

    Of `n` elements, window `i` of `m` holds those from `floor(i * n / m)` to
    `ceil((i + 1) * n / m)`; neighbours can overlap.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`.
        output_size: number of windows, one number or one for each spatial axis.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of shape `(batch, *output_size, channels)`, or with channels second, of the dtype
        of `inputs`.

    Raises:
        ValueError: for any other `data_format`.

    Example:
        >>> signal = tf.reshape(tf.range(5.0), (1, 5, 1))
        >>> ops.adaptive_average_pool(signal, 2).numpy().ravel().tolist()
        [1.0, 3.0]
    """
    return _adaptive_pool(inputs, output_size, data_format, is_mean=True)


@symbolic_op
def adaptive_max_pool(inputs: Any, output_size: Sizes, data_format: str | None = None) -> tf.Tensor:
    """Returns the maxima of windows that divide images into a given number of nearly equal parts.

    Of `n` elements, window `i` of `m` holds those from `floor(i * n / m)` to
    `ceil((i + 1) * n / m)`; neighbours can overlap.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`.
        output_size: number of windows, one number or one for each spatial axis.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of shape `(batch, *output_size, channels)`, or with channels second, of the dtype
        of `inputs`.

    Raises:
        ValueError: for any other `data_format`.

    Example:
        >>> signal = tf.reshape(tf.range(5.0), (1, 5, 1))
        >>> ops.adaptive_max_pool(signal, 2).numpy().ravel().tolist()
        [2.0, 4.0]
    """
    return _adaptive_pool(inputs, output_size, data_format, is_mean=False)
