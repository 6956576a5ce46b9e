"""Class indices as one-hot vectors, and vectors of length one."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit import ops
from tfkit.tracebacks import shortened


@shortened
def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Class indices as one-hot vectors.

    Args:
        x: integers from 0 to `num_classes - 1`.
        num_classes: number of classes; the largest index and one unless given. Of a tensor it must be
            given.

    Returns:
        An array (of a tensor, a tensor) of the shape of `x`, without a last axis of size 1, and one
        axis of `num_classes` more.

    Example:
        >>> to_categorical([0, 2], 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if tf.is_tensor(x):
        if num_classes is None:
            raise ValueError(
                "`num_classes` must be given with a tensor. Received: num_classes=None"
            )
        return ops.one_hot(x[..., 0] if x.shape.rank > 1 and x.shape[-1] == 1 else x, num_classes)
    indices = np.asarray(x, dtype="int64")
    if indices.ndim > 1 and indices.shape[-1] == 1:
        indices = indices[..., 0]
    return np.eye(num_classes or int(indices.max()) + 1)[indices]


@shortened
def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """Returns `x` divided by its norm along `axis`; zeros stay zeros.

    Args:
        x: an array, of at least two axes; anything else is taken as a tensor, and a tensor is returned.
        axis: the axis along which the norm is taken.
        order: order of the norm, `2` for the Euclidean one.

    Example:
        >>> normalize(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    if not isinstance(x, np.ndarray):
        return ops.normalize(x, axis=axis, order=order)
    norm = np.atleast_1d(np.linalg.norm(x, order, axis))
    norm[norm == 0] = 1
    return x / np.expand_dims(norm, axis)
