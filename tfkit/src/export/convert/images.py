"""Formulas on images in JAX and PyTorch: `xp` is `jax.numpy` or `torch`, which have these functions alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def to_hsv(xp: Any, images: Any, value: Any, least: Any) -> Any:
    """Returns hue, saturation and value of colors.

    Args:
        xp: the library.
        images: the colors, along the last axis.
        value: the largest part of each color.
        least: the smallest part.
    """
    red, green, blue = (images[..., n] for n in range(3))
    span = value - least
    # Zero divisors are replaced, or the branch that is not chosen would have a gradient of NaN.
    saturation = xp.where(value > 0, span / xp.where(value > 0, value, 1.0), 0.0)
    norm = 1 / (6 * xp.where(span > 0, span, 1.0))
    # The hue is near that of the largest part: red at 0, green at 1/3, blue at 2/3.
    hue = xp.where(
        red == value,
        norm * (green - blue),
        xp.where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )
    hue = xp.where(span > 0, hue, 0.0)
    hue = xp.where(hue < 0, hue + 1, hue)
    return xp.stack([hue, saturation, value], -1)


def between(xp: Any, read: Callable[[Any, Any], Any], row: Any, column: Any) -> Any:
    """Returns the values between the four pixels around each point; `read` returns pixels."""
    top, left = xp.floor(row), xp.floor(column)
    down, right = (row - top)[..., None], (column - left)[..., None]
    upper = (1 - right) * read(top, left) + right * read(top, left + 1)
    lower = (1 - right) * read(top + 1, left) + right * read(top + 1, left + 1)
    return (1 - down) * upper + down * lower


def rounded(xp: Any, x: Any) -> Any:
    """Returns the nearest integer, and of two equally near ones the one farther from zero."""
    whole = xp.trunc(x)
    return xp.where(xp.abs(x - whole) < 0.5, whole, whole + xp.sign(x))


def inside(xp: Any, place: Any, length: int, fill_mode: str) -> Any:
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
