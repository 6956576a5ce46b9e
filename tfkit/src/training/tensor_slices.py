"""Recognizes datasets that slice tensors in memory: `from_tensor_slices(...).shuffle(...).batch(...)`.

Such a pipeline takes 89 microseconds for a batch that a small model trains on in 27. Its tensors are in
memory, so they are trained on like arrays, in the order in which the dataset would yield them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.borrowed import datasets
from tfkit.src.training.data import ArrayData
from tfkit.src.training.shuffling import Shuffle, agrees_with_tensorflow

Stage = Callable[[np.ndarray], np.ndarray]

_AROUND_BATCHES = ("_PrefetchDataset", "_OptionsDataset")
_BATCHES = ("_BatchDataset", "_ParallelBatchDataset")

# Each pass over a shuffle has a new order, whichever dataset contains it: the datasets share its state.
_shuffles: weakref.WeakKeyDictionary[Any, Shuffle] = weakref.WeakKeyDictionary()
_shuffles_lock = threading.Lock()


class SlicesData(ArrayData):
    """Tensors whose rows a dataset yields in a new order in each pass.

    Args:
        data: the tensors.
        batch_size: rows of a step.
        num_rows: number of rows of a pass.
        stages: the stages on the row indices, in order: shuffles and selections.
    """

    def __init__(self, data: Any, batch_size: int, num_rows: int, stages: list[Stage]) -> None:
        super().__init__(data, batch_size, shuffle=True)
        self._num_all, self._stages = self.num_rows, stages
        self.num_rows = num_rows

    def order(self, seeds: list[int]) -> tf.Tensor:
        """Returns the order of a new pass, with the seeds of the dataset."""
        return tf.constant(_row_numbers(self._num_all, self._stages)[: self.num_rows])

    def skip_passes(self, count: int) -> None:
        """Continues as after `count` more passes."""
        for stage in self._stages:
            if isinstance(stage, Shuffle):
                stage.passes += count


def as_slices(dataset: tf.data.Dataset) -> ArrayData | None:
    """Returns the tensors whose rows a dataset makes batches of; `None` for other datasets."""
    try:
        return _as_slices(dataset)
    except AttributeError:
        # A version of TensorFlow with different names for the parts of a dataset.
        return None


def _as_slices(dataset: Any) -> ArrayData | None:
    # By the names of private classes (seen in TensorFlow 2.21): `tf.data` has no public way to look at a
    # pipeline. Anything unknown is read batch by batch.
    while datasets.kind_of(dataset) in _AROUND_BATCHES:
        (dataset,) = datasets.inputs_of(dataset)
    if datasets.kind_of(dataset) not in _BATCHES:
        return None
    (given,) = datasets.inputs_of(dataset)
    stages: list[Stage] = []
    source = _source(given, stages)
    size = datasets.batch_size_of(dataset)
    if source is None or size is None:
        return None
    size, num_rows = int(size), int(given.cardinality())
    keeps_size = datasets.drops_remainder(dataset)
    num_rows -= num_rows % size if keeps_size else 0
    if num_rows < 1:
        return None
    size = min(size, num_rows)  # A single batch counts as a full one.
    tensors = tf.nest.pack_sequence_as(source.element_spec, datasets.tensors_of(source))
    if is_shuffled(given):
        return _sized(SlicesData(tensors, size, num_rows, stages), keeps_size)
    num_all = int(source.cardinality())
    if num_rows < num_all:
        first = int(_row_numbers(num_all, stages)[0])
        tensors = tf.nest.map_structure(lambda leaf: leaf[first : first + num_rows], tensors)
    return _sized(ArrayData(tensors, size, shuffle=False), keeps_size)


def _sized(data: ArrayData, keeps_size: bool) -> ArrayData:
    if keeps_size:
        data.known_size = data.batch_size
    return data


def _source(dataset: Any, stages: list[Stage]) -> Any:
    """Returns the slices at the start of a pipeline of single rows, and adds its stages; else `None`."""
    kind = datasets.kind_of(dataset)
    if kind == "_TensorSliceDataset":
        specs = tf.nest.flatten(dataset.element_spec)
        dense = all(isinstance(spec, tf.TensorSpec) for spec in specs)  # Neither ragged nor sparse.
        return dataset if dense else None
    if kind not in ("_ShuffleDataset", "_TakeDataset", "_SkipDataset"):
        return None
    (given,) = datasets.inputs_of(dataset)
    source = _source(given, stages)
    # The order of rows must be the one that TensorFlow would have, and a saved training must find it again.
    if source is None or (kind == "_ShuffleDataset" and not agrees_with_tensorflow()):
        return None
    stages.append(_stage(kind, dataset))
    return source


def _stage(kind: str, dataset: Any) -> Stage:
    if kind == "_ShuffleDataset":
        with _shuffles_lock:
            if dataset not in _shuffles:
                seeds = datasets.seeds_of(dataset)
                assert seeds is not None  # Otherwise `agrees_with_tensorflow()` is false.
                _shuffles[dataset] = Shuffle(
                    datasets.window_of(dataset), seeds, datasets.has_order_for_each_pass(dataset)
                )
            return _shuffles[dataset]
    count = datasets.count_of(dataset)
    if kind == "_TakeDataset":
        return lambda rows: rows if count < 0 else rows[:count]
    return lambda rows: rows[len(rows) if count < 0 else count :]


def _row_numbers(count: int, stages: list[Stage]) -> np.ndarray:
    rows = np.arange(count)
    for stage in stages:
        rows = stage(rows)
    return rows


def is_shuffled(dataset: Any) -> bool:
    """Whether a dataset, or one of its inputs, shuffles."""
    return "Shuffle" in datasets.kind_of(dataset) or any(
        map(is_shuffled, datasets.inputs_of(dataset))
    )
