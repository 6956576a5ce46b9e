"""Diagonals of matrices in PyTorch; `export/convert/diagonals.py` says where they are."""

from __future__ import annotations

import torch
from torch import Tensor

from tfkit.src.export.convert.diagonals import Diagonals, bounds, places, sizes


def diagonal(
    values: Tensor, k: Diagonals, num_rows: int, num_cols: int, padding: Tensor, *, align: str
) -> Tensor:
    """Returns matrices with these diagonals, and `padding` elsewhere."""
    low, high = bounds(k)
    batch = values.shape[:-1] if low == high else values.shape[:-2]
    shape = (*batch, *sizes(k, values.shape[-1], num_rows, num_cols))
    return with_diagonal(padding.expand(shape), values, k, align=align)


def with_diagonal(matrix: Tensor, values: Tensor, k: Diagonals, *, align: str) -> Tensor:
    """Returns the matrices with other diagonals."""
    low, high = bounds(k)
    values = values[..., None, :] if low == high and values.ndim == matrix.ndim - 1 else values
    for place, start, rows, _ in places(*_sizes(matrix), k, align):
        one = values[..., place, start : start + len(rows)]
        matrix = matrix.diagonal_scatter(one, high - place, -2, -1)
    return matrix


def diagonal_part(matrix: Tensor, k: Diagonals, padding: Tensor, *, align: str) -> Tensor:
    """Returns diagonals of the matrices, with `padding` next to the shorter ones."""
    low, high = bounds(k)
    if low == high:
        return matrix.diagonal(low, -2, -1)
    found = list(places(*_sizes(matrix), k, align))
    size = max(len(rows) for *_, rows, _ in found)
    lines = []
    for place, start, rows, _ in found:
        one = matrix.diagonal(high - place, -2, -1)
        widths = (start, size - start - len(rows))
        sides = [padding.expand(*one.shape[:-1], width) for width in widths]
        lines.append(torch.cat([sides[0], one, sides[1]], -1))
    return torch.stack(lines, -2)


def _sizes(matrix: Tensor) -> tuple[int, int]:
    return matrix.shape[-2], matrix.shape[-1]
