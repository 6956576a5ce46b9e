"""Counts batches of texts of any size, in pieces on two threads."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import tensorflow as tf

# Large enough that TensorFlow's kernels do most of the work, and small enough to save memory.
PIECE = 8192
_THREADS = 2


def counted(
    batches: Iterable[Any], count: Callable[[Any], Any], size: int | None = None
) -> Iterator[Any]:
    """Yields `count(piece)` for pieces of `size` texts; small batches are joined to one piece.

    Kernels of TensorFlow leave Python's lock, so two threads count at once. No more than three pieces wait.

    Args:
        batches: tensors of strings.
        count: function of a tensor.
        size: texts of a piece; `None` for some thousand.
    """
    waiting: collections.deque[Future[Any]] = collections.deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        for piece in _pieces(batches, size or PIECE):
            waiting.append(pool.submit(count, piece))
            if len(waiting) > _THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _pieces(batches: Iterable[Any], size: int) -> Iterator[Any]:
    held: list[Any] = []
    number = 0
    for batch in batches:
        if not isinstance(batch, tf.Tensor) or batch.shape.rank != 1:
            yield batch
            continue
        rows = len(batch)
        if rows < size:
            held.append(batch)
            number += rows
            if number >= size:
                yield tf.concat(held, axis=0)
                held, number = [], 0
            continue
        for start in range(0, rows, size):
            yield batch[start : start + size]
    if held:
        yield tf.concat(held, axis=0)
