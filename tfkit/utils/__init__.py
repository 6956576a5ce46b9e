"""`tfkit.utils`: small helpers for users."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfkit.dtypes import standardize_dtype as standardize_dtype
from tfkit.names import reset_names
from tfkit.random import set_random_seed as set_random_seed
from tfkit.registry import custom_object_scope as custom_object_scope
from tfkit.registry import deserialize_keras_object as deserialize_keras_object
from tfkit.registry import get_custom_objects as get_custom_objects
from tfkit.registry import get_registered_name as get_registered_name
from tfkit.registry import get_registered_object as get_registered_object
from tfkit.registry import register_keras_serializable as register_keras_serializable
from tfkit.registry import serialize_keras_object as serialize_keras_object
from tfkit.symbolic import is_keras_tensor as is_keras_tensor
from tfkit.training.data import pack_x_y_sample_weight as pack_x_y_sample_weight
from tfkit.training.data import unpack_x_y_sample_weight as unpack_x_y_sample_weight
from tfkit.training.progress import Progbar as Progbar


def to_categorical(x: Any, num_classes: int | None = None) -> np.ndarray:
    """Class indices as one-hot vectors.

    Args:
        x: integers from 0 to `num_classes - 1`.
        num_classes: number of classes; the largest index and one unless given.

    Returns:
        An array of the shape of `x` (without a last axis of size 1) and one axis of `num_classes` more.

    Example:
        >>> to_categorical([0, 2], 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    indices = np.asarray(x, dtype="int64")
    if indices.ndim > 1 and indices.shape[-1] == 1:
        indices = indices[..., 0]
    return np.eye(num_classes or int(indices.max()) + 1)[indices]


def normalize(x: Any, axis: int = -1, order: int = 2) -> np.ndarray:
    """`x` divided by its norm along `axis`; zeros stay zeros."""
    norm = np.atleast_1d(np.linalg.norm(x, order, axis))
    norm[norm == 0] = 1
    return np.asarray(x) / np.expand_dims(norm, axis)


def clear_session(free_memory: bool = True) -> None:
    """Starts default names again; models and their compiled programs are freed with their last use."""
    del free_memory
    reset_names()
