"""Computes mean and variance of data piece by piece."""

from __future__ import annotations

import math

import numpy as np

_PIECE = 1 << 22  # The number of values that are converted to float64 at once.


class Moments:
    """Mean and variance over some axes, of all arrays so far, in float64.

    Pieces are joined by their means and their sums of squared deviations, so nothing is lost where the mean
    is large compared with the deviation.

    Args:
        reduced: axes to compute over.
        kept: the other axes.

    Reference: Chan, Golub and LeVeque (1979), "Updating formulae and a pairwise algorithm for computing
    sample variances".
    """

    def __init__(self, reduced: tuple[int, ...], kept: tuple[int, ...]) -> None:
        self._reduced = reduced
        self._kept = kept
        self.count = 0
        self.mean = np.zeros(())
        self._squares = np.zeros(())

    @property
    def variance(self) -> np.ndarray:
        """The variance, of the whole population."""
        return self._squares / self.count

    def add(self, array: np.ndarray) -> None:
        """Adds an array, in pieces of rows."""
        rows = max(1, _PIECE // max(1, math.prod(array.shape[1:])))
        # Rows with their own statistics cannot be split over pieces.
        if 0 not in self._reduced or array.ndim == 0:
            rows = max(1, len(array) if array.ndim else 1)
        for start in range(0, len(array) if array.ndim else 1, rows):
            piece = array[start : start + rows] if array.ndim else array
            self._add(np.asarray(piece, np.float64))

    def _add(self, piece: np.ndarray) -> None:
        count = math.prod(piece.shape[axis] for axis in self._reduced)
        if not count:
            return
        mean = piece.mean(axis=self._reduced)
        deviations = piece - np.expand_dims(mean, self._reduced)
        squares = np.square(deviations).sum(axis=self._reduced)
        total = self.count + count
        step = mean - self.mean
        # Chan, Golub and LeVeque (1979): sums of squared deviations of two parts, without the
        # cancellation of mean(x ** 2) - mean(x) ** 2.
        self._squares = self._squares + squares + np.square(step) * (self.count * count / total)
        self.mean = self.mean + step * (count / total)
        self.count = total
