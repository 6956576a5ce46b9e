"""Approximates quantiles of data of any size, by summaries of bounded size.

A summary is an array of two rows: some of the values, in order, and how many values each represents. It
equals Keras's for the same batches. At most `1 / epsilon` values in all are kept exactly.
"""

from __future__ import annotations

import numpy as np


def summary_of(values: np.ndarray, epsilon: float) -> np.ndarray:
    """Returns the summary of an array: every n-th of its sorted values, about `1 / epsilon` of them."""
    ordered = np.sort(values, axis=None)
    # The quotient instead of the product `len * epsilon`, which may be rounded to a different integer.
    step = max(len(ordered) / (1.0 / epsilon), 1)
    kept = ordered[int(step - 1) :: int(step)]
    # Each value that is kept stands for `step` values of the data: its weight.
    return np.stack([kept, np.full(kept.shape, step, kept.dtype)])


def joined(first: np.ndarray, second: np.ndarray, epsilon: float) -> np.ndarray:
    """Returns the summary of the values of two summaries."""
    both = np.concatenate([first, second], axis=1)
    return _compressed(both[:, np.argsort(both[0])], epsilon)  # sorted by value


def boundaries(summary: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns the boundaries of `num_bins` bins that contain about equally many values."""
    return _compressed(summary, 1.0 / num_bins)[0, :-1]


def _compressed(summary: np.ndarray, epsilon: float) -> np.ndarray:
    """Returns a summary with one value for each fraction `epsilon`, interpolated between its own values."""
    if summary.shape[1] * epsilon < 1:
        return summary
    shares = epsilon + np.arange(0.0, 1.0, epsilon)
    # How many values of the data are up to each value of the summary.
    numbers = np.cumsum(summary[1])
    values = np.interp(shares, numbers / numbers[-1], summary[0])
    numbers = np.interp(shares, numbers / numbers[-1], numbers)
    return np.stack([values, np.diff(numbers, prepend=0)]).astype("float32")
