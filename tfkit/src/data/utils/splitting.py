"""Splits a data set into two."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.generators import generators_in_force
from tfkit.src.borrowed.datasets import batch_size_of


@shortened
def split_dataset(
    dataset: Any,
    left_size: float | None = None,
    right_size: float | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    preferred_backend: str | None = None,
) -> tuple[tf.data.Dataset, tf.data.Dataset]:
    """Returns data in two parts, for example for training and validation.

    Args:
        dataset: a NumPy array, a list or tuple of arrays of equal length, or a `tf.data.Dataset`,
            which is read into memory and, if its last step is `batch`, unbatched before and
            batched after.
        left_size: samples in the first part: a whole number, or a fraction between 0 and 1;
            `None` for the rest.
        right_size: samples in the second part, from the end of the data: a whole number, or a
            fraction between 0 and 1; `None` for the rest.
        shuffle: whether to shuffle the samples first. Default: `False`.
        seed: seed of the shuffle. Python's `random` continues from this seed, as in Keras,
            so that later draws are equal too.
        preferred_backend: `"tensorflow"`, or `None` for the same.

    Returns:
        A pair of `tf.data.Dataset`.

    Raises:
        TypeError: for data or sizes of a different type.
        ValueError: for empty data, arrays of different lengths, and sizes that do not fit.

    Example:
        >>> left, right = split_dataset(np.arange(10), left_size=0.8)
        >>> len(left), len(right)
        (8, 2)
    """
    if preferred_backend not in (None, "tensorflow"):
        raise ValueError(
            '`preferred_backend` can only be "tensorflow". '
            f"Received: preferred_backend={preferred_backend!r}"
        )
    if left_size is None and right_size is None:
        raise ValueError(
            "Pass at least one of `left_size` and `right_size`. Received: None for both"
        )
    columns, batch_size = _columns(dataset)
    num_samples = len(tf.nest.flatten(columns)[0])
    num_left, num_right = _counts(left_size, right_size, num_samples)
    order = list(range(num_samples))
    if shuffle:
        generator = generators_in_force().python
        generator.seed(generator.randint(0, 10**6) if seed is None else seed)
        generator.shuffle(order)

    def part(rows: list[int]) -> tf.data.Dataset:
        selected = tf.nest.map_structure(lambda column: column[rows], columns)
        result = tf.data.Dataset.from_tensor_slices(selected)
        if batch_size is not None:
            result = result.batch(batch_size)
        return result.prefetch(tf.data.AUTOTUNE)

    # If both sizes are given, rows between the two parts are left out.
    return part(order[:num_left]), part(order[num_samples - num_right :])


def _columns(dataset: Any) -> tuple[Any, Any]:
    """Returns the data as a nest of arrays of equal length, and the batch size, if it is batched."""
    if isinstance(dataset, tf.data.Dataset):
        batch_size = batch_size_of(dataset)
        samples = list(dataset if batch_size is None else dataset.unbatch())
        if not samples:
            raise ValueError("`dataset` has no samples.")
        return tf.nest.map_structure(lambda *values: np.array(values), *samples), batch_size
    if not isinstance(dataset, (np.ndarray, list, tuple)):
        raise TypeError(
            "`dataset` must be an array, a list or tuple of arrays, or a `tf.data.Dataset`. "
            f"Received: {dataset!r} (of type {type(dataset).__name__})"
        )
    arrays = [dataset] if isinstance(dataset, np.ndarray) else dataset
    if not all(isinstance(array, np.ndarray) for array in arrays):
        raise ValueError(
            f"`dataset` must hold NumPy arrays only. It holds: {[type(array) for array in arrays]}"
        )
    lengths = {len(array) for array in arrays}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(
            "The arrays of `dataset` must have the same length, above 0. "
            f"Received shapes: {[array.shape for array in arrays]}"
        )
    return (dataset if isinstance(dataset, np.ndarray) else tuple(arrays)), None


def _counts(left_size: Any, right_size: Any, num_samples: int) -> tuple[int, int]:
    """Returns the sizes of both parts in samples, after checking them."""
    counts = []
    for name, size in (("left_size", left_size), ("right_size", right_size)):
        if size is not None and type(size) not in (int, float):
            raise TypeError(
                f"`{name}` must be an integer, a float or None. Received: {name}={size!r} "
                f"(of type {type(size).__name__})"
            )
        limit = 1 if isinstance(size, float) else num_samples
        if size is not None and not 0 < size < limit:
            raise ValueError(
                f"`{name}` must be a number of samples over 0 and under {num_samples}, or a fraction "
                f"between 0 and 1. Received: {name}={size}"
            )
        counts.append(round(size * num_samples) if isinstance(size, float) else size)
    left, right = counts
    left = num_samples - right if left is None else left
    right = num_samples - left if right is None else right
    if left + right > num_samples or not (left and right):
        raise ValueError(
            f"Both parts need samples, and together no more than the {num_samples} that there are. "
            f"Received: left_size={left_size} and right_size={right_size}, which are {left} and {right}"
        )
    return left, right
