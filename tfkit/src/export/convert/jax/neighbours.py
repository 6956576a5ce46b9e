"""Convolution and pooling in JAX, with the channels last, as TensorFlow computes them on CPUs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfkit.src.export.convert.host import with_attributes_of

_FORMS = {4: ("NHWC", "HWIO", "NHWC"), 5: ("NDHWC", "DHWIO", "NDHWC")}


def convolution(
    x: Any,
    kernel: Any,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int] | None,
    explicit_paddings: list[int] | None,
    data_format: str,
) -> Any:
    """Returns a convolution; fewer channels of the kernel than of `x` mean groups."""
    first = data_format.startswith("NC")
    x = jnp.moveaxis(x, 1, -1) if first else x
    y = lax.conv_general_dilated(
        x,
        kernel,
        _inner(strides, data_format),
        _padding(padding, explicit_paddings, data_format),
        rhs_dilation=_inner(dilations or [1] * x.ndim, data_format),
        dimension_numbers=_FORMS[x.ndim],
        feature_group_count=x.shape[-1] // kernel.shape[-2],
    )
    return jnp.moveaxis(y, -1, 1) if first else y


@with_attributes_of(convolution)
def transposed_convolution(input_sizes: list[Any], kernel: Any, y: Any, **options: Any) -> Any:
    """Returns the transposed convolution of `y`."""
    # A convolution is linear in `x`, so that the shape of `x` is enough.
    x = jax.ShapeDtypeStruct(tuple(input_sizes), y.dtype)
    (result,) = jax.linear_transpose(lambda x: convolution(x, kernel, **options), x)(y)
    return result


@with_attributes_of(convolution)
def depthwise_convolution(x: Any, kernel: Any, **options: Any) -> Any:
    """Returns a convolution of each channel separately, with a kernel `(..., channels, multiplier)`."""
    *sizes, channels, multiplier = kernel.shape
    # A group for each channel: its kernel has one input channel, and `multiplier` output channels.
    return convolution(x, kernel.reshape(*sizes, 1, channels * multiplier), **options)


def max_pool(
    x: Any,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: list[int] | None,
    data_format: str,
) -> Any:
    """Returns the largest value of each window."""
    least = np.iinfo(x.dtype).min if jnp.issubdtype(x.dtype, jnp.integer) else -np.inf
    pads = _window_padding(padding, explicit_paddings)
    return lax.reduce_window(x, np.array(least, x.dtype), lax.max, ksize, strides, pads)


def average_pool(
    x: Any, *, ksize: list[int], strides: list[int], padding: str, data_format: str
) -> Any:
    """Returns the mean of each window, over the part inside `x`."""
    zero = np.array(0, x.dtype)
    total = lax.reduce_window(x, zero, lax.add, ksize, strides, padding)
    if padding == "VALID":
        return total / np.array(np.prod(ksize), x.dtype)
    # Windows at the border have fewer entries.
    ones = jnp.ones((1, *x.shape[1:]), x.dtype)
    return total / lax.reduce_window(ones, zero, lax.add, ksize, strides, padding)


def space_to_batch(x: Any, block_shape: list[int], paddings: list[list[int]]) -> Any:
    """Returns `x` with blocks of its axes moved into the batch."""
    count = len(block_shape)
    x = jnp.pad(x, [(0, 0), *map(tuple, paddings), *[(0, 0)] * (x.ndim - 1 - count)])
    batch, inner, rest = x.shape[0], x.shape[1 : 1 + count], x.shape[1 + count :]
    halves = [
        n for size, block in zip(inner, block_shape, strict=True) for n in (size // block, block)
    ]
    x = x.reshape(batch, *halves, *rest)
    # From (batch, size, block, ...) to the blocks, the batch, the sizes: the order of TensorFlow.
    order = [2 * i + 2 for i in range(count)] + [0] + [2 * i + 1 for i in range(count)]
    x = x.transpose(*order, *range(2 * count + 1, x.ndim))
    return x.reshape(batch * int(np.prod(block_shape)), *halves[::2], *rest)


def batch_to_space(x: Any, block_shape: list[int], crops: list[list[int]]) -> Any:
    """Returns `x` with blocks of the batch moved into its axes: the inverse of `space_to_batch`."""
    count = len(block_shape)
    batch = x.shape[0] // int(np.prod(block_shape))
    inner, rest = x.shape[1 : 1 + count], x.shape[1 + count :]
    x = x.reshape(*block_shape, batch, *inner, *rest)
    order = [count] + [n for i in range(count) for n in (count + 1 + i, i)]
    x = x.transpose(*order, *range(2 * count + 1, x.ndim))
    sizes = [size * block for size, block in zip(inner, block_shape, strict=True)]
    x = x.reshape(batch, *sizes, *rest)
    cuts = [slice(low, size - high) for (low, high), size in zip(crops, sizes, strict=True)]
    return x[(slice(None), *cuts)]


def depth_to_space(x: Any, *, block_size: int, data_format: str) -> Any:
    """Returns `x` with blocks of its channels moved into the axes of space."""
    x = jnp.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    batch, height, width, channels = x.shape
    parts = (batch, height, width, block_size, block_size, channels // block_size**2)
    x = x.reshape(parts).transpose(0, 1, 3, 2, 4, 5)
    x = x.reshape(batch, height * block_size, width * block_size, parts[-1])
    return jnp.moveaxis(x, -1, 1) if data_format == "NCHW" else x


def space_to_depth(x: Any, *, block_size: int, data_format: str) -> Any:
    """Returns `x` with blocks of space moved into the channels: the inverse of `depth_to_space`."""
    x = jnp.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    batch, height, width, channels = x.shape
    halves = (height // block_size, block_size, width // block_size, block_size)
    x = x.reshape(batch, *halves, channels).transpose(0, 1, 3, 2, 4, 5)
    x = x.reshape(batch, halves[0], halves[2], channels * block_size**2)
    return jnp.moveaxis(x, -1, 1) if data_format == "NCHW" else x


def patches(
    x: Any, *, ksizes: list[int], strides: list[int], rates: list[int], padding: str
) -> Any:
    """Returns the content of each window, along the channels: rows, then columns, then channels."""
    height, width = ksizes[1:3]
    # In the result, the channels of `x` vary slowest.
    found = lax.conv_general_dilated_patches(
        x,
        (height, width),
        strides[1:3],
        padding,
        rhs_dilation=rates[1:3],
        dimension_numbers=_FORMS[4],
    )
    parts = found.reshape(*found.shape[:3], x.shape[-1], height * width)
    return jnp.moveaxis(parts, -2, -1).reshape(found.shape)


def normalized(
    x: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> list[Any]:
    """Returns `x`, normalized for each channel, and the moments, which have no gradient."""
    first = data_format.startswith("NC")
    wide = (jnp.moveaxis(x, 1, -1) if first else x).astype(gamma.dtype)
    moments = [mean, variance]
    if is_training:
        axes = tuple(range(wide.ndim - 1))
        count = np.prod(wide.shape[:-1])
        mean = jnp.mean(wide, axes)
        variance = jnp.mean(jnp.square(wide - mean), axes)
        # Averages have the unbiased variance, while `x` is normalized by the biased one.
        unbiased = variance * (count / max(count - 1, 1))
        if exponential_avg_factor == 1:
            moments = [mean, unbiased]
        else:
            moments = [
                old + (new - old) * exponential_avg_factor
                for old, new in zip(moments, (mean, unbiased), strict=True)
            ]
    y = ((wide - mean) * (lax.rsqrt(variance + epsilon) * gamma) + beta).astype(x.dtype)
    kept = [lax.stop_gradient(it) for it in (*moments, mean, variance)]
    return [jnp.moveaxis(y, -1, 1) if first else y, *kept, jnp.zeros((0,), gamma.dtype)]


def _inner(values: list[int], data_format: str) -> list[int]:
    return values[2:] if data_format.startswith("NC") else values[1:-1]


def _padding(padding: str, explicit: list[int] | None, data_format: str) -> Any:
    if padding != "EXPLICIT":
        return padding
    assert explicit is not None
    return _inner(list(zip(explicit[::2], explicit[1::2], strict=True)), data_format)  # type: ignore[arg-type]


def _window_padding(padding: str, explicit: list[int] | None) -> Any:
    if padding != "EXPLICIT":
        return padding
    assert explicit is not None
    return list(zip(explicit[::2], explicit[1::2], strict=True))
