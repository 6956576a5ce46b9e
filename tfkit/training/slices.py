"""Datasets that are slices of tensors in memory: `from_tensor_slices(...).shuffle(...).batch(...)`.

Such a pipeline takes 89 microseconds for a batch that a small model trains on in 27. Its tensors are in
memory, so they are trained on as arrays are. Where they are shuffled, the numbers of their rows go through a
shuffle with the same buffer and seeds, which gives the order that the dataset would have given them in.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.training.data import ArrayData

BLOCK, _BLOCKS_AHEAD = 8192, 16
_AROUND_BATCHES = ("_PrefetchDataset", "_OptionsDataset")
_BATCHES = ("_BatchDataset", "_ParallelBatchDataset")

# Each pass over a shuffle has another order, whichever dataset it is part of: a shuffle has one copy.
_shuffles: weakref.WeakKeyDictionary[Any, tf.data.Dataset] = weakref.WeakKeyDictionary()


class SlicesData(ArrayData):
    """Tensors of which a dataset gives rows in an order that is new in each pass.

    Args:
        data: the tensors.
        batch_size: rows a step.
        rows: the numbers of the rows that a pass gives.
        num_rows: how many there are.
    """

    def __init__(self, data: Any, batch_size: int, rows: tf.data.Dataset, num_rows: int) -> None:
        super().__init__(data, batch_size, shuffle=True)
        self.rows = rows
        self.num_rows = num_rows
        options = tf.data.Options()
        options.autotune.enabled = False  # The end of a pass would wait for its thread.
        blocks = rows.take(num_rows).batch(BLOCK).prefetch(_BLOCKS_AHEAD)
        self._blocks = blocks.with_options(options)

    def blocks(self) -> Iterator[np.ndarray]:
        """The numbers of the rows in the order of a new pass, many at a time, read ahead."""
        return self._blocks.as_numpy_iterator()

    def order(self) -> tf.Tensor:
        """The order of a new pass as a whole."""
        return tf.constant(np.concatenate(list(self.blocks())))


def as_slices(dataset: tf.data.Dataset) -> ArrayData | None:
    """The tensors that a dataset gives batches of rows of; `None` for other datasets."""
    try:
        return _as_slices(dataset)
    except AttributeError:  # A TensorFlow that names its parts in another way.
        return None


def _as_slices(dataset: Any) -> ArrayData | None:
    while type(dataset).__name__ in _AROUND_BATCHES:
        (dataset,) = dataset._inputs()
    if type(dataset).__name__ not in _BATCHES:
        return None
    (given,) = dataset._inputs()
    source, rows = _row_numbers(given)
    if source is None:
        return None
    size = int(dataset._batch_size)
    num_rows = int(rows.cardinality())
    num_rows -= num_rows % size if dataset._drop_remainder else 0
    if num_rows < 1:
        return None
    size = min(size, num_rows)  # A single batch is a full one.
    tensors = tf.nest.pack_sequence_as(source.element_spec, source._tensors)
    if is_shuffled(given):
        return SlicesData(tensors, size, rows, num_rows)
    first = int(next(iter(rows)))
    if num_rows < int(source.cardinality()):
        tensors = tf.nest.map_structure(lambda leaf: leaf[first : first + num_rows], tensors)
    return ArrayData(tensors, size, shuffle=False)


def _row_numbers(dataset: Any) -> tuple[Any, Any]:
    """The slices at the beginning of a pipeline of single rows, and the same pipeline of their numbers."""
    kind = type(dataset).__name__
    if kind == "_TensorSliceDataset":
        specs = tf.nest.flatten(dataset.element_spec)
        if not all(isinstance(spec, tf.TensorSpec) for spec in specs):  # Ragged or sparse.
            return None, None
        return dataset, tf.data.Dataset.range(dataset.cardinality())
    if kind not in ("_ShuffleDataset", "_TakeDataset", "_SkipDataset"):
        return None, None
    source, rows = _row_numbers(*dataset._inputs())
    if source is None:
        return None, None
    if kind == "_TakeDataset":
        return source, rows.take(dataset._count)
    if kind == "_SkipDataset":
        return source, rows.skip(dataset._count)
    if dataset not in _shuffles:
        _shuffles[dataset] = _shuffled_like(dataset, rows)
    return source, _shuffles[dataset]


def _shuffled_like(shuffle: Any, rows: tf.data.Dataset) -> tf.data.Dataset:
    """Row numbers in the orders that a shuffle takes."""
    shuffled = tf.raw_ops.ShuffleDatasetV3(
        input_dataset=tf.data.experimental.to_variant(rows),
        buffer_size=shuffle._buffer_size,
        seed=shuffle._seed,
        seed2=shuffle._seed2,
        seed_generator=tf.raw_ops.DummySeedGenerator(),
        output_types=["int64"],
        output_shapes=[[]],
        reshuffle_each_iteration=shuffle._reshuffle_each_iteration,
    )
    return tf.data.experimental.from_variant(shuffled, tf.TensorSpec([], "int64"))


def is_shuffled(dataset: Any) -> bool:
    """Whether a dataset, or one that it is made of, shuffles."""
    return "Shuffle" in type(dataset).__name__ or any(map(is_shuffled, dataset._inputs()))
