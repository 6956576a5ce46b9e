"""TensorFlow's operations on images in PyTorch."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def resized_nearest(
    x: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Returns images of another size, of the nearest pixels."""
    rows, columns = (
        torch.as_tensor(_nearest(old, new, align_corners, half_pixel_centers), device=x.device)
        for old, new in zip(x.shape[1:3], size, strict=True)
    )
    return x.index_select(1, rows).index_select(2, columns)


def resized_bilinear(
    x: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Returns images of another size, by linear interpolation."""
    return _resized(x, size, "bilinear", align_corners, half_pixel_centers)


def resized_bicubic(
    x: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Returns images of another size, by cubic interpolation."""
    return _resized(x, size, "bicubic", align_corners, half_pixel_centers)


def _resized(x: Tensor, size: list[int], kind: str, align: bool, half: bool) -> Tensor:
    """Returns images of another size, by a matrix for rows and one for columns."""
    wide = x if x.is_floating_point() else x.to(torch.float32)
    rows, columns = (
        torch.as_tensor(_weights(old, new, kind, align, half), dtype=wide.dtype, device=x.device)
        for old, new in zip(x.shape[1:3], size, strict=True)
    )
    return torch.einsum("bhwc,Hh,Ww->bHWc", wide, rows, columns)


def _positions(old: int, new: int, align: bool, half: bool) -> np.ndarray:
    scale = (old - 1) / (new - 1) if align and new > 1 else old / new
    places = np.arange(new)
    return ((places + 0.5) * scale - 0.5) if half else places * scale


def _nearest(old: int, new: int, align: bool, half: bool) -> np.ndarray:
    scale = (old - 1) / (new - 1) if align and new > 1 else old / new
    places = (np.arange(new) + (0.5 if half else 0.0)).astype("float32") * np.float32(scale)
    chosen = np.floor(places + 0.5) if align else np.floor(places)
    return np.clip(chosen, 0, old - 1).astype("int64")


def _weights(old: int, new: int, kind: str, align: bool, half: bool) -> np.ndarray:
    """Returns the weight of each old position for each new one."""
    positions = _positions(old, new, align, half)
    weights = np.zeros((new, old))
    for place, position in enumerate(positions):
        first = math.floor(position)
        if kind == "bilinear":
            taps = {first: 1 - (position - first), first + 1: position - first}
        else:  # Keys's kernel; of the positions outside none counts if pixels have half centers.
            taps = {
                at: _keys(position - at, -0.5 if half else -0.75)
                for at in range(first - 1, first + 3)
            }
            if half:
                taps = {at: weight for at, weight in taps.items() if 0 <= at < old}
                total = sum(taps.values())
                taps = {at: weight / total for at, weight in taps.items()}
        for at, weight in taps.items():
            weights[place, min(max(at, 0), old - 1)] += weight
    return weights  # fmt: skip


def _keys(x: float, a: float) -> float:
    x = abs(x)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def projected(
    x: Tensor,
    transforms: Tensor,
    size: list[int],
    fill: Tensor,
    *,
    fill_mode: str,
    interpolation: str,
) -> Tensor:
    """Returns images whose pixels come from the places that projective transforms give.

    `transforms` has 8 numbers a row; places outside are filled as `fill_mode` says.
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
        y = _read(x, down.round(), across.round(), fill, fill_mode)
    else:
        top, left = down.floor(), across.floor()
        y_low, x_low = (down - top)[..., None], (across - left)[..., None]
        corner = [_read(x, top + i, left + j, fill, fill_mode) for i in (0, 1) for j in (0, 1)]
        upper = (1 - x_low) * corner[0] + x_low * corner[1]
        lower = (1 - x_low) * corner[2] + x_low * corner[3]
        y = (1 - y_low) * upper + y_low * lower
    return torch.where(dead[..., None], fill.to(y.dtype), y).to(x.dtype)


def _inside(place: Tensor, size: int, mode: str) -> Tensor:
    """Returns places inside of an image for those outside, by the mode."""
    if mode == "NEAREST":
        return place.clamp(0, size - 1)
    if mode == "REFLECT":
        if size <= 1:
            return torch.zeros_like(place)
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
        span = size - 1.0
        low = place + size * ((-place / span).trunc() + 1)
        high = place - size * (place / span).trunc()
        return torch.where(place < 0, low, torch.where(place > span, high, place)).clamp(
            0, size - 1
        )
    return place  # fmt: skip


def _read(x: Tensor, rows: Tensor, columns: Tensor, fill: Tensor, mode: str) -> Tensor:
    """Returns pixels, and the fill value for those outside of an image."""
    height, width = x.shape[1:3]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    batch = torch.arange(x.shape[0], device=x.device)[:, None, None]
    down = rows.clamp(0, height - 1).to(torch.int64)
    across = columns.clamp(0, width - 1).to(torch.int64)
    pixels = x[batch, down, across]
    return torch.where(inside[..., None], pixels, fill.to(x.dtype))


def to_hsv(x: Tensor) -> Tensor:
    """Returns hue, saturation and value of colours."""
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
    """Returns colours of hue, saturation and value."""
    hue, saturation, value = x.unbind(-1)
    six = hue * 6
    parts = torch.stack([(six - 3).abs() - 1, 2 - (six - 2).abs(), 2 - (six - 4).abs()], -1)
    return (1 + (parts.clamp(0, 1) - 1) * saturation[..., None]) * value[..., None]


def mirrored(x: Tensor, paddings: list[list[int]], *, mode: str) -> Tensor:
    """Returns a tensor that is continued by its mirror image."""
    for axis, (before, after) in enumerate(paddings):
        if not before and not after:
            continue
        size = x.shape[axis]
        edge = 1 if mode == "REFLECT" else 0
        places = [
            *range(before - 1 + edge, edge - 1, -1),
            *range(size),
            *range(size - 1 - edge, size - 1 - edge - after, -1),
        ]
        x = x.index_select(axis, torch.tensor(places, device=x.device))
    return x
