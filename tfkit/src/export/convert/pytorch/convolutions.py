"""TensorFlow's convolutions and poolings in PyTorch, which has channels before the axes of space.

Tensors with channels last are viewed with a different order of axes, not copied: PyTorch computes in that
format.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tfkit.src.export.convert.host import with_attributes_of
from tfkit.src.export.convert.pytorch.kit import padded

_CONVOLUTIONS: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED: dict[int, Any] = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_MAXIMUM: dict[int, Any] = {2: F.max_pool2d, 3: F.max_pool3d}
_MEAN: dict[int, Any] = {2: F.avg_pool2d, 3: F.avg_pool3d}


def _to_first(x: Tensor, data_format: str) -> Tensor:
    """Returns a tensor with the channels after the batch."""
    return x if data_format.startswith("NC") else x.movedim(-1, 1)


def _from_first(x: Tensor, data_format: str) -> Tensor:
    """Returns a tensor with the channels in the position of the data format."""
    return x if data_format.startswith("NC") else x.movedim(1, -1)


def _of_space(values: Any, data_format: str, count: int) -> list[Any]:
    """Returns the entries for the axes of space, of an attribute with entries for all axes."""
    values = values or [1] * (count + 2)
    if len(values) == count:
        return list(values)
    return list(values[2:] if data_format.startswith("NC") else values[1:-1])


def _padding(
    padding: str,
    explicit: Any,
    data_format: str,
    sizes: Any,
    kernel: Any,
    strides: Any,
    rates: Any,
) -> list[Any]:
    """Returns the padding before and after each axis of space."""
    if padding == "VALID":
        return [(0, 0)] * len(kernel)
    if padding == "EXPLICIT":
        pairs = list(zip(explicit[::2], explicit[1::2], strict=True))
        return _of_space(pairs, data_format, len(kernel))
    pairs = []
    for size, width, stride, rate in zip(sizes, kernel, strides, rates, strict=True):
        steps = -(-size // stride)
        # TensorFlow's padding "SAME" depends on the size, and may be one more at the end.
        total = max((steps - 1) * stride + (width - 1) * rate + 1 - size, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def convolution(
    x: Tensor,
    kernel: Tensor,
    bias: Tensor | None = None,
    *,
    strides: Any,
    padding: str,
    dilations: Any,
    explicit_paddings: Any,
    data_format: str,
) -> Tensor:
    """Returns a convolution; the number of groups follows from the channels."""
    count = kernel.ndim - 2
    x = _to_first(x, data_format)
    steps, rates = (_of_space(it, data_format, count) for it in (strides, dilations))
    pairs = _padding(
        padding, explicit_paddings, data_format, x.shape[2:], kernel.shape[:count], steps, rates
    )
    groups = x.shape[1] // kernel.shape[-2]
    weight = kernel.movedim((-1, -2), (0, 1))
    # PyTorch's own padding is the same at both ends; any other is a separate operation.
    if all(before == after for before, after in pairs):
        widths: Any = [before for before, _ in pairs]
    else:
        x, widths = padded(x, pairs), 0
    y = _CONVOLUTIONS[count](x, weight, bias, steps, widths, rates, groups)
    return _from_first(y, data_format)


@with_attributes_of(convolution)
def with_bias(x: Tensor, kernel: Tensor, bias: Tensor, **options: Any) -> Tensor:
    """Returns a convolution with a bias: an operation with one more input."""
    return convolution(x, kernel, bias, **options)


@with_attributes_of(convolution)
def depthwise(x: Tensor, kernel: Tensor, **options: Any) -> Tensor:
    """Returns a convolution of each channel with its own kernels."""
    height, width, channels, multiplier = kernel.shape
    # As many groups as channels, each with `multiplier` filters.
    return convolution(x, kernel.reshape(height, width, 1, channels * multiplier), **options)


def transposed(
    input_sizes: list[Any],
    kernel: Tensor,
    y: Tensor,
    *,
    strides: Any,
    padding: str,
    dilations: Any,
    explicit_paddings: Any,
    data_format: str,
) -> Tensor:
    """Returns the gradient of a convolution by its input, of the given sizes."""
    count = kernel.ndim - 2
    y = _to_first(y, data_format)
    steps, rates = (_of_space(it, data_format, count) for it in (strides, dilations))
    first = data_format.startswith("NC")
    space = input_sizes[2:] if first else input_sizes[1:-1]
    pairs = _padding(
        padding, explicit_paddings, data_format, space, kernel.shape[:count], steps, rates
    )
    groups = int(input_sizes[1 if first else -1]) // kernel.shape[-2]
    weight = kernel.movedim((-1, -2), (0, 1))
    x = _TRANSPOSED[count](y, weight, None, steps, 0, 0, groups, rates)
    cut = [
        # The transposed convolution gives the padded size: the padding is cut off, and what
        # strides left out is added.
        (-before, wanted - (size - before))
        for (before, _), size, wanted in zip(pairs, x.shape[2:], space, strict=True)
    ]
    return _from_first(padded(x, cut), data_format)


def maximum(
    x: Tensor,
    *,
    ksize: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
) -> Tensor:
    """Returns the maxima of windows."""
    return _pooled(x, -torch.inf, _MAXIMUM, ksize, strides, padding, explicit_paddings, data_format)


def mean(x: Tensor, *, ksize: Any, strides: Any, padding: str, data_format: str) -> Tensor:
    """Returns the means of windows, of what is not padding."""
    summed = _pooled(x, 0.0, _MEAN, ksize, strides, padding, None, data_format)
    if padding == "VALID":
        return summed
    # The number of entries of each window that are not padding, as a mean of ones.
    ones = torch.ones_like(x)
    return summed / _pooled(ones, 0.0, _MEAN, ksize, strides, padding, None, data_format)


def _pooled(
    x: Tensor,
    value: float,
    functions: dict[int, Any],
    ksize: Any,
    strides: Any,
    padding: str,
    explicit: Any,
    data_format: str,
) -> Tensor:
    count = x.ndim - 2
    x = _to_first(x, data_format)
    kernel, steps = (_of_space(it, data_format, count) for it in (ksize, strides))
    pairs = _padding(padding, explicit, data_format, x.shape[2:], kernel, steps, [1] * count)
    return _from_first(functions[count](padded(x, pairs, value), kernel, steps), data_format)


def patches(x: Tensor, *, ksizes: Any, strides: Any, rates: Any, padding: str) -> Tensor:
    """Returns the content of each window, along the channels: rows, then columns, then channels."""
    kernel, steps, spread = (list(it[1:3]) for it in (ksizes, strides, rates))
    x = x.movedim(-1, 1)
    pairs = _padding(padding, None, "NHWC", x.shape[2:], kernel, steps, spread)
    x = padded(x, pairs)
    for axis, (width, step, rate) in enumerate(zip(kernel, steps, spread, strict=True)):
        count = (x.shape[2 + axis] - (width - 1) * rate - 1) // step + 1
        starts = torch.arange(count, device=x.device)[:, None] * step
        places = (starts + torch.arange(width, device=x.device) * rate).reshape(-1)
        x = x.index_select(2 + axis, places)
    batch, channels, rows, columns = x.shape
    x = x.reshape(batch, channels, rows // kernel[0], kernel[0], columns // kernel[1], kernel[1])
    return x.permute(0, 2, 4, 3, 5, 1).flatten(3)


def taken(x: Tensor, index: Any) -> Tensor:
    """Returns `x[index]`, for an index of NumPy, which may have negative steps."""
    index = list(index)
    consumed = sum(item is not None and item is not Ellipsis for item in index)
    flips, axis = [], 0
    for place, item in enumerate(index):
        if item is Ellipsis:
            axis += x.ndim - consumed
        elif item is not None:
            if isinstance(item, slice) and item.step == 1:
                index[place] = slice(item.start, item.stop)
            elif isinstance(item, slice) and item.step < 0:
                # PyTorch has no negative steps: the same elements of the mirrored axis.
                first, last, step = item.indices(x.shape[axis])
                size = x.shape[axis]
                flips.append(axis)
                index[place] = slice(size - 1 - first, size - 1 - last, -step)
            axis += 1
    return (x.flip(flips) if flips else x)[tuple(index)]
