"""The modules and functions of PyTorch that formulas for both frameworks use."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tfkit.src.export.convert.kit import Kit
from tfkit.src.export.convert.pytorch import philox
from tfkit.src.export.convert.pytorch.dtypes import dtype_of


def padded(x: Tensor, pairs: Any, value: float = 0.0) -> Tensor:
    """Returns `x` with more elements on its last axes, or fewer where a width is negative."""
    # `F.pad` lists the last axis first.
    flat = list(itertools.chain(*reversed(list(pairs))))
    return F.pad(x, flat, value=value) if any(width != 0 for width in flat) else x


def _array(value: np.ndarray, like: Tensor) -> Tensor:
    return torch.as_tensor(value, device=like.device)


def _arange(count: int, like: Tensor) -> Tensor:
    return torch.arange(count, device=like.device)


def _zeros(shape: Any, like: Tensor) -> Tensor:
    return like.new_zeros(shape)


def _cast(x: Tensor, dtype: str | torch.dtype) -> Tensor:
    return x.to(dtype_of(dtype) if isinstance(dtype, str) else dtype)


def _with_diagonal(matrix: Tensor, values: Tensor, number: int) -> Tensor:
    return matrix.diagonal_scatter(values, number, -2, -1)


def _has_slope(x: Tensor) -> bool:
    return x.is_floating_point() and torch.is_grad_enabled()


def _pull(function: Callable[..., Any], dy: Tensor, *arguments: Tensor) -> tuple[Any, ...]:
    y, back = torch.func.vjp(function, *arguments)
    return tuple(back(dy.to(y.dtype)))


KIT = Kit(
    np=torch,
    nn=F,
    special=torch.special,
    array=_array,
    arange=_arange,
    zeros=_zeros,
    cast=_cast,
    pad=padded,
    rsqrt=torch.rsqrt,
    with_diagonal=_with_diagonal,
    stop=Tensor.detach,
    has_slope=_has_slope,
    pull=_pull,
    philox=philox,
)
