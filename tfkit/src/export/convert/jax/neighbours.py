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


def _inner(values: list[int], data_format: str) -> list[int]:
    return values[2:] if data_format.startswith("NC") else values[1:-1]


def _padding(padding: str, explicit: list[int] | None, data_format: str) -> Any:
    pads = _window_padding(padding, explicit)
    return _inner(pads, data_format) if padding == "EXPLICIT" else pads


def _window_padding(padding: str, explicit: list[int] | None) -> Any:
    if padding != "EXPLICIT":
        return padding
    assert explicit is not None
    return list(zip(explicit[::2], explicit[1::2], strict=True))
