"""Checks of what ops are given, so that a mistake is named before TensorFlow's kernels meet it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tfkit.ops.promotion import as_tensor


def require_rank(name: str, x: Any, least: int) -> None:
    """Refuses a tensor with fewer than `least` axes.

    Raises:
        ValueError: when the number of axes is known and too small.
    """
    if x.shape.rank is not None and x.shape.rank < least:
        raise ValueError(f"`{name}` must have rank >= {least}. Received: {name}.shape={x.shape}")


def require_square(name: str, x: Any) -> None:
    """Refuses a tensor that does not hold square matrices in its last two axes.

    Raises:
        ValueError: when the last two sizes are known and differ, or there are fewer than two axes.
    """
    require_rank(name, x, 2)
    if x.shape.rank is not None and not x.shape[-1:].is_compatible_with(x.shape[-2:-1]):
        raise ValueError(
            f"`{name}` must be a square matrix, or a batch of them. Received: {name}.shape={x.shape}"
        )


def as_indices(x: Any) -> Any:
    """`x` as a tensor of integers; floats lose what is after the point."""
    x = as_tensor(x)
    return tf.cast(x, tf.int32) if x.dtype.is_floating else x


def positive_axes(axes: Iterable[int], ndim: int, name: str = "axis") -> list[int]:
    """The axes counted from the start.

    Raises:
        ValueError: for an axis outside `[-ndim, ndim)`.
    """
    axes = list(axes)
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ValueError(
                f"axis {axis} is out of bounds for a tensor with {ndim} axes: `{name}` must be in "
                f"the range [-{ndim}, {ndim}). Received: {name}={axis}"
            )
    return [axis % ndim for axis in axes]
