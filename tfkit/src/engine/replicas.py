"""The replica in progress of a step under a strategy of `tf.distribute`: its rows of the batch.

Each replica computes means over its own rows. A mean over the batch is the sum of the replicas' means, each
times its share of the rows; a sum over the batch is the sum of the replicas' sums. Which of them a value is
follows from the operations that made it, see `row_kinds.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.borrowed.private import is_copied
from tfkit.src.engine.row_kinds import EQUAL, Kind, RowKinds


class Rows(NamedTuple):
    """The rows of one replica; there may be none.

    Attributes:
        first: index of the first one in the batch, a scalar of int32.
        count: how many there are.
        total: rows of the whole batch.
        strategy: the strategy.
        kinds: how the tensors of the replica's step depend on the rows.
    """

    first: tf.Tensor
    count: tf.Tensor
    total: tf.Tensor
    strategy: tf.distribute.Strategy
    kinds: RowKinds

    def share(self, dtype: Any = "float32") -> tf.Tensor:
        """Returns the part of the batch, from 0 to 1, as a scalar."""
        # In float64, because float32 does not represent every number of rows above 2**24.
        ratio = tf.cast(self.count, "float64") / tf.cast(self.total, "float64")
        return tf.cast(ratio, dtype)


def rows() -> Rows | None:
    """Returns the rows of the replica in progress; `None` outside of a model's steps under a strategy."""
    own = context.current().replica_rows
    if own is None or tf.distribute.get_replica_context() is None:
        # In `merge_call`, replicas wait for what is done once for all of them: there is no replica then.
        return None
    return own


def having(own: Rows) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager for the trace of a replica's step on its rows."""
    return context.within(replica_rows=own)


def on_servers(strategy: tf.distribute.Strategy) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager for the trace of a step with variables on a strategy's parameter servers."""
    return context.within(servers=strategy)


def are_on_servers() -> bool:
    """Whether a step is traced whose variables are on parameter servers."""
    return context.current().servers is not None


def is_one_of_several() -> bool:
    """Whether this runs under a strategy whose replicas make a step together, even if it has only one."""
    return tf.distribute.has_strategy() and context.current().servers is None


def scope() -> contextlib.AbstractContextManager[Any]:
    """Returns the context in which a step makes variables: copies for all replicas, or on servers."""
    own = context.current().replica_rows
    strategy = context.current().servers if own is None else own.strategy
    if strategy is None or tf.distribute.has_strategy():
        return contextlib.nullcontext()
    return strategy.scope()


def weighted(value: tf.Tensor) -> tf.Tensor:
    """Returns a replica's mean times its share of the batch: 0 without rows, even for NaN.

    The sum over replicas is the mean over the batch. Outside of replicas, it is `value`.
    """
    own = rows()
    # A replica without rows has a mean of 0 / 0. It must not make the sum over replicas NaN.
    return value if own is None else tf.math.multiply_no_nan(value, own.share(value.dtype))


def unweighted(value: tf.Tensor) -> tf.Tensor:
    """Returns a value that `weighted` turns into `value`; 0 without rows."""
    own = rows()
    # Without rows the share is 0, and so is the result of `weighted`.
    return value if own is None else tf.math.divide_no_nan(value, own.share(value.dtype))


def total(value: tf.Tensor) -> tf.Tensor:
    """Returns the sum over the replicas of a step, on each of them.

    What a replica differentiates is a mean over its rows, and the gradient is multiplied by its share at the
    end. Here gradients of all replicas are added up, so each is multiplied before, and divided afterwards.
    """
    own = rows()
    if own is None:
        return value
    reduce = tf.distribute.get_replica_context().all_reduce
    mode = tf.distribute.ReduceOp.SUM
    if not value.dtype.is_floating:
        return reduce(mode, value)

    @tf.custom_gradient
    def summed(value: tf.Tensor) -> Any:
        return reduce(mode, value), lambda upstream: unweighted(reduce(mode, weighted(upstream)))

    return summed(value)


def kind_of(value: tf.Tensor) -> Kind:
    """Returns how a value of the replica in progress depends on the rows of the batch."""
    own = rows()
    return own.kinds.of(value) if own is not None and is_divided() else EQUAL


def is_divided() -> bool:
    """Whether the batch of the step in progress is divided among several replicas."""
    own = rows()
    return own is not None and own.strategy.num_replicas_in_sync > 1


