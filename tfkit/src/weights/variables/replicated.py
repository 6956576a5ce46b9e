"""Assignments to variables by the replicas of a step: all get the one value that a single device would have.

Each replica has computed a value from its own rows. The variable gets the value for the whole batch, if it is
known how to compute it: sums are added up, means are weighted by the rows. Otherwise the variable's
`aggregation` says what is meant, and without one the assignment is refused.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import is_copied
from tfkit.src.engine import replicas
from tfkit.src.engine.row_kinds import Kind


def value_for_all(variable: Any, value: tf.Tensor) -> Any:
    """Returns the value that a step assigns to a variable, the same on all replicas, from a replica's value.

    Raises:
        ValueError: if it depends on rows in a way that is not known, and the variable has no `aggregation`.
    """
    aggregation = getattr(variable, "aggregation", tf.VariableAggregation.NONE)
    if aggregation != tf.VariableAggregation.NONE:
        return _aggregated(value, aggregation)
    kind = replicas.kind_of(value)
    if kind.form not in ("count", "sum", "max", "min"):
        raise ValueError(_refusal(variable, kind))
    return replicas.whole(value, kind)


def is_combined(variable: Any) -> bool:
    """Whether replicas that run now combine their values when they assign them to a variable."""
    if replicas.rows() is not None:
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
    context = tf.distribute.get_replica_context()
    is_number = value.dtype.is_floating or value.dtype.is_complex
    dtype = value.dtype if is_number else tf.int64
    if aggregation == tf.VariableAggregation.MEAN and not is_number:
        dtype = tf.float64
    part = tf.cast(value, dtype)
    if aggregation == tf.VariableAggregation.ONLY_FIRST_REPLICA:
        part = tf.where(replicas.is_first(), part, tf.zeros_like(part))
    elif aggregation == tf.VariableAggregation.MEAN:
        part = replicas.weighted(part) if replicas.rows() else part / context.num_replicas_in_sync
    found = context.all_reduce(tf.distribute.ReduceOp.SUM, part)
    found = found if is_number else tf.round(found)
    return tf.cast(found, value.dtype)


def part_of_sum(variable: Any, value: tf.Tensor) -> tf.Tensor:
    """Returns what a replica adds to its part of a variable, which is the sum of all parts when it is read.

    Raises:
        ValueError: if the value for all rows is not a sum over the replicas.
    """
    kind = replicas.kind_of(value)
    if kind.form == "unknown":
        return value
    if kind.form not in ("count", "sum"):
        raise ValueError(_refusal(variable, kind))
    if kind.form == "count" and not value.dtype.is_floating and kind.degree == 0:
        return tf.where(replicas.is_first(), value, tf.zeros_like(value))
    degree = kind.degree + (kind.form == "count")
    part, constant = replicas.parts(value, kind)
    found = replicas.scaled(part, degree)
    return found if constant is None else found + replicas.scaled(constant, 1)


def _refusal(variable: Any, kind: Kind) -> str:
    return (
        f"Variable '{variable.path}' would get a different value on each replica: what is assigned depends "
        f"on the rows of the batch, by {kind.origin()}, and is not known to be their sum, mean, largest or "
        'smallest value, which replicas can compute together. Make the variable with `aggregation="mean"`, '
        '`"sum"` or `"only_first_replica"`, to say which of the replicas\' values is meant. Received: '
        "no `aggregation`"
    )
