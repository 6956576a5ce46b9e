"""Splits one table into a part for training and a part for testing."""

from __future__ import annotations

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]


def shuffled(x: np.ndarray, y: np.ndarray, generator: np.random.RandomState) -> Pair:
    """Returns rows in an order that a generator draws; with the same seed, Keras draws the same order."""
    order = np.arange(len(x))
    generator.shuffle(order)
    return x[order], y[order]


def split(x: np.ndarray, y: np.ndarray, test_split: float) -> tuple[Pair, Pair]:
    """Returns the first rows for training, the last ones for tests."""
    if not 0 <= test_split < 1:
        raise ValueError(f"`test_split` must be in [0, 1). Received: test_split={test_split}")
    num_training = int(len(x) * (1 - test_split))
    return (x[:num_training], y[:num_training]), (x[num_training:], y[num_training:])
