"""Diagonals of matrices in JAX, one or a band of them.

Of a band, each row of the array of diagonals holds one, the highest first. Shorter ones are at the side
that `align` names, first for those above the main diagonal and then for those below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

Diagonals = int | list[int]


def diagonal(
    values: Any, k: Diagonals, num_rows: int, num_cols: int, padding: Any, *, align: str
) -> Any:
    """Returns matrices with these diagonals, and `padding` elsewhere."""
    low, high = _range(k)
    size = values.shape[-1]
    rows = num_rows if num_rows != -1 else size + max(-high, 0)
    columns = num_cols if num_cols != -1 else size + max(low, 0)
    batch = values.shape[:-1] if low == high else values.shape[:-2]
    whole = jnp.full((*batch, rows, columns), padding, values.dtype)
    return with_diagonal(whole, values, k, align=align)


def with_diagonal(matrix: Any, values: Any, k: Diagonals, *, align: str) -> Any:
    """Returns the matrices with other diagonals."""
    low, high = _range(k)
    values = values[..., None, :] if low == high and values.ndim == matrix.ndim - 1 else values
    for place, start, rows, columns in _places(matrix, low, high, align):
        one = values[..., place, start : start + len(rows)]
        matrix = matrix.at[..., rows, columns].set(one)
    return matrix


def diagonal_part(matrix: Any, k: Diagonals, padding: Any, *, align: str) -> Any:
    """Returns diagonals of the matrices, with `padding` next to the shorter ones."""
    low, high = _range(k)
    found = list(_places(matrix, low, high, align))
    size = max(len(rows) for *_, rows, _ in found)
    result = jnp.full((*matrix.shape[:-2], high - low + 1, size), padding, matrix.dtype)
    for place, start, rows, columns in found:
        one = matrix[..., rows, columns]
        result = result.at[..., place, start : start + len(rows)].set(one)
    return result[..., 0, :] if low == high else result


def _range(k: Diagonals) -> tuple[int, int]:
    both = [k] if isinstance(k, int) else k
    return both[0], both[-1]


def _places(matrix: Any, low: int, high: int, align: str) -> Iterator[tuple[int, int, Any, Any]]:
    """Yields the number of a diagonal, where it starts in its row, and its rows and columns."""
    height, width = matrix.shape[-2:]
    lengths = {n: min(height + min(n, 0), width - max(n, 0)) for n in range(low, high + 1)}
    above, below = align.split("_")
    for place, n in enumerate(range(high, low - 1, -1)):
        side = above if n >= 0 else below
        start = max(lengths.values()) - lengths[n] if side == "RIGHT" else 0
        steps = jnp.arange(lengths[n])
        yield place, start, steps + max(-n, 0), steps + max(n, 0)
