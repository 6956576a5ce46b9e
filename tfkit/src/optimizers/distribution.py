"""Functions for `tf.distribute`; without a strategy each is a plain call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import communication_options, has_several_workers, whole_of_copy
from tfkit.src.engine import replicas
from tfkit.src.engine.collected_rows import collected_rows


def all_reduce_sum(gradients: Sequence[Any]) -> list[Any]:
    """Returns the sum of each gradient over the replicas; each replica gets all the sums.

    In the steps of a model, gradients belong to a mean over the replica's rows, and are weighted by its share
    of the batch.
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
    if replicas.rows() is None:
        return list(context.all_reduce(tf.distribute.ReduceOp.SUM, gradients))
    return _weighted_sums(gradients)


def _weighted_sums(gradients: Sequence[Any]) -> list[Any]:
    """Returns the sums over the replicas of gradients, each times its replica's share of the batch.

    That is the gradient of a mean over the rows. For a loss that is a sum over them, the replicas' shares do
    not count.
    """
    sums = [_together(_as_of_mean(gradient)) for gradient in gradients]
    # One exchange for each dtype: what an exchange costs does not depend on the size if tensors
    # are small.
    by_dtype: dict[tf.DType, list[int]] = {}
    for index, gradient in enumerate(sums):
        if not isinstance(gradient, tf.IndexedSlices):
            by_dtype.setdefault(gradient.dtype, []).append(index)
    for indices in by_dtype.values():
        reduced = _all_reduced([sums[index] for index in indices])
        for index, value in zip(indices, reduced, strict=True):
            sums[index] = value
    return sums


def _as_of_mean(gradient: Any) -> Any:
    """Returns a gradient such that the weighted sum over the replicas equals the gradient on one device."""
    if not isinstance(gradient, tf.IndexedSlices):
        return replicas.as_mean(gradient)
    kind = replicas.check_rows(gradient.values)
    degree = kind.degree - 1 if kind.form == "rows" else 0
    values = replicas.scaled(gradient.values, degree)
    return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)


def _all_reduced(gradients: list[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the weighted sums of tensors of one dtype over the replicas."""
    context = tf.distribute.get_replica_context()
    options = communication_options(tf.distribute.get_strategy())
    if options is not None and options.bytes_per_pack:
        # The user's sizes of the tensors that are exchanged.
        weighted = [replicas.weighted(gradient) for gradient in gradients]
        return list(context.all_reduce(tf.distribute.ReduceOp.SUM, weighted))
    # As one tensor: TensorFlow would concatenate them too, but each would be weighted separately.
    flat = tf.concat([tf.reshape(gradient, [-1]) for gradient in gradients], 0)
    flat = context.all_reduce(tf.distribute.ReduceOp.SUM, replicas.weighted(flat))
    parts = tf.split(flat, [tf.size(gradient) for gradient in gradients])
    shapes = [tf.shape(gradient) for gradient in gradients]
    return [tf.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]


def _together(gradient: Any) -> Any:
    """Returns the rows of a table that all replicas have looked up, weighted, in the order of one device.

    Optimizers that square single rows need the rows themselves, and not their sums.
    """
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient

    def joined(strategy: Any, *parts: Any) -> list[tf.Tensor]:
        mine = [tf.concat(strategy.experimental_local_results(part), 0) for part in parts]
        if not has_several_workers(strategy):
            return mine
        return list(collected_rows(strategy, mine))

    values, indices = replicas.merged(joined, replicas.weighted(gradient.values), gradient.indices)
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

    With parameter servers, updates of other workers are lost between reading and writing. On the server, this
    lasts a small part of the time that it would last on the worker.
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
    """Returns the variable that `variable` is one replica's copy of; otherwise `variable` itself."""
    if isinstance(variable, tf.distribute.DistributedValues) or not replicas.is_one_of_several():
        return variable
    whole = whole_of_copy(variable)
    return variable if whole is None else whole


def key(variable: Any) -> int:
    """Returns a key for a variable, which is the same for each of its copies."""
    # A strategy's copies are different objects, which stand for one variable of the model.
    return id(whole_variable(variable))
