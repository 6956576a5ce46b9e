"""Operations on images in JAX: sizes, colors, projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfkit.src.export.convert import resampling


def resized_bilinear(
    images: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Returns images of a different size, between the four pixels around each point; floats of 32 bits."""
    images = images.astype(jnp.float32)
    # One axis after the other: the weights are products of one for each axis.
    for axis, length in ((1, size[0]), (2, size[1])):
        old = images.shape[axis]
        places = _places(length, old, align_corners, half_pixel_centers)
        floor = jnp.floor(places)
        low = jnp.maximum(floor.astype(jnp.int32), 0)
        high = jnp.minimum(jnp.ceil(places).astype(jnp.int32), old - 1)
        shape = [-1 if n == axis else 1 for n in range(images.ndim)]
        share = (places - floor).reshape(shape)
        first = jnp.take(images, low, axis, mode="clip")
        images = first + (jnp.take(images, high, axis, mode="clip") - first) * share
    return images


def resized_bicubic(
    images: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Returns images of a different size, by cubic interpolation; floats of 32 bits."""
    weights = [
        resampling.cubic(old, new, align_corners, half_pixel_centers)
        for old, new in zip(images.shape[1:3], size, strict=True)
    ]
    return _weighted(images, weights)


def spanned(
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
    return _weighted(images, weights)


def _weighted(images: Any, weights: list[np.ndarray]) -> Any:
    rows, columns = (jnp.asarray(it, jnp.float32) for it in weights)
    # A matrix (new, old) for each axis.
    return jnp.einsum("bhwc,Hh,Ww->bHWc", images.astype(jnp.float32), rows, columns)


def resized_nearest(
    images: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Returns images of a different size, from the nearest pixels."""
    for axis, length in ((1, size[0]), (2, size[1])):
        old = images.shape[axis]
        scale = _scale(length, old, align_corners)
        places = (jnp.arange(length) + (0.5 if half_pixel_centers else 0.0)) * scale
        places = jnp.floor(places + 0.5) if align_corners else jnp.floor(places)
        chosen = jnp.clip(places.astype(jnp.int32), 0, old - 1)
        images = jnp.take(images, chosen, axis, mode="clip")
    return images


def _scale(length: int, old: int, align_corners: bool) -> Any:
    if align_corners and length > 1:
        return jnp.float32(old - 1) / jnp.float32(length - 1)
    return jnp.float32(old) / jnp.float32(length)


def _places(length: int, old: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    scale = _scale(length, old, align_corners)
    numbers = jnp.arange(length, dtype=jnp.float32)
    return (numbers + 0.5) * scale - 0.5 if half_pixel_centers else numbers * scale


def rgb_to_hsv(images: Any) -> Any:
    """Returns hue, saturation and value of colors."""
    red, green, blue = (images[..., n] for n in range(3))
    value = jnp.max(images, -1)
    span = value - jnp.min(images, -1)
    # Zero divisors are replaced, or the branch that is not chosen would have a gradient of NaN.
    saturation = jnp.where(value > 0, span / jnp.where(value > 0, value, 1), 0)
    norm = 1 / (6 * jnp.where(span > 0, span, 1))
    # The hue is near that of the largest colour: red at 0, green at 1/3, blue at 2/3.
    hue = jnp.where(
        red == value,
        norm * (green - blue),
        jnp.where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )
    hue = jnp.where(span > 0, hue, 0)
    hue = jnp.where(hue < 0, hue + 1, hue)
    return jnp.stack([hue, saturation, value], -1).astype(images.dtype)


def hsv_to_rgb(images: Any) -> Any:
    """Returns the colors of hue, saturation and value."""
    hue, saturation, value = (images[..., n] for n in range(3))
    chroma = saturation * value
    least = value - chroma
    six = hue * 6
    # A trapezoid over the circle of hues for each colour.
    red = jnp.clip(jnp.abs(six - 3) - 1, 0, 1)
    green = jnp.clip(2 - jnp.abs(six - 2), 0, 1)
    blue = jnp.clip(2 - jnp.abs(six - 4), 0, 1)
    return jnp.stack([part * chroma + least for part in (red, green, blue)], -1)


def projected(
    images: Any,
    transforms: Any,
    shape: list[int],
    fill_value: Any,
    *,
    interpolation: str,
    fill_mode: str,
) -> Any:
    """Returns images whose point `(x, y)` has the color of `((a x + b y + c) / k, (d x + e y + f) / k)`.

    The transforms are `(a, b, c, d, e, f, g, h)`, with `k = g x + h y + 1`.
    """
    height, width = shape
    x, y = jnp.meshgrid(jnp.arange(width, dtype=jnp.float32), jnp.arange(height, dtype=jnp.float32))

    def one(image: Any, transform: Any) -> Any:
        a, b, c, d, e, f, g, h = transform
        k = g * x + h * y + 1
        safe = jnp.where(k == 0, 1, k)
        column = _inside((a * x + b * y + c) / safe, image.shape[1], fill_mode)
        row = _inside((d * x + e * y + f) / safe, image.shape[0], fill_mode)
        read = _reader(image, fill_value)
        if interpolation == "NEAREST":
            result = read(_rounded(row), _rounded(column))
        else:
            result = _between(read, row, column)
        return jnp.where((k == 0)[..., None], fill_value.astype(image.dtype), result)

    # One transform may be for all images.
    if transforms.shape[0] == 1:
        return jax.vmap(lambda image: one(image, transforms[0]))(images)
    return jax.vmap(one)(images, transforms)


def _reader(image: Any, fill_value: Any) -> Callable[[Any, Any], Any]:
    height, width = image.shape[:2]

    def read(row: Any, column: Any) -> Any:
        known = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        rows = jnp.clip(row, 0, height - 1).astype(jnp.int32)
        columns = jnp.clip(column, 0, width - 1).astype(jnp.int32)
        return jnp.where(known[..., None], image[rows, columns], fill_value.astype(image.dtype))

    return read


def _between(read: Callable[[Any, Any], Any], row: Any, column: Any) -> Any:
    top, left = jnp.floor(row), jnp.floor(column)
    down, right = (row - top)[..., None], (column - left)[..., None]
    upper = (1 - right) * read(top, left) + right * read(top, left + 1)
    lower = (1 - right) * read(top + 1, left) + right * read(top + 1, left + 1)
    return (1 - down) * upper + down * lower


def _rounded(x: Any) -> Any:
    """Returns the nearest integer, and of two equally near ones the one farther from zero."""
    whole = jnp.trunc(x)
    return jnp.where(jnp.abs(x - whole) < 0.5, whole, whole + jnp.sign(x))


def _inside(place: Any, length: int, fill_mode: str) -> Any:
    """Returns a coordinate, moved by the rule for positions outside the image."""
    if fill_mode == "CONSTANT":
        return place
    if fill_mode == "REFLECT":
        # The image and its mirror image take turns, with the pixel at the border twice.
        below = place + 2 * length * jnp.trunc(-place / (2 * length))
        below = jnp.where(below < -length, below + 2 * length, -below - 1)
        above = place - 2 * length * jnp.trunc(place / (2 * length))
        above = jnp.where(above >= length, 2 * length - above - 1, above)
        place = jnp.where(place < 0, below, jnp.where(place > length - 1, above, place))
        place = jnp.where(length <= 1, 0, place)
    elif fill_mode == "WRAP":
        # As in TensorFlow's kernel, which divides by `length - 1` and moves by `length`.
        period = max(length - 1, 1)
        below = place + length * (jnp.trunc(-place / period) + 1)
        above = place - length * jnp.trunc(place / period)
        place = jnp.where(place < 0, below, jnp.where(place > length - 1, above, place))
        place = jnp.where(length <= 1, 0, place)
    return jnp.clip(place, 0, length - 1)
