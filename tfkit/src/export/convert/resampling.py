"""Weights with which TensorFlow's kernels resize images, as matrices `(new, old)` of one axis.

Rounding is as in the kernels: positions are floats of 32 bits, and `ResizeBicubic` reads its weights
from a table with 1,024 steps between two pixels, so that they differ from the exact ones by up to 5e-4.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_STEPS = 1024  # Of the table of `ResizeBicubic`.
_LEAST = 1000.0 * float(np.finfo(np.float32).tiny)  # A smaller sum of weights is not divided by.


def _scale(old: int, new: int, align_corners: bool) -> np.float32:
    """Returns the distance of neighboring new pixels among the old ones."""
    if align_corners and new > 1:
        return np.float32(old - 1) / np.float32(new - 1)
    return np.float32(old) / np.float32(new)


def positions(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Returns where the centers of the new pixels are among the old ones."""
    scale, numbers = _scale(old, new, align_corners), np.arange(new, dtype="float32")
    half = np.float32(0.5)
    return (numbers + half) * scale - half if half_pixel_centers else numbers * scale


def nearest(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Returns the indices of the pixels that `ResizeNearestNeighbor` takes."""
    scale = _scale(old, new, align_corners)
    found = (np.arange(new) + (0.5 if half_pixel_centers else 0.0)).astype("float32") * scale
    chosen = np.floor(found + 0.5) if align_corners else np.floor(found)
    return np.clip(chosen, 0, old - 1).astype("int64")


def cubic(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Returns the weights of `ResizeBicubic`: Keys's kernel with -0.5 for half centers, or else -0.75.

    With half centers no position outside the image counts; otherwise the pixel at the border counts for
    those outside.
    """
    found = positions(old, new, align_corners, half_pixel_centers)
    first = np.floor(found)
    steps = np.rint((found - first) * np.float32(_STEPS)) / _STEPS
    slope = -0.5 if half_pixel_centers else -0.75
    weights = np.zeros((new, old))
    for place in range(new):
        taps = [_keys(abs(steps[place] - n), slope) for n in range(-1, 3)]
        indices = [int(first[place]) + n for n in range(-1, 3)]
        if half_pixel_centers:
            taps = [tap * (0 <= at < old) for tap, at in zip(taps, indices, strict=True)]
            total = sum(taps)
            taps = [tap / total for tap in taps] if abs(total) >= _LEAST else taps
        for tap, at in zip(taps, indices, strict=True):
            weights[place, min(max(at, 0), old - 1)] += tap
    return weights


def _keys(x: float, a: float) -> float:
    # Keys (1981), with the free parameter a.
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a


def spanned(
    old: int, new: int, scale: float, translation: float, kernel_type: str, antialias: bool
) -> np.ndarray:
    """Returns the weights of `ScaleAndTranslate`."""
    radius, kernel = _KERNELS[kernel_type]
    inverse = np.float32(1.0) / np.float32(scale)
    start = -inverse * np.float32(translation)
    # Against aliasing, the kernel is widened where images become smaller.
    width = max(inverse, np.float32(1.0)) if antialias else np.float32(1.0)
    weights = np.zeros((new, old))
    for place in range(new):
        at = (np.float32(place) + np.float32(0.5)) * inverse + start
        if at < 0 or at > old:
            continue
        reach = np.float32(radius) * width
        first, last = (
            math.ceil(at - reach - np.float32(0.5)),
            math.floor(at + reach - np.float32(0.5)),
        )
        first, last = (min(max(it, 0), old - 1) for it in (first, last))
        for source in range(first, last + 1):
            distance = np.float32(source) + np.float32(0.5) - at
            weights[place, source] = kernel(float(abs(distance / width)))
        total = weights[place].sum()
        if abs(total) >= _LEAST:
            weights[place] /= total
    return weights


def _lanczos(radius: float) -> tuple[float, Callable[[float], float]]:
    def kernel(x: float) -> float:
        if x > radius:
            return 0.0
        if x <= 1e-3:
            return 1.0
        angle = math.pi * x
        return radius * math.sin(angle) * math.sin(angle / radius) / (angle * angle)

    return radius, kernel


def _mitchell(x: float) -> float:
    # Mitchell and Netravali (1988), with B = C = 1/3.
    if x >= 2:
        return 0.0
    if x >= 1:
        return ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return (7 / 6 * x - 2) * x * x + 8 / 9


def _box(x: float) -> float:
    return 1.0 if x < 0.5 else 0.5 if x == 0.5 else 0.0


# Radius and weight by the distance.
_KERNELS: dict[str, tuple[float, Callable[[float], float]]] = {
    "lanczos1": _lanczos(1.0),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": (1.5, lambda x: 0.0 if x >= 1.5 else math.exp(-2 * x * x)),
    "box": (0.5, _box),
    "triangle": (1.0, lambda x: max(1.0 - x, 0.0)),
    "keyscubic": (2.0, lambda x: _keys(x, -0.5) if x < 2 else 0.0),
    "mitchellcubic": (2.0, _mitchell),
}
