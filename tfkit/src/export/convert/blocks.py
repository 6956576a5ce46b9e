"""Formulas that move blocks of positions to the batch or the channels and back, in JAX and PyTorch."""

from __future__ import annotations

import math
from typing import Any

from tfkit.src.export.convert.kit import Kit


def space_to_batch(kit: Kit, x: Any, block_shape: list[int], paddings: Any) -> Any:
    """Returns a batch in which the positions of a block are in separate rows."""
    count = len(block_shape)
    x = kit.pad(x, [(0, 0), *paddings, *[(0, 0)] * (x.ndim - 1 - count)])
    batch, inner, rest = x.shape[0], x.shape[1 : 1 + count], x.shape[1 + count :]
    sizes = [size // block for size, block in zip(inner, block_shape, strict=True)]
    split = [part for pair in zip(sizes, block_shape, strict=True) for part in pair]
    x = x.reshape(batch, *split, *rest)
    # From (batch, size, block, ...) to the blocks, the batch, the sizes: the order of TensorFlow.
    order = (*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2))
    x = kit.np.moveaxis(x, order, tuple(range(len(order))))
    return x.reshape(batch * math.prod(block_shape), *sizes, *rest)


def batch_to_space(kit: Kit, x: Any, block_shape: list[int], crops: Any) -> Any:
    """Reverses `space_to_batch`."""
    count = len(block_shape)
    batch = x.shape[0] // math.prod(block_shape)
    inner, rest = x.shape[1 : 1 + count], x.shape[1 + count :]
    x = x.reshape(*block_shape, batch, *inner, *rest)
    order = (count, *(axis for n in range(count) for axis in (count + 1 + n, n)))
    x = kit.np.moveaxis(x, order, tuple(range(len(order))))
    sizes = [size * block for size, block in zip(inner, block_shape, strict=True)]
    x = x.reshape(batch, *sizes, *rest)
    kept = [slice(low, size - high) for (low, high), size in zip(crops, sizes, strict=True)]
    return x[(slice(None), *kept)]


def depth_to_space(kit: Kit, x: Any, *, block_size: int, data_format: str) -> Any:
    """Returns larger images, whose pixels are parts of the channels."""
    x = kit.np.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    batch, height, width, channels = x.shape
    rest = channels // block_size**2
    x = x.reshape(batch, height, width, block_size, block_size, rest)
    x = kit.np.swapaxes(x, 2, 3).reshape(batch, height * block_size, width * block_size, rest)
    return kit.np.moveaxis(x, -1, 1) if data_format == "NCHW" else x


def space_to_depth(kit: Kit, x: Any, *, block_size: int, data_format: str) -> Any:
    """Reverses `depth_to_space`."""
    x = kit.np.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    batch, height, width, channels = x.shape
    rows, columns = height // block_size, width // block_size
    x = x.reshape(batch, rows, block_size, columns, block_size, channels)
    x = kit.np.swapaxes(x, 2, 3).reshape(batch, rows, columns, channels * block_size**2)
    return kit.np.moveaxis(x, -1, 1) if data_format == "NCHW" else x
