"""Diagonals of matrices, one or a band of them, which TensorFlow stores in an array.

For a band, each row of the array holds one diagonal, the highest first. Shorter ones are at the side
that `align` names, first for those above the main diagonal and then for those below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfkit.src.export.convert.kit import Kit

Diagonals = int | list[int]


def diagonal(
    kit: Kit, values: Any, k: Diagonals, num_rows: int, num_cols: int, padding: Any, *, align: str
) -> Any:
    """Returns matrices with these diagonals, and `padding` elsewhere."""
    low, high = _bounds(k)
    batch = values.shape[:-1] if low == high else values.shape[:-2]
    shape = (*batch, *_sizes(k, values.shape[-1], num_rows, num_cols))
    return with_diagonal(kit, kit.np.broadcast_to(padding, shape), values, k, align=align)


def with_diagonal(kit: Kit, matrix: Any, values: Any, k: Diagonals, *, align: str) -> Any:
    """Returns the matrices with other diagonals."""
    low, high = _bounds(k)
    values = values[..., None, :] if low == high and values.ndim == matrix.ndim - 1 else values
    for row, (number, start, length) in enumerate(_places(matrix.shape, k, align)):
        matrix = kit.with_diagonal(matrix, values[..., row, start : start + length], number)
    return matrix


def diagonal_part(kit: Kit, matrix: Any, k: Diagonals, padding: Any, *, align: str) -> Any:
    """Returns diagonals of the matrices, with `padding` next to the shorter ones."""
    low, high = _bounds(k)
    if low == high:
        return kit.np.diagonal(matrix, low, -2, -1)
    places = list(_places(matrix.shape, k, align))
    size = max(length for _, _, length in places)
    lines = []
    for number, start, length in places:
        one = kit.np.diagonal(matrix, number, -2, -1)
        before, after = (
            kit.np.broadcast_to(padding, (*one.shape[:-1], width))
            for width in (start, size - start - length)
        )
        lines.append(kit.np.concatenate([before, one, after], -1))
    return kit.np.stack(lines, -2)


def _bounds(k: Diagonals) -> tuple[int, int]:
    """Returns the lowest and the highest diagonal."""
    both = [k] if isinstance(k, int) else k
    return both[0], both[-1]


def _sizes(k: Diagonals, longest: Any, num_rows: int, num_cols: int) -> tuple[Any, Any]:
    """Returns the numbers of rows and columns of matrices with diagonals.

    Instead of -1 it is the smallest that fits; without both, matrices are square.
    """
    low, high = _bounds(k)
    rows, cols = longest + max(-high, 0), longest + max(low, 0)
    if num_rows == num_cols == -1:
        larger = longest + max(-high, low, 0)
        return larger, larger
    return num_rows if num_rows != -1 else rows, num_cols if num_cols != -1 else cols


def _places(shape: Any, k: Diagonals, align: str) -> Iterator[tuple[int, int, int]]:
    """Yields the number of each diagonal, from the highest, where it starts in its row, and its length."""
    (*_, height, width), (low, high) = shape, _bounds(k)
    lengths = {n: min(height + min(n, 0), width - max(n, 0)) for n in range(high, low - 1, -1)}
    above, below = align.split("_")
    for number, length in lengths.items():
        side = above if number >= 0 else below
        yield number, max(lengths.values()) - length if side == "RIGHT" else 0, length
