"""Converts class indices to one-hot vectors, and normalizes vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.nests import brief
from tfkit.src.ops import normalization
from tfkit.src.ops.losses import one_hot


@shortened
def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Returns class indices as vectors with a one at the index of the class and zeros elsewhere.

    Args:
        x: integers from 0 to `num_classes - 1`, of any shape.
        num_classes: number of classes; `None` for the largest index plus one, which is possible
            only for arrays.

    Returns:
        A float64 array (for a tensor a float32 tensor) of the shape of `x`, without a last axis
        of size 1, and with a new last axis of size `num_classes`.

    Raises:
        ValueError: for a tensor without `num_classes`, and for words and fractions.

    Example:
        >>> to_categorical([0, 2], 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if tf.is_tensor(x):
        if num_classes is None:
            raise ValueError(
                "`num_classes` must be given with a tensor. Received: num_classes=None"
            )
        return one_hot(x[..., 0] if x.shape.rank > 1 and x.shape[-1] == 1 else x, num_classes)
    try:
        given = np.asarray(x)
        indices = given.astype("int64")
        is_whole = given.dtype.kind != "f" or bool((given == indices).all())
    except (TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise ValueError(
            "`to_categorical` needs class ids, whole numbers from 0. For words use "
            f"`np.unique(x, return_inverse=True)[1]`, or `layers.StringLookup`. Received: x={brief(x)}"
        ) from None
    if indices.ndim > 1 and indices.shape[-1] == 1:
        indices = indices[..., 0]
    return np.eye(num_classes or int(indices.max()) + 1)[indices]


@shortened
def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """Returns vectors divided by their norms; zeros remain zeros.

    Args:
        x: an array with at least two axes; anything else is converted to a tensor, and a tensor is
            returned.
        axis: axis of the vectors. Default: `-1`.
        order: order of the norm: 2 for the Euclidean one. Default: `2`.

    Returns:
        An array (or a tensor) of the shape of `x`.

    Example:
        >>> normalize(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    if not isinstance(x, np.ndarray):
        return normalization.normalize(x, axis=axis, order=order)
    # The norm of a single vector is a scalar, which allows no assignment to entries.
    norm = np.atleast_1d(np.linalg.norm(x, order, axis))
    norm[norm == 0] = 1
    return x / np.expand_dims(norm, axis)
