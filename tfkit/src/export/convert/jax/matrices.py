"""Diagonals of matrices in JAX; `export/convert/diagonals.py` says where they are."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from tfkit.src.export.convert.diagonals import Diagonals, bounds, places, sizes


def diagonal(
    values: Any, k: Diagonals, num_rows: int, num_cols: int, padding: Any, *, align: str
) -> Any:
    """Returns matrices with these diagonals, and `padding` elsewhere."""
    low, high = bounds(k)
    batch = values.shape[:-1] if low == high else values.shape[:-2]
    shape = (*batch, *sizes(k, values.shape[-1], num_rows, num_cols))
    return with_diagonal(jnp.full(shape, padding, values.dtype), values, k, align=align)


def with_diagonal(matrix: Any, values: Any, k: Diagonals, *, align: str) -> Any:
    """Returns the matrices with other diagonals."""
    low, high = bounds(k)
    values = values[..., None, :] if low == high and values.ndim == matrix.ndim - 1 else values
    for place, start, rows, columns in places(*_sizes(matrix), k, align):
        one = values[..., place, start : start + len(rows)]
        matrix = matrix.at[..., rows, columns].set(one)
    return matrix


def diagonal_part(matrix: Any, k: Diagonals, padding: Any, *, align: str) -> Any:
    """Returns diagonals of the matrices, with `padding` next to the shorter ones."""
    low, high = bounds(k)
    found = list(places(*_sizes(matrix), k, align))
    size = max(len(rows) for *_, rows, _ in found)
    result = jnp.full((*matrix.shape[:-2], high - low + 1, size), padding, matrix.dtype)
    for place, start, rows, columns in found:
        one = matrix[..., rows, columns]
        result = result.at[..., place, start : start + len(rows)].set(one)
    return jnp.squeeze(result, -2) if low == high else result


def _sizes(matrix: Any) -> tuple[int, int]:
    return matrix.shape[-2], matrix.shape[-1]
