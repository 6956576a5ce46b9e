"""Collects the rows of several processes in each of them, even if the processes differ in their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.engine import replicas

_BLOCK_BYTES = 2**18  # The size of a block of rows, which is sent whole even if it has few rows.


def collected_rows(strategy: Any, mine: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the rows of all processes, in the order of the processes; each process gets them all.

    A collective operation of TensorFlow keeps the shape of its first run (2.21). So the rows are exchanged in
    blocks of one size: each process puts its own rows into a block of zeros, and these are added up.

    Args:
        strategy: a strategy of several processes, in its cross-replica context.
        mine: the tensors of this process, `(rows, ...)`, with the same number of rows.
    """
    # The counts have one shape in all processes, so they can be exchanged first.
    _, number, num_processes = replicas.place(strategy)
    count = tf.shape(mine[0])[0]
    counts = _sum(strategy, count * tf.one_hot(number, num_processes, dtype="int32"))
    first, total = tf.reduce_sum(counts[:number]), tf.reduce_sum(counts)
    return [_collected(strategy, rows, first, total) for rows in mine]


def _collected(strategy: Any, rows: tf.Tensor, first: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
    inner = rows.shape[1:]
    size = max(1, _BLOCK_BYTES // (rows.dtype.size * max(inner.num_elements() or 1, 1)))
    num_blocks = -(-total // size)
    # Each process puts its rows where they are among all rows, with zeros around them. Their sum is the
    # collection, as no two processes have values in one row.
    after = num_blocks * size - first - tf.shape(rows)[0]
    own = tf.pad(rows, [[first, after], *([0, 0] for _ in inner)])
    blocks = tf.TensorArray(rows.dtype, num_blocks, element_shape=[size, *inner])

    def collect(index: tf.Tensor, blocks: Any) -> Any:
        block = tf.ensure_shape(own[index * size : (index + 1) * size], [size, *inner])
        return index + 1, blocks.write(index, _sum(strategy, block))

    # One iteration at a time: the processes must call the collective operations in the same order, or they
    # would wait for each other forever.
    _, blocks = tf.while_loop(
        lambda index, blocks: index < num_blocks, collect, (0, blocks), parallel_iterations=1
    )
    return blocks.concat()[:total]


def _sum(strategy: Any, value: tf.Tensor) -> tf.Tensor:
    """Returns the sum of a tensor of each process."""

    def of_replica(context: Any) -> tf.Tensor:
        # A process may have several replicas. Only its first one adds the rows, or they would count several
        # times.
        is_first = context.replica_id_in_sync_group % len(strategy.extended.worker_devices) == 0
        return value if is_first else tf.zeros_like(value)

    values = strategy.experimental_distribute_values_from_function(of_replica)
    summed = strategy.extended.reduce_to(
        tf.distribute.ReduceOp.SUM, values, strategy.extended.worker_devices[0]
    )
    return strategy.experimental_local_results(summed)[0]
