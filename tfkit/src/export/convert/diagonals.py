"""The positions of one diagonal or a band of diagonals in matrices, as TensorFlow stores them in an array.

For a band, each row of the array holds one diagonal, the highest first. Shorter ones are at the side
that `align` names, first for those above the main diagonal and then for those below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Diagonals = int | list[int]


def bounds(k: Diagonals) -> tuple[int, int]:
    """Returns the lowest and the highest diagonal."""
    both = [k] if isinstance(k, int) else k
    return both[0], both[-1]


def sizes(k: Diagonals, longest: Any, num_rows: int, num_cols: int) -> tuple[Any, Any]:
    """Returns the numbers of rows and columns of matrices with diagonals.

    Instead of -1 it is the smallest that fits; without both, matrices are square.
    """
    low, high = bounds(k)
    rows, cols = longest + max(-high, 0), longest + max(low, 0)
    if num_rows == num_cols == -1:
        larger = longest + max(-high, low, 0)
        return larger, larger
    return num_rows if num_rows != -1 else rows, num_cols if num_cols != -1 else cols


def places(
    height: int, width: int, k: Diagonals, align: str
) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Yields the number of a diagonal, where it starts in its row, and its rows and columns."""
    low, high = bounds(k)
    lengths = {n: min(height + min(n, 0), width - max(n, 0)) for n in range(low, high + 1)}
    above, below = align.split("_")
    for place, n in enumerate(range(high, low - 1, -1)):
        side = above if n >= 0 else below
        start = max(lengths.values()) - lengths[n] if side == "RIGHT" else 0
        steps = np.arange(lengths[n])
        yield place, start, steps + max(-n, 0), steps + max(n, 0)