def is_first() -> tf.Tensor:
    """Returns whether the replica in progress is the first one."""
    return tf.equal(tf.distribute.get_replica_context().replica_id_in_sync_group, 0)


def as_own(value: tf.Tensor) -> tf.Tensor:
    """Notes that a statistic of the replica's rows is meant to differ among replicas, and returns it."""
    own = context.current().replica_rows
    if own is not None:
        own.kinds.note(value, EQUAL)
    return value


def scaled(value: tf.Tensor, degree: int) -> tf.Tensor:
    """Returns a replica's sum over its rows that was divided by their number, as one divided by all rows."""
    own = rows()
    if own is None or degree == 0:
        return value
    # Each division by the replica's rows becomes one by all rows, with the share as a factor. Integers are
    # scaled as floats and rounded: exact up to 2**53.
    is_whole = not (value.dtype.is_floating or value.dtype.is_complex)
    dtype = tf.float64 if is_whole else value.dtype
    times = tf.math.multiply_no_nan if degree > 0 else tf.math.divide_no_nan
    found = tf.cast(value, dtype)
    for _ in range(abs(degree)):
        found = times(found, own.share(dtype))
    return tf.cast(tf.round(found), value.dtype) if is_whole else found


def parts(value: tf.Tensor, kind: Kind) -> tuple[tf.Tensor, Any]:
    """Returns the part of a sum over rows that depends on them, and the rest, `None` if there is none."""
    own = rows()
    if own is None or kind.plus is None:
        return value, None
    constant = kind.plus()
    part = value - constant
    own.kinds.note(part, kind._replace(plus=None))
    return part, constant


def check_rows(value: tf.Tensor) -> Kind:
    """Returns the kind of a value that one device would have computed too, or that is a sum over replicas.

    Raises:
        ValueError: if rows of the batch have met in it.
    """
    kind = kind_of(value)
    own = rows()
    if own is not None and kind.form in ("max", "min", "mixed"):
        raise ValueError(
            f"Rows of the batch are combined with each other at {kind.origin()}. Under "
            f"{type(own.strategy).__name__} each of the {own.strategy.num_replicas_in_sync} replicas has its "
            "own rows only, so that the result would differ from one device's. Run it without the strategy, "
            "or compute it from each row by itself."
        )
    return kind


def as_mean(value: tf.Tensor) -> tf.Tensor:
    """Returns a loss or gradient whose mean over replicas, weighted by rows, is the value for the batch.

    Raises:
        ValueError: if rows of the batch have met in it.
    """
    kind = check_rows(value)
    if kind.form != "sum" or (kind.degree == 1 and kind.plus is None):
        return value
    part, constant = parts(value, kind)
    mean = scaled(part, kind.degree - 1)
    return mean if constant is None else mean + constant


def whole(value: tf.Tensor, kind: Kind) -> tf.Tensor:
    """Returns what one device would have computed from all rows instead of a replica's value.

    Args:
        value: the value.
        kind: its kind: a count, a sum, or a largest or smallest value.
    """
    own = rows()
    if own is None or kind == EQUAL:
        return value
    if kind.form in ("max", "min"):
        is_bool = value.dtype == tf.bool
        # `any` and `all` are maximum and minimum of booleans, which `tf.reduce_max` does not accept.
        value = tf.cast(value, "int32") if is_bool else value
        context = tf.distribute.get_replica_context()
        # Strategies reduce by sum and mean only, so that extreme values are gathered.
        of_all = context.all_gather(value[tf.newaxis], 0)
        found = (tf.reduce_max if kind.form == "max" else tf.reduce_min)(of_all, 0)
        return tf.cast(found, "bool") if is_bool else found
    # A value that is equal on all replicas is the mean of itself.
    degree = kind.degree + (kind.form == "count")
    part, constant = parts(value, kind)
    found = total(scaled(part, degree))
    return found if constant is None else found + constant


def of_all(value: tf.Tensor) -> tf.Tensor:
    """Returns what one device would have computed instead of a replica's value, if that is known."""
    kind = kind_of(value)
    return whole(value, kind) if kind.form in ("count", "sum", "max", "min") else value


