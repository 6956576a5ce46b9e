"""TensorFlow's convolutions and poolings in PyTorch, which has channels before the axes of space."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tfkit.src.convert.pytorch.operation import Operation as Node

_CONVOLUTIONS: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED: dict[int, Any] = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_MAXIMUM: dict[int, Any] = {2: F.max_pool2d, 3: F.max_pool3d}
_MEAN: dict[int, Any] = {2: F.avg_pool2d, 3: F.avg_pool3d}


def to_first(x: Tensor) -> Tensor:
    """Returns a tensor with the last axis, of channels, after the batch."""
    return x.movedim(-1, 1)


def to_last(x: Tensor) -> Tensor:
    """Returns a tensor with the channels at the end."""
    return x.movedim(1, -1)


def _is_first(node: Node) -> bool:
    return node.attributes.get("data_format", "NHWC").startswith("NC")


def _of_space(node: Node, name: str, count: int) -> list[int]:
    """Returns the entries of an attribute, of all axes, for those of space."""
    values = node.attributes.get(name) or [1] * (count + 2)
    if len(values) == count:
        return values
    return values[2:] if _is_first(node) else values[1:-1]


def _padding(node: Node, sizes: Any, kernel: Any, strides: Any, rates: Any) -> list[Any]:
    """Returns the padding before and after each axis of space."""
    if node["padding"] == "VALID":
        return [(0, 0)] * len(kernel)
    if node["padding"] == "EXPLICIT":
        pads = node["explicit_paddings"]
        pairs = list(zip(pads[::2], pads[1::2], strict=True))
        return pairs[2:] if _is_first(node) else pairs[1:-1]
    pairs = []
    for size, width, stride, rate in zip(sizes, kernel, strides, rates, strict=True):
        steps = -(-size // stride)
        total = max((steps - 1) * stride + (width - 1) * rate + 1 - size, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def padded(x: Tensor, pairs: Any, value: float = 0.0) -> Tensor:
    """Returns a tensor, padded along its last axes; negative widths cut off."""
    flat = list(itertools.chain(*reversed(list(pairs))))
    return F.pad(x, flat, value=value) if any(width != 0 for width in flat) else x


def convolution(node: Node, x: Tensor, kernel: Tensor) -> Tensor:
    """Returns a convolution; the number of groups follows from the channels."""
    count = kernel.ndim - 2
    x = x if _is_first(node) else to_first(x)
    strides = _of_space(node, "strides", count)
    rates = _of_space(node, "dilations", count)
    pairs = _padding(node, x.shape[2:], kernel.shape[:count], strides, rates)
    groups = x.shape[1] // kernel.shape[-2]
    weight = kernel.movedim((-1, -2), (0, 1))
    if all(before == after for before, after in pairs):
        y = _CONVOLUTIONS[count](
            x, weight, None, strides, [before for before, _ in pairs], rates, groups
        )
    else:
        y = _CONVOLUTIONS[count](padded(x, pairs), weight, None, strides, 0, rates, groups)
    return y if _is_first(node) else to_last(y)


def depthwise(node: Node, x: Tensor, kernel: Tensor) -> Tensor:
    """Returns a convolution of each channel with kernels of its own."""
    height, width, channels, multiplier = kernel.shape
    kernel = kernel.reshape(height, width, 1, channels * multiplier)
    return convolution(node, x, kernel)


def transposed(node: Node, sizes: list[Any], kernel: Tensor, y: Tensor) -> Tensor:
    """Returns the gradient of a convolution by its input, of the given sizes."""
    count = kernel.ndim - 2
    y = y if _is_first(node) else to_first(y)
    strides = _of_space(node, "strides", count)
    rates = _of_space(node, "dilations", count)
    space = sizes[2:] if _is_first(node) else sizes[1:-1]
    pairs = _padding(node, space, kernel.shape[:count], strides, rates)
    channels = sizes[1] if _is_first(node) else sizes[-1]
    groups = int(channels) // kernel.shape[-2]
    weight = kernel.movedim((-1, -2), (0, 1))
    x = _TRANSPOSED[count](y, weight, None, strides, 0, 0, groups, rates)
    cut = [
        (-before, wanted - (size - before))
        for (before, _), size, wanted in zip(pairs, x.shape[2:], space, strict=True)
    ]
    x = padded(x, cut)
    return x if _is_first(node) else to_last(x)


def maximum(node: Node, x: Tensor) -> Tensor:
    """Returns the maxima of windows."""
    return _pooled(node, x, -torch.inf, _MAXIMUM)


def mean(node: Node, x: Tensor) -> Tensor:
    """Returns the means of windows, of what is not padding."""
    summed = _pooled(node, x, 0.0, _MEAN)
    if node["padding"] == "VALID":
        return summed
    return summed / _pooled(node, torch.ones_like(x), 0.0, _MEAN)


def _pooled(node: Node, x: Tensor, value: float, functions: dict[int, Any]) -> Tensor:
    count = x.ndim - 2
    x = x if _is_first(node) else to_first(x)
    kernel, strides = _of_space(node, "ksize", count), _of_space(node, "strides", count)
    pairs = _padding(node, x.shape[2:], kernel, strides, [1] * count)
    y = functions[count](padded(x, pairs, value), kernel, strides)
    return y if _is_first(node) else to_last(y)


def space_to_batch(node: Node, x: Tensor, blocks: list[int], pads: Any) -> Tensor:
    """Returns a tensor whose blocks of space are in the batch."""
    count = len(blocks)
    rest = [(0, 0)] * (x.ndim - 1 - count)
    x = padded(x, [*map(tuple, pads), *rest])
    sizes = [size // block for size, block in zip(x.shape[1:], blocks, strict=False)]
    split = [part for pair in zip(sizes, blocks, strict=True) for part in pair]
    x = x.reshape(x.shape[0], *split, *x.shape[1 + count :])
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    x = x.permute(*inner, 0, *outer, *range(2 * count + 1, x.ndim))
    return x.flatten(0, count)


def batch_to_space(node: Node, x: Tensor, blocks: list[int], crops: Any) -> Tensor:
    """Returns a tensor whose batch becomes blocks of space."""
    count = len(blocks)
    total = 1
    for block in blocks:
        total *= block
    sizes = x.shape[1 : 1 + count]
    x = x.reshape(*blocks, x.shape[0] // total, *x.shape[1:])
    order = [count]
    for place in range(count):
        order += [count + 1 + place, place]
    x = x.permute(*order, *range(2 * count + 1, x.ndim))
    merged = [size * block for size, block in zip(sizes, blocks, strict=True)]
    x = x.reshape(x.shape[0], *merged, *x.shape[2 * count + 1 :])
    rest = [(0, 0)] * (x.ndim - 1 - count)
    return padded(x, [*((-before, -after) for before, after in crops), *rest])
