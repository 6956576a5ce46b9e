"""Counts batches of strings of any size, in pieces on two threads."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import tensorflow as tf

# Large enough that TensorFlow's kernels do most of the work, and small enough to save memory.
PIECE = 8192
# A few strings need little memory: the first pieces are small, and need no threads.
_FIRST_PIECE = 128
_NUM_FIRST = 8
_THREADS = 2


def counted(
    batches: Iterable[Any], count: Callable[[Any], Any], size: int | None = None
) -> Iterator[Any]:
    """Yields `count(piece)` for pieces of `size` strings; small batches are joined to one piece.

    Kernels of TensorFlow release Python's lock, so two threads count at once. No more than three pieces wait.

    Args:
        batches: tensors of strings.
        count: function of a tensor.
        size: number of strings in a piece; `None` for a hundred in the first pieces, and thousands later.
    """
    waiting: collections.deque[Future[Any]] = collections.deque()
    first = itertools.repeat(size or _FIRST_PIECE, _NUM_FIRST)
    pieces = _pieces(batches, itertools.chain(first, itertools.repeat(size or PIECE)))
    yield from map(count, itertools.islice(pieces, _NUM_FIRST))
    with ThreadPoolExecutor(_THREADS) as pool:
        for piece in pieces:
            waiting.append(pool.submit(count, piece))
            # At most one piece more than threads is held: memory does not grow with the data.
            if len(waiting) > _THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _pieces(batches: Iterable[Any], sizes: Iterator[int]) -> Iterator[Any]:
    """Yields the strings of batches in pieces of these sizes; a batch that is not a vector is one piece."""
    held: list[Any] = []
    number = 0
    size = next(sizes)
    for batch in batches:
        if not isinstance(batch, tf.Tensor) or batch.shape.rank != 1:
            yield batch
            continue
        while number + len(batch) >= size:
            rows = size - number
            yield tf.concat([*held, batch[:rows]], axis=0)
            held, number, batch = [], 0, batch[rows:]
            size = next(sizes)
        if len(batch):
            held.append(batch)
            number += len(batch)
    if held:
        yield tf.concat(held, axis=0)
