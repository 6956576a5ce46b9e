"""The batches of one pass over a dataset, as programs read them."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed import datasets

# Datasets of tensors in memory: no function is called and no file is read for an element.
_IN_MEMORY = {
    f"_{kind}Dataset"
    for kind in (
        *("Batch", "Concatenate", "Options", "Range", "Repeat", "Shard", "Shuffle", "Skip"),
        *("Take", "Tensor", "TensorSlice", "Zip"),
    )
}
# Up to this size, a batch is made in less time than threads need to pass it on.
_MAX_BYTES = 4096


class Batches:
    """An iterator over the batches of a dataset.

    Args:
        dataset: the batches.
        skipped: number of batches that are left out at the beginning.

    Attributes:
        iterator: the iterator of `tf.data`.
        left_out: number of batches that were read but not run, as they have no rows.
    """

    def __init__(self, dataset: tf.data.Dataset, skipped: int = 0) -> None:
        self.iterator: Any = iter(_read_directly(dataset.skip(skipped) if skipped else dataset))
        self.left_out = 0

    def release(self) -> None:
        """Releases the iterator in a different thread, as its own threads may need time to end."""
        # The list has the only reference, which the thread drops.
        released, self.iterator = [self.iterator], None
        threading.Thread(target=released.clear).start()


def _read_directly(dataset: Any) -> Any:
    """Returns a dataset in which TensorFlow adds no prefetching if its batches are small and in memory.

    By default TensorFlow prefetches from each dataset that does not end with `prefetch`. The thread for it
    takes 20 of the 53 microseconds of CPU time of a step that trains a `Dense` layer.
    """
    is_chosen = dataset.options().experimental_optimization.inject_prefetch is not None
    is_in_memory = all(datasets.kind_of(it) in _IN_MEMORY for it in _pipeline(dataset))
    if is_chosen or not is_in_memory or _num_bytes(dataset) > _MAX_BYTES:
        return dataset
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)


def _pipeline(dataset: Any) -> Iterator[Any]:
    """Yields a dataset and all those that it reads."""
    yield dataset
    for given in datasets.inputs_of(dataset):
        yield from _pipeline(given)


def _num_bytes(dataset: Any) -> float:
    """Returns the size of a batch, or infinity if the pipeline does not show it."""
    sizes = [datasets.batch_size_of(it) for it in _pipeline(dataset)]
    num_rows = next((int(size) for size in sizes if size is not None), math.inf)
    total = 0.0
    for spec in tf.nest.flatten(dataset.element_spec):
        # The size of a string is 0: it is unknown.
        if not isinstance(spec, tf.TensorSpec) or not spec.dtype.size or spec.shape.rank is None:
            return math.inf
        total += spec.dtype.size * math.prod(num_rows if it is None else it for it in spec.shape)
    return total
