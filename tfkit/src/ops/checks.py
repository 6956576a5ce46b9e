"""Checks of the arguments of ops, so that mistakes are named before TensorFlow's kernels run."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.ops.promotion import as_tensor
from tfkit.src.symbolic.tensors import KerasTensor


def require_rank(name: str, x: Any, least: int) -> None:
    """Raises an error for a tensor with fewer than `least` axes.

    Raises:
        ValueError: when the number of axes is known and too small.
    """
    if x.shape.rank is not None and x.shape.rank < least:
        raise ValueError(f"Input should have rank >= {least}. Received: {name}.shape={x.shape}")


def require_square(name: str, x: Any) -> None:
    """Raises an error for a tensor that does not hold square matrices in its last two axes.

    Raises:
        ValueError: when the last two sizes are known and differ, or there are fewer than two axes.
    """
    require_rank(name, x, 2)
    if x.shape.rank is not None and not x.shape[-1:].is_compatible_with(x.shape[-2:-1]):
        raise ValueError(
            f"`{name}` must be a square matrix, or a batch of them. Received: {name}.shape={x.shape}"
        )


def as_square(x: Any) -> Any:
    """Returns a matrix, or a batch of matrices, as a tensor, after a check that they are square."""
    x = as_tensor(x)
    require_square("x", x)
    return x


def require_known_square(x: Any, *args: Any, **kwargs: Any) -> None:
    """Raises an error for symbolic matrices with one known size, which could have any form.

    Args:
        x: the first argument of an op.
        *args: its further arguments.
        **kwargs: its further arguments.

    Raises:
        ValueError: when one of the last two sizes is known and the other is not.
    """
    sizes = tuple(x.shape or ())[-2:] if isinstance(x, KerasTensor) else ()
    if None in sizes and any(sizes):
        raise ValueError(
            f"Expected square matrices, with two known sizes or two unknown ones. Received: shape={x.shape}"
        )


def require_integers(**sizes: Any) -> None:
    """Raises an error for sizes that are floats, or tensors of them, even with whole values.

    Raises:
        TypeError: with the name of the first such size.
    """
    for name, size in sizes.items():
        dtype = size.dtype if hasattr(size, "dtype") else None
        if isinstance(size, float) or (dtype is not None and not tf.as_dtype(dtype).is_integer):
            raise TypeError(f"`{name}` must be an integer. Received: {name}={size!r}")


def require_functions(**functions: Any) -> None:
    """Raises an error for arguments that cannot be called.

    Raises:
        TypeError: with the name of the first such argument.
    """
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"`{name}` should be a callable. Received: {name}={function!r}")


def as_indices(x: Any) -> Any:
    """Returns `x` as a tensor of integers; floats are truncated."""
    x = as_tensor(x)
    return tf.cast(x, tf.int32) if x.dtype.is_floating else x


def as_axes(axis: Any) -> list[Any]:
    """Returns one axis, an integer of any type, or a sequence of them, as a list."""
    return list(axis) if isinstance(axis, (tuple, list)) else np.atleast_1d(axis).tolist()


def positive_axes(axes: Iterable[int], ndim: int, name: str = "axis") -> list[int]:
    """Returns the axes counted from the start.

    Raises:
        ValueError: for an axis outside `[-ndim, ndim)`, and for one that is not an integer.
    """
    places = []
    for axis in axes:
        if not hasattr(axis, "__index__"):
            raise ValueError(f"`{name}` must be an integer. Received: {name}={axis!r}")
        if not -ndim <= axis < ndim:
            raise ValueError(
                f"axis {axis} is out of bounds for a tensor with {ndim} axes: `{name}` must be in "
                f"the range [-{ndim}, {ndim}). Received: {name}={axis}"
            )
        places.append(operator.index(axis) % ndim)
    return places


def one_axis(axis: Any, ndim: int) -> int:
    """Returns the only axis in `axis`, an integer or a sequence of one, counted from the start.

    Raises:
        ValueError: for none or several axes, and for one outside `[-ndim, ndim)`.
    """
    places = positive_axes(as_axes(axis), ndim)
    if len(places) != 1:
        raise ValueError(f"`axis` must be one integer. Received: axis={axis!r}")
    return places[0]
