"""Functions for `tf.distribute`; without a strategy each is a plain call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.optimizers.gradients import map_values
from tfkit.src.runtime import replicas
from tfkit.src.runtime.collected_rows import collected_rows


def all_reduce_sum(gradients: Sequence[Any]) -> list[Any]:
    """Returns the sum of each gradient over the replicas; each replica gets all the sums.

    In the steps of a model, gradients are those of a mean over the replica's rows: its share of the batch
    weighs them.
    """
    if not replicas.is_one_of_several():
        return list(gradients)
    if tf.distribute.in_cross_replica_context():
        raise ValueError(
            "An optimizer updates variables in a replica context. Call `apply()` inside the "
            "function that `strategy.run()` runs."
        )
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync == 1:
        return list(gradients)
    gradients = [map_values(replicas.weighted, gradient) for gradient in gradients]
    if replicas.rows() is not None:
        gradients = [_together(gradient) for gradient in gradients]
        sums = [g for g in gradients if not isinstance(g, tf.IndexedSlices)]
        reduced = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, sums) if sums else ())
        return [g if isinstance(g, tf.IndexedSlices) else next(reduced) for g in gradients]
    return list(context.all_reduce(tf.distribute.ReduceOp.SUM, gradients))


def _together(gradient: Any) -> Any:
    """Returns the rows of a table that all replicas have looked up, in the order of one device.

    Optimizers that square single rows need them as they are, and not their sums.
    """
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient

    def joined(strategy: Any, *parts: Any) -> list[tf.Tensor]:
        mine = [tf.concat(strategy.experimental_local_results(part), 0) for part in parts]
        if not strategy.extended._in_multi_worker_mode():
            return mine
        return list(collected_rows(strategy, mine))

    values, indices = replicas.merged(joined, gradient.values, gradient.indices)
    return tf.IndexedSlices(values, indices, gradient.dense_shape)


def merge(function: Callable[..., None], *args: Any) -> None:
    """Calls `function(*args)` once for all replicas, where every copy can be updated."""
    if replicas.is_one_of_several():
        tf.distribute.get_replica_context().merge_call(
            lambda strategy, *merged: function(*merged), args=args
        )
    else:
        function(*args)


def update(variable: tf.Variable, function: Callable[..., None], *args: Any) -> None:
    """Calls `function(copy, *args)` for each copy of `variable`, on the device of the copy.

    On a parameter server, it is between reading and writing that updates of other workers are lost: there it
    takes a small part of the time that it would take on the worker.
    """
    if replicas.is_one_of_several():
        strategy = tf.distribute.get_strategy()
        strategy.extended.update(variable, function, args=args, group=False)
    elif replicas.are_on_servers():
        with tf.device(variable.device):
            function(variable, *args)
    else:
        function(variable, *args)


def local_value(value: Any) -> Any:
    """Returns one replica's value of a tensor that is the same on all replicas."""
    if replicas.is_one_of_several():
        return tf.distribute.get_strategy().experimental_local_results(value)[0]
    return value


def whole_variable(variable: Any) -> Any:
    """Returns the variable of which `variable` is one replica's copy; otherwise `variable` itself."""
    if isinstance(variable, tf.distribute.DistributedValues) or not replicas.is_one_of_several():
        return variable
    # TensorFlow notes it in one place or the other, by the class of the variable.
    container = getattr(variable.handle, "_distributed_container", None)
    container = container or getattr(variable, "_distributed_container", None)
    return variable if container is None else container()


def key(variable: Any) -> int:
    """Returns a key for a variable, which is the same for each of its copies."""
    return id(whole_variable(variable))
