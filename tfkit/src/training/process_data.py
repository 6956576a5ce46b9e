"""The data of a training run in several processes: the same batches in each, or a part of each batch.

By default each process reads all batches and uses its rows of them. A dataset with the auto-shard policy
`OFF` has different rows in each process: a batch then consists of the processes' batches of the same index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.borrowed import datasets
from tfkit.src.training.data import ArrayData, DatasetData


class Part(NamedTuple):
    """A batch that consists of different rows in each process.

    Attributes:
        batch: the rows of this process.
    """

    batch: Any


def is_own_part(dataset: Any) -> bool:
    """Whether a dataset has different rows in each process, as the auto-shard policy `OFF` says."""
    policy = dataset.options().experimental_distribute.auto_shard_policy
    return policy == tf.data.experimental.AutoShardPolicy.OFF


def prepare(data: ArrayData | DatasetData, of_all: Callable[[int], list[int]]) -> None:
    """Makes the data of this process ready for a training run with the others, or refuses them.

    All processes raise the error together, so that none waits for the others.

    Args:
        data: the data of this process.
        of_all: returns the numbers that the processes pass.

    Raises:
        ValueError: for data that would be seen twice or never.
    """
    if isinstance(data, ArrayData):
        _check_equal(of_all(data.num_rows), "rows")
        return
    if data.is_distributed:
        raise ValueError(
            "A dataset of `tf.distribute` is not read in several processes. Pass the `tf.data.Dataset` "
            "itself: each process uses its rows of each batch. If it has different rows in each process, say "
            f"so: {_OFF}"
        )
    count = int(data.dataset.cardinality()) if data.num_batches is None else data.num_batches
    is_part = is_own_part(data.dataset)
    if len(set(of_all(int(is_part)))) > 1:
        raise ValueError(
            "The auto-shard policy of the dataset is OFF in some of the processes only. Set the same options "
            "in all of them."
        )
    counts = of_all(count)
    if is_part:
        _divide(data, counts)
        return
    _check_equal(counts, "batches")
    if len(set(of_all(_shards(data.dataset)))) > 1:
        raise ValueError(
            "This dataset is divided by `shard()`, but each process uses its rows of each batch itself: "
            "some would never be seen. Leave `shard()` out, or say that each process has batches of its own: "
            + _OFF
        )
    seeds = _seeds(data.dataset)
    differs = int(any(not any(pair) for pair in seeds))
    # Also if this process has no shuffle: each must call `of_all` as often as the others.
    digest = 0
    for first, second in seeds:
        digest = (digest * 1_000_003 + first * 31 + second) % (1 << 40)
    if any(of_all(differs)) or len(set(of_all(digest))) > 1:
        raise ValueError(
            "This dataset is shuffled in a different order in each process: rows are seen twice or never. "
            "Call `tfkit.utils.set_random_seed(...)` with the same number in all of them, before the "
            "dataset is made, and pass a `seed` to `shuffle()`."
        )


_OFF = (
    "`options = tf.data.Options(); options.experimental_distribute.auto_shard_policy = "
    "tf.data.experimental.AutoShardPolicy.OFF; dataset = dataset.with_options(options)`."
)


def _check_equal(counts: list[int], what: str) -> None:
    if len(set(counts)) > 1:
        shown = ", ".join("unknown" if count < 0 else str(count) for count in counts)
        raise ValueError(
            f"The processes have different numbers of {what}: {shown}. Each reads all data and uses its rows "
            "of each batch: pass the same data in all of them. If a `tf.data.Dataset` has different rows in "
            f"each process, say so: {_OFF}"
        )


def _divide(data: DatasetData, counts: list[int]) -> None:
    """Makes a dataset of parts, the same number in each process: after the last one, the parts are empty."""
    dataset = data.dataset
    if tf.data.UNKNOWN_CARDINALITY in counts or len({count < 0 for count in counts}) > 1:
        raise ValueError(
            "With the auto-shard policy OFF, the number of batches must be known in each process, or be "
            "infinite in all of them: pass `dataset.apply(tf.data.experimental.assert_cardinality(number))`, "
            f"or `dataset.repeat()` and `steps_per_epoch`. Received numbers of batches: {counts}"
        )
    own, most = int(dataset.cardinality()), max(counts)
    if own >= 0 and own < most:
        empty = dataset.take(1).map(lambda *batch: _without_rows(_joined(dataset, batch)))
        if own == 0:
            empty = tf.data.Dataset.from_tensors(_no_rows(dataset.element_spec))
        dataset = dataset.concatenate(empty.repeat(most - own))
    data.dataset = dataset.map(lambda *batch: Part(_joined(dataset, batch)))
    data.num_batches = most if most >= 0 else None


def _joined(dataset: Any, batch: tuple[Any, ...]) -> Any:
    """Returns the arguments of a function in `map` as the single element that they form."""
    return batch if isinstance(dataset.element_spec, tuple) else batch[0]


def _without_rows(batch: Any) -> Any:
    def first_none(value: Any) -> Any:
        if isinstance(value, tf.SparseTensor):
            size = tf.concat([[0], value.dense_shape[1:]], 0)
            return tf.sparse.slice(value, tf.zeros_like(value.dense_shape), size)
        return value[:0]

    return tf.nest.map_structure(first_none, batch)


def _no_rows(specs: Any) -> Any:
    return tf.nest.map_structure(
        lambda spec: tf.zeros([0, *(size or 1 for size in spec.shape[1:])], spec.dtype), specs
    )


def _shards(dataset: Any) -> int:
    """Returns the sum of the indices, from 1, of all parts by `shard` that a dataset is made of."""
    found = sum(map(_shards, datasets.inputs_of(dataset)))
    index = datasets.shard_of(dataset) if "Shard" in datasets.kind_of(dataset) else None
    return found if index is None else found + index + 1


def _seeds(dataset: Any) -> list[tuple[int, int]]:
    """Returns the pair of seeds of each shuffle of a dataset, zeros for one that draws its own."""
    found = [pair for each in datasets.inputs_of(dataset) for pair in _seeds(each)]
    seeds = datasets.seeds_of(dataset) if "Shuffle" in datasets.kind_of(dataset) else None
    return found if seeds is None else [*found, seeds]
