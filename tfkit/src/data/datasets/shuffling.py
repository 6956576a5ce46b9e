"""Orders of a dataset's elements: one from a seed before training, and a new one in each pass."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tfkit.src.base.generators import generators_in_force

_SEEDS = 10**6
_BUFFER = 1024  # elements in the shuffle buffer, if there are no batches
_BATCHES = 8  # batches in the shuffle buffer


def seed_or_drawn(seed: int | None) -> int:
    """Returns `seed`, or a new seed if it is `None`."""
    return int(generators_in_force().numpy.randint(_SEEDS)) if seed is None else seed


def shuffle_in_place(items: np.ndarray, seed: int) -> None:
    """Shuffles an array along its first axis."""
    np.random.RandomState(seed).shuffle(items)


def in_new_orders(dataset: tf.data.Dataset, batch_size: int | None, seed: int) -> tf.data.Dataset:
    """Returns the dataset, still without batches, with a different order in each pass."""
    return dataset.shuffle(_BUFFER if batch_size is None else batch_size * _BATCHES, seed=seed)
