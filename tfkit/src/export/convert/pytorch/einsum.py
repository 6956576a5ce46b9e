"""Einstein's sums of two tensors as one product of matrices, with fewer operations than `torch.einsum`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def einsum(values: list[Tensor], *, equation: str) -> Tensor:
    """Returns the sum of products of an equation such as `"abc,cde->abde"`."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    names = inputs.split(",")
    if len(names) != 2 or not _is_product(names[0], names[1], output):
        return torch.einsum(equation, *values)
    left, right = names
    kept = [it for it in output if (it in left) != (it in right)]
    if kept and kept[0] in right:  # The product in the order of its result needs no copy of that.
        left, right, values = right, left, values[::-1]
    both = [it for it in left if it in right]
    batch, summed = [it for it in both if it in output], [it for it in both if it not in output]
    rows, columns = [it for it in left if it not in right], [it for it in right if it not in left]
    sizes = dict(zip(left, values[0].shape, strict=True)) | dict(
        zip(right, values[1].shape, strict=True)
    )
    x = _matrices(values[0], left, sizes, [batch, rows, summed])
    y = _matrices(values[1], right, sizes, [batch, summed, columns])
    order = [*batch, *rows, *columns]
    product = torch.bmm(x, y) if batch else torch.mm(x, y)
    result = product.reshape([sizes[it] for it in order])
    return _permuted(result, [order.index(it) for it in output])


def _is_product(left: str, right: str, output: str) -> bool:
    """Whether each letter names one axis of a tensor, and one that is summed is an axis of both."""
    once = all(len(set(it)) == len(it) and it.isalpha() for it in (left, right) if it)
    kept = set(left) ^ set(right) <= set(output) <= set(left) | set(right)
    return once and kept and bool(left) and bool(right) and len(set(output)) == len(output)


def _matrices(x: Tensor, names: str, sizes: dict[str, Any], groups: list[list[str]]) -> Tensor:
    """Returns a tensor with one axis for each group of axes; none for a batch without axes."""
    x = _permuted(x, [names.index(it) for group in groups for it in group])
    kept = groups if groups[0] else groups[1:]
    shape = [math.prod(sizes[it] for it in group) for group in kept]
    return x if all(len(group) == 1 for group in kept) else x.reshape(shape)


def _permuted(x: Tensor, order: list[int]) -> Tensor:
    return x if order == sorted(order) else x.permute(order)