def place(strategy: Any) -> tuple[bool, int, int]:
    """Returns whether this process is the chief of its cluster, its index, and the number of processes.

    TensorFlow counts the chief as the first of the workers.
    """
    resolver = getattr(strategy, "cluster_resolver", None)
    if resolver is None or not resolver.cluster_spec():
        return True, 0, 1
    cluster = resolver.cluster_spec().as_dict()
    chiefs, workers = len(cluster.get("chief", ())), len(cluster.get("worker", ()))
    number = (resolver.task_id or 0) + (chiefs if resolver.task_type == "worker" else 0)
    is_chief = not resolver.task_type or (number == 0 and resolver.task_type in ("chief", "worker"))
    return is_chief, number, max(chiefs + workers, 1)


def merged(function: Callable[..., Any], *args: Any) -> Any:
    """Calls `function(strategy, *args)` once for all replicas, with their values of the arguments."""
    return tf.distribute.get_replica_context().merge_call(function, args=args)


def once(function: Callable[[], Any]) -> Any:
    """Returns `function()`, which all replicas of a step call once together."""
    if rows() is None:
        return function()
    return merged(lambda strategy: function())


# --- Assignments to variables: all replicas get the one value that a single device would have --------
#
# The variable gets the value for the whole batch, if it is known how to compute it: sums are added up, means
# are weighted by the rows. Otherwise the variable's `aggregation` says what is meant, and without one the
# assignment is refused.


def value_for_all(variable: Any, value: tf.Tensor) -> Any:
    """Returns the value that a step assigns to a variable, the same on all replicas, from a replica's value.

    Raises:
        ValueError: if it depends on rows in a way that is not known, and the variable has no `aggregation`.
    """
    aggregation = getattr(variable, "aggregation", tf.VariableAggregation.NONE)
    if aggregation != tf.VariableAggregation.NONE:
        return _aggregated(value, aggregation)
    kind = kind_of(value)
    if kind.form not in ("count", "sum", "max", "min"):
        raise ValueError(_refusal(variable, kind))
    return whole(value, kind)


def is_combined(variable: Any) -> bool:
    """Whether replicas that run now combine their values when they assign them to a variable."""
    if rows() is not None:
        return True
    # A user's own loop, in which each replica has a copy, and without an `aggregation` is on its own.
    is_replica = tf.distribute.has_strategy() and tf.distribute.get_replica_context() is not None
    return (
        is_replica
        and is_copied(variable)
        and variable.synchronization != tf.VariableSynchronization.ON_READ
        and variable.aggregation != tf.VariableAggregation.NONE
    )


def _aggregated(value: tf.Tensor, aggregation: tf.VariableAggregation) -> tf.Tensor:
    """Returns what the replicas' values become by an `aggregation`; means are weighted by the rows."""
    replica = tf.distribute.get_replica_context()
    is_number = value.dtype.is_floating or value.dtype.is_complex
    dtype = value.dtype if is_number else tf.int64
    if aggregation == tf.VariableAggregation.MEAN and not is_number:
        dtype = tf.float64
    part = tf.cast(value, dtype)
    if aggregation == tf.VariableAggregation.ONLY_FIRST_REPLICA:
        part = tf.where(is_first(), part, tf.zeros_like(part))
    elif aggregation == tf.VariableAggregation.MEAN:
        part = weighted(part) if rows() else part / replica.num_replicas_in_sync
    found = replica.all_reduce(tf.distribute.ReduceOp.SUM, part)
    found = found if is_number else tf.round(found)
    return tf.cast(found, value.dtype)


def part_of_sum(variable: Any, value: tf.Tensor) -> tf.Tensor:
    """Returns what a replica adds to its part of a variable, which is the sum of all parts when it is read.

    Raises:
        ValueError: if the value for all rows is not a sum over the replicas.
    """
    kind = kind_of(value)
    if kind.form == "unknown":
        return value
    if kind.form not in ("count", "sum"):
        raise ValueError(_refusal(variable, kind))
    if kind.form == "count" and not value.dtype.is_floating and kind.degree == 0:
        return tf.where(is_first(), value, tf.zeros_like(value))
    degree = kind.degree + (kind.form == "count")
    part, constant = parts(value, kind)
    found = scaled(part, degree)
    return found if constant is None else found + scaled(constant, 1)


def _refusal(variable: Any, kind: Kind) -> str:
    return (
        f"Variable '{variable.path}' would get a different value on each replica: what is assigned depends "
        f"on the rows of the batch, by {kind.origin()}, and is not known to be their sum, mean, largest or "
        'smallest value, which replicas can compute together. Make the variable with `aggregation="mean"`, '
        '`"sum"` or `"only_first_replica"`, to say which of the replicas\' values is meant. Received: '
        "no `aggregation`"
    )
