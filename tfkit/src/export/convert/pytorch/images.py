"""TensorFlow's operations on images in PyTorch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tfkit.src.export.convert import resampling
from tfkit.src.export.convert.images import between, inside, rounded, to_hsv


def resized_nearest(
    x: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Returns images of a different size, from the nearest pixels."""
    rows, columns = (
        torch.as_tensor(
            resampling.nearest(old, new, align_corners, half_pixel_centers), device=x.device
        )
        for old, new in zip(x.shape[1:3], size, strict=True)
    )
    return x.index_select(1, rows).index_select(2, columns)


def resized_bilinear(
    x: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Returns images of a different size, by linear interpolation; floats of 32 bits."""
    weights = [
        resampling.linear(old, new, align_corners, half_pixel_centers)
        for old, new in zip(x.shape[1:3], size, strict=True)
    ]
    return _weighted(x, weights)


def resized_bicubic(
    x: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Returns images of a different size, by cubic interpolation; floats of 32 bits."""
    weights = [
        resampling.cubic(old, new, align_corners, half_pixel_centers)
        for old, new in zip(x.shape[1:3], size, strict=True)
    ]
    return _weighted(x, weights)


def spanned(
    x: Tensor,
    size: list[int],
    scale: list[float],
    translation: list[float],
    *,
    kernel_type: str,
    antialias: bool,
) -> Tensor:
    """Returns images of a different size, from all pixels in the reach of a kernel; floats of 32 bits."""
    weights = [
        resampling.spanned(old, new, factor, shift, kernel_type, antialias)
        for old, new, factor, shift in zip(x.shape[1:3], size, scale, translation, strict=True)
    ]
    return _weighted(x, weights)


def _weighted(x: Tensor, weights: list[np.ndarray]) -> Tensor:
    """Returns images of a different size, by a matrix for rows and one for columns."""
    rows, columns = (torch.as_tensor(it, dtype=torch.float32, device=x.device) for it in weights)
    return torch.einsum("bhwc,Hh,Ww->bHWc", x.to(torch.float32), rows, columns)


def projected(
    x: Tensor,
    transforms: Tensor,
    size: list[int],
    fill: Tensor,
    *,
    fill_mode: str,
    interpolation: str,
) -> Tensor:
    """Returns images whose pixels come from the positions that projective transforms give.

    `transforms` has 8 numbers in each row; positions outside are filled as `fill_mode` says.
    """
    height, width = x.shape[1:3]
    rows = torch.arange(size[0], dtype=torch.float32, device=x.device)[:, None]
    columns = torch.arange(size[1], dtype=torch.float32, device=x.device)[None, :]
    a, b, c, d, e, f, g, h = (part[:, None, None] for part in transforms.unbind(1))
    depth = g * columns + h * rows + 1
    across = inside(torch, (a * columns + b * rows + c) / depth, width, fill_mode)
    down = inside(torch, (d * columns + e * rows + f) / depth, height, fill_mode)
    dead = depth == 0

    def read(rows: Tensor, columns: Tensor) -> Tensor:
        return _read(x, rows, columns, fill)

    if interpolation == "NEAREST":
        y = read(rounded(torch, down), rounded(torch, across))
    else:
        y = between(torch, read, down, across)
    return torch.where(dead[..., None], fill.to(y.dtype), y).to(x.dtype)


def _read(x: Tensor, rows: Tensor, columns: Tensor, fill: Tensor) -> Tensor:
    """Returns pixels, and the fill value for pixels outside an image."""
    height, width = x.shape[1:3]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    batch = torch.arange(x.shape[0], device=x.device)[:, None, None]
    down = rows.clamp(0, height - 1).to(torch.int64)
    across = columns.clamp(0, width - 1).to(torch.int64)
    pixels = x[batch, down, across]
    return torch.where(inside[..., None], pixels, fill.to(x.dtype))


def rgb_to_hsv(x: Tensor) -> Tensor:
    """Returns hue, saturation and value of colors."""
    return to_hsv(torch, x, x.amax(-1), x.amin(-1))


def hsv_to_rgb(x: Tensor) -> Tensor:
    """Returns colors of hue, saturation and value."""
    hue, saturation, value = x.unbind(-1)
    # A trapezoid over the circle of hues for each colour.
    six = hue * 6
    parts = torch.stack([(six - 3).abs() - 1, 2 - (six - 2).abs(), 2 - (six - 4).abs()], -1)
    return (1 + (parts.clamp(0, 1) - 1) * saturation[..., None]) * value[..., None]


def mirrored(x: Tensor, paddings: list[list[int]], *, mode: str) -> Tensor:
    """Returns a tensor that is continued by its mirror image."""
    for axis, (before, after) in enumerate(paddings):
        if not before and not after:
            continue
        size = x.shape[axis]
        # "REFLECT" leaves out the edge itself, "SYMMETRIC" repeats it.
        edge = 1 if mode == "REFLECT" else 0
        places = [
            *range(before - 1 + edge, edge - 1, -1),
            *range(size),
            *range(size - 1 - edge, size - 1 - edge - after, -1),
        ]
        x = x.index_select(axis, torch.tensor(places, device=x.device))
    return x
