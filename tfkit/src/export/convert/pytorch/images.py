"""TensorFlow's operations on images in PyTorch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tfkit.src.export.convert import resampling


def resized_nearest(
    x: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Returns images of a different size, from the nearest pixels."""
    rows, columns = (
        torch.as_tensor(_nearest(old, new, align_corners, half_pixel_centers), device=x.device)
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


def _nearest(old: int, new: int, align: bool, half: bool) -> np.ndarray:
    scale = resampling.scale_of(old, new, align)
    places = (np.arange(new) + (0.5 if half else 0.0)).astype("float32") * scale
    chosen = np.floor(places + 0.5) if align else np.floor(places)
    return np.clip(chosen, 0, old - 1).astype("int64")


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
    across = _inside((a * columns + b * rows + c) / depth, width, fill_mode)
    down = _inside((d * columns + e * rows + f) / depth, height, fill_mode)
    dead = depth == 0
    if interpolation == "NEAREST":
        y = _read(x, _rounded(down), _rounded(across), fill, fill_mode)
    else:
        top, left = down.floor(), across.floor()
        y_low, x_low = (down - top)[..., None], (across - left)[..., None]
        corner = [_read(x, top + i, left + j, fill, fill_mode) for i in (0, 1) for j in (0, 1)]
        upper = (1 - x_low) * corner[0] + x_low * corner[1]
        lower = (1 - x_low) * corner[2] + x_low * corner[3]
        y = (1 - y_low) * upper + y_low * lower
    return torch.where(dead[..., None], fill.to(y.dtype), y).to(x.dtype)


def _rounded(x: Tensor) -> Tensor:
    """Returns the nearest integer, and of two the one further from zero, not the even one as `round`."""
    whole = x.trunc()
    return torch.where((x - whole).abs() < 0.5, whole, whole + x.sign())


def _inside(place: Tensor, size: int, mode: str) -> Tensor:
    """Returns positions inside an image for positions outside, by the mode."""
    if mode == "NEAREST":
        return place.clamp(0, size - 1)
    if mode == "REFLECT":
        if size <= 1:
            return torch.zeros_like(place)
        # The image and its mirror image take turns, with the pixel at the border twice.
        double = 2.0 * size
        low = torch.where(place < -double, double * (-place / double).trunc() + place, place)
        low = torch.where(low < -size, low + double, -low - 1)
        high = place - double * (place / double).trunc()
        high = torch.where(high >= size, double - high - 1, high)
        return torch.where(place < 0, low, torch.where(place > size - 1, high, place)).clamp(
            0, size - 1
        )
    if mode == "WRAP":
        if size <= 1:
            return torch.zeros_like(place)
        # As in TensorFlow's kernel, which divides by `size - 1` and moves by `size`.
        span = size - 1.0
        low = place + size * ((-place / span).trunc() + 1)
        high = place - size * (place / span).trunc()
        return torch.where(place < 0, low, torch.where(place > span, high, place)).clamp(
            0, size - 1
        )
    return place  # fmt: skip


def _read(x: Tensor, rows: Tensor, columns: Tensor, fill: Tensor, mode: str) -> Tensor:
    """Returns pixels, and the fill value for pixels outside an image."""
    height, width = x.shape[1:3]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    batch = torch.arange(x.shape[0], device=x.device)[:, None, None]
    down = rows.clamp(0, height - 1).to(torch.int64)
    across = columns.clamp(0, width - 1).to(torch.int64)
    pixels = x[batch, down, across]
    return torch.where(inside[..., None], pixels, fill.to(x.dtype))


def to_hsv(x: Tensor) -> Tensor:
    """Returns hue, saturation and value of colors."""
    red, green, blue = x.unbind(-1)
    value, low = x.amax(-1), x.amin(-1)
    span = value - low
    safe = torch.where(span > 0, span, 1.0)
    hue = torch.where(
        red == value,
        (green - blue) / safe / 6,
        torch.where(
            green == value, (blue - red) / safe / 6 + 2 / 6, (red - green) / safe / 6 + 4 / 6
        ),
    )
    hue = torch.where(span > 0, hue, 0.0)
    hue = torch.where(hue < 0, hue + 1, hue)
    saturation = torch.where(value > 0, span / torch.where(value > 0, value, 1.0), 0.0)
    return torch.stack([hue, saturation, value], -1)


def to_rgb(x: Tensor) -> Tensor:
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
