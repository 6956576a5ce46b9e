"""Operations on images in JAX: sizes, colors, projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfkit.src.export.convert import resampling
from tfkit.src.export.convert.images import between, inside, rounded, to_hsv


def resized_bilinear(
    images: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Returns images of a different size, between the four pixels around each point; floats of 32 bits."""
    images = images.astype(jnp.float32)
    # One axis after the other: the weights are products of one for each axis.
    for axis, length in ((1, size[0]), (2, size[1])):
        old = images.shape[axis]
        places = resampling.positions(old, length, align_corners, half_pixel_centers)
        floor = np.floor(places)
        low = np.maximum(floor.astype("int32"), 0)
        high = np.minimum(np.ceil(places).astype("int32"), old - 1)
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
        chosen = resampling.nearest(old, length, align_corners, half_pixel_centers)
        images = jnp.take(images, chosen, axis, mode="clip")
    return images


def rgb_to_hsv(images: Any) -> Any:
    """Returns hue, saturation and value of colors."""
    largest, least = jnp.max(images, -1), jnp.min(images, -1)
    return to_hsv(jnp, images, largest, least).astype(images.dtype)


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
        column = inside(jnp, (a * x + b * y + c) / safe, image.shape[1], fill_mode)
        row = inside(jnp, (d * x + e * y + f) / safe, image.shape[0], fill_mode)
        read = _reader(image, fill_value)
        if interpolation == "NEAREST":
            result = read(rounded(jnp, row), rounded(jnp, column))
        else:
            result = between(jnp, read, row, column)
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
