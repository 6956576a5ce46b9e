"""Formulas on images in JAX and PyTorch: sizes, colors, projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from tfkit.src.export.convert import resampling
from tfkit.src.export.convert.kit import Kit


def resized_nearest(
    kit: Kit, images: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Returns images of a different size, from the nearest pixels."""
    rows, columns = (
        kit.array(resampling.nearest(old, new, align_corners, half_pixel_centers), images)
        for old, new in zip(images.shape[1:3], size, strict=True)
    )
    return images[:, rows][:, :, columns]


def resized_bilinear(
    kit: Kit, images: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Returns images of a different size, between the four pixels around each point; floats of 32 bits."""
    images = kit.cast(images, "float32")
    # One axis after the other: the weights are products of one for each axis.
    for axis, length in ((1, size[0]), (2, size[1])):
        old = images.shape[axis]
        places = resampling.positions(old, length, align_corners, half_pixel_centers)
        floor = numpy.floor(places)
        low = kit.array(numpy.maximum(floor.astype("int32"), 0), images)
        high = kit.array(numpy.minimum(numpy.ceil(places).astype("int32"), old - 1), images)
        share = kit.array((places - floor).reshape(-1, *[1] * (3 - axis)), images)
        first, second = (
            images[:, chosen] if axis == 1 else images[:, :, chosen] for chosen in (low, high)
        )
        images = first + (second - first) * share
    return images


def resized_bicubic(
    kit: Kit, images: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Returns images of a different size, by cubic interpolation; floats of 32 bits."""
    weights = [
        resampling.cubic(old, new, align_corners, half_pixel_centers)
        for old, new in zip(images.shape[1:3], size, strict=True)
    ]
    return _weighted(kit, images, weights)


def spanned(
    kit: Kit,
    images: Any,
    size: list[int],
    scale: list[float],
    translation: list[float],
    *,
    kernel_type: str,
    antialias: bool,
) -> Any:
    """Returns images of a different size, from all pixels in the reach of a kernel; floats of 32 bits."""
    weights = [
        resampling.spanned(old, new, factor, shift, kernel_type, antialias)
        for old, new, factor, shift in zip(images.shape[1:3], size, scale, translation, strict=True)
    ]
    return _weighted(kit, images, weights)


def _weighted(kit: Kit, images: Any, weights: list[numpy.ndarray]) -> Any:
    """Returns images of a different size, by a matrix (new, old) for rows and one for columns."""
    rows, columns = (kit.array(it.astype("float32"), images) for it in weights)
    return kit.np.einsum("bhwc,Hh,Ww->bHWc", kit.cast(images, "float32"), rows, columns)


def projected(
    kit: Kit,
    images: Any,
    transforms: Any,
    size: list[int],
    fill: Any,
    *,
    fill_mode: str,
    interpolation: str,
) -> Any:
    """Returns images whose point `(x, y)` has the color of `((a x + b y + c) / k, (d x + e y + f) / k)`.

    The transforms are `(a, b, c, d, e, f, g, h)`, with `k = g x + h y + 1`, one for each image or for all.
    """
    np = kit.np
    y = kit.cast(kit.arange(size[0], images), "float32")[:, None]
    x = kit.cast(kit.arange(size[1], images), "float32")[None, :]
    a, b, c, d, e, f, g, h = (transforms[:, n, None, None] for n in range(8))
    k = g * x + h * y + 1
    safe = np.where(k == 0, 1, k)
    across = _inside(np, (a * x + b * y + c) / safe, images.shape[2], fill_mode)
    down = _inside(np, (d * x + e * y + f) / safe, images.shape[1], fill_mode)

    def read(rows: Any, columns: Any) -> Any:
        return _pixels(kit, images, rows, columns, fill)

    if interpolation == "NEAREST":
        result = read(_rounded(np, down), _rounded(np, across))
    else:
        result = _between(np, read, down, across)
    filled = np.where((k == 0)[..., None], kit.cast(fill, result.dtype), result)
    return kit.cast(filled, images.dtype)


def _pixels(kit: Kit, images: Any, rows: Any, columns: Any, fill: Any) -> Any:
    """Returns pixels, and the fill value for pixels outside an image."""
    height, width = images.shape[1:3]
    known = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    down = kit.cast(kit.np.clip(rows, 0, height - 1), "int32")
    across = kit.cast(kit.np.clip(columns, 0, width - 1), "int32")
    pixels = images[kit.arange(images.shape[0], images)[:, None, None], down, across]
    return kit.np.where(known[..., None], pixels, kit.cast(fill, images.dtype))


def rgb_to_hsv(kit: Kit, images: Any) -> Any:
    """Returns hue, saturation and value of colors, which are along the last axis."""
    where = kit.np.where
    red, green, blue = (images[..., n] for n in range(3))
    value, least = kit.np.amax(images, -1), kit.np.amin(images, -1)
    span = value - least
    # Zero divisors are replaced, or the branch that is not chosen would have a gradient of NaN.
    saturation = where(value > 0, span / where(value > 0, value, 1.0), 0.0)
    norm = 1 / (6 * where(span > 0, span, 1.0))
    # The hue is near that of the largest part: red at 0, green at 1/3, blue at 2/3.
    hue = where(
        red == value,
        norm * (green - blue),
        where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )
    hue = where(span > 0, hue, 0.0)
    hue = where(hue < 0, hue + 1, hue)
    return kit.np.stack([hue, saturation, value], -1)


def hsv_to_rgb(kit: Kit, images: Any) -> Any:
    """Returns the colors of hue, saturation and value."""
    np = kit.np
    hue, saturation, value = (images[..., n] for n in range(3))
    chroma = saturation * value
    six = hue * 6
    # A trapezoid over the circle of hues for each color.
    parts = [np.abs(six - 3) - 1, 2 - np.abs(six - 2), 2 - np.abs(six - 4)]
    return np.stack([np.clip(it, 0, 1) * chroma + (value - chroma) for it in parts], -1)


def _between(xp: Any, read: Callable[[Any, Any], Any], row: Any, column: Any) -> Any:
    """Returns the values between the four pixels around each point; `read` returns pixels."""
    top, left = xp.floor(row), xp.floor(column)
    down, right = (row - top)[..., None], (column - left)[..., None]
    upper = (1 - right) * read(top, left) + right * read(top, left + 1)
    lower = (1 - right) * read(top + 1, left) + right * read(top + 1, left + 1)
    return (1 - down) * upper + down * lower


def _rounded(xp: Any, x: Any) -> Any:
    """Returns the nearest integer, and of two equally near ones the one farther from zero."""
    whole = xp.trunc(x)
    return xp.where(xp.abs(x - whole) < 0.5, whole, whole + xp.sign(x))


def _inside(xp: Any, place: Any, length: int, fill_mode: str) -> Any:
    """Returns a coordinate, moved by the rule for positions outside the image."""
    if fill_mode == "CONSTANT":
        return place
    if fill_mode != "NEAREST" and length <= 1:
        return xp.zeros_like(place)
    below = above = place
    if fill_mode == "REFLECT":
        # The image and its mirror image take turns, with the pixel at the border twice.
        below = place + 2 * length * xp.trunc(-place / (2 * length))
        below = xp.where(below < -length, below + 2 * length, -below - 1)
        above = place - 2 * length * xp.trunc(place / (2 * length))
        above = xp.where(above >= length, 2 * length - above - 1, above)
    elif fill_mode == "WRAP":
        # As in TensorFlow's kernel, which divides by `length - 1` and moves by `length`.
        below = place + length * (xp.trunc(-place / (length - 1)) + 1)
        above = place - length * xp.trunc(place / (length - 1))
    place = xp.where(place < 0, below, xp.where(place > length - 1, above, place))
    return xp.clip(place, 0, length - 1)
