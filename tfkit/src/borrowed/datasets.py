"""The parts of a `tf.data.Dataset`: private attributes, seen in TensorFlow 2.21.

A public dataset only has an element's specification and a number of elements. `tests/test_borrowed.py` has a
contract for each function. A dataset without the attribute gives `None` where it says so, and raises
`AttributeError` elsewhere.
"""

from __future__ import annotations

from typing import Any


def kind_of(dataset: Any) -> str:
    """Returns the name of a dataset's private class, such as `"_ShuffleDataset"`."""
    return type(dataset).__name__


def inputs_of(dataset: Any) -> list[Any]:
    """Returns the datasets that a dataset reads."""
    return list(dataset._inputs())


def tensors_of(dataset: Any) -> list[Any]:
    """Returns the tensors that a `_TensorSliceDataset` slices, as a flat list."""
    return list(dataset._tensors)


def batch_size_of(dataset: Any) -> Any:
    """Returns the number of elements in a batch, as a tensor; `None` if there are no batches."""
    return getattr(dataset, "_batch_size", None)


def drops_remainder(dataset: Any) -> bool:
    """Whether a dataset of batches leaves out a last one that is smaller."""
    return bool(dataset._drop_remainder)


def count_of(dataset: Any) -> int:
    """Returns the argument of `take` or `skip`."""
    return int(dataset._count)


def window_of(dataset: Any) -> int:
    """Returns the number of elements that a shuffle chooses from."""
    return int(dataset._buffer_size)


def seeds_of(dataset: Any) -> tuple[int, int] | None:
    """Returns the two seeds of a shuffle, zeros for one that draws its own; `None` if it has none."""
    seeds = getattr(dataset, "_seed", None), getattr(dataset, "_seed2", None)
    return None if seeds[0] is None or seeds[1] is None else (int(seeds[0]), int(seeds[1]))


def has_order_for_each_pass(dataset: Any) -> bool:
    """Whether a shuffle uses a new order in each pass."""
    return bool(dataset._reshuffle_each_iteration)


def shard_of(dataset: Any) -> int | None:
    """Returns the index of the part that `shard` selects; `None` if nothing is sharded."""
    index = getattr(dataset, "_index", None)
    return None if index is None else int(index)
