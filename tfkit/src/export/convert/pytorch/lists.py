"""Lists of tensors (TensorFlow's `TensorArray`) in PyTorch: their length and positions are numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tfkit.src.export.convert.pytorch.dtypes import dtype_of


class TensorList:
    """A list of tensors of equal shapes, which does not change.

    Args:
        dtype: the dtype of the elements, by TensorFlow's name.
        items: the elements; `None` for one that was not set.
        whole: all elements in one tensor, in place of `items`.
    """

    def __init__(
        self, dtype: str, items: tuple[Tensor | None, ...] = (), whole: Tensor | None = None
    ) -> None:
        self.dtype = dtype
        self._items = items
        self.whole = whole

    @property
    def items(self) -> tuple[Tensor | None, ...]:
        """The elements. Not taken from the whole before something needs them: their number may be free."""
        return self._items if self.whole is None else self.whole.unbind(0)

    def __len__(self) -> int:
        return len(self.items)


def reserve(shape: Any, num_elements: int, *, element_dtype: str) -> TensorList:
    """Returns a list without elements, of a length."""
    return TensorList(element_dtype, (None,) * num_elements)


def from_tensor(x: Tensor, shape: Any) -> TensorList:
    """Returns the list of a tensor's elements along the first axis."""
    return TensorList(str(x.dtype).removeprefix("torch."), whole=x)


def push_back(items: TensorList, x: Tensor) -> TensorList:
    """Returns the list with one more element."""
    return TensorList(items.dtype, (*items.items, x))


def set_item(items: TensorList, index: int, x: Tensor) -> TensorList:
    """Returns the list with one element replaced."""
    return TensorList(items.dtype, (*items.items[:index], x, *items.items[index + 1 :]))


def get_item(items: TensorList, index: int, shape: Any) -> Tensor:
    """Returns one element; zeros if it was not set."""
    found = items.items[index]
    return torch.zeros(shape, dtype=dtype_of(items.dtype)) if found is None else found


def stack(items: TensorList, shape: Any) -> Tensor:
    """Returns all elements as one tensor, with zeros for those that were not set."""
    if items.whole is not None:
        return items.whole
    given = [item for item in items.items if item is not None]
    if not given:
        sizes = [len(items), *(shape if isinstance(shape, list) else [])]
        return torch.zeros(sizes, dtype=dtype_of(items.dtype))
    empty = None if len(given) == len(items) else torch.zeros_like(given[0])
    return torch.stack([empty if item is None else item for item in items.items])
