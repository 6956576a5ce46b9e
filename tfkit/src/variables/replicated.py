"""Assignments to variables by the replicas of a step: one value for all of them, which one device would have.

A value that each replica has computed from its rows is assigned as that of the whole batch, where it is known
how to get it: sums are added up, means are weighed by the rows. Otherwise the variable's `aggregation` says
what is meant, and without one the assignment is refused.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.runtime import replicas
from tfkit.src.runtime.row_kinds import Kind

_KNOWN = ("count", "sum", "max", "min")


def value_for_all(variable: Any, value: tf.Tensor) -> Any:
    """Returns the value that a step assigns to a variable, the same on all replicas, from a replica's value.

    Raises:
        ValueError: if it depends on rows in a way that is not known, and the variable has no `aggregation`.
    """
    kind = replicas.kind_of(value)
    aggregation = getattr(variable, "aggregation", tf.VariableAggregation.NONE)
    if aggregation == tf.VariableAggregation.NONE:
        if kind.form not in _KNOWN:
            raise ValueError(_refusal(variable, kind))
        return replicas.whole(value, kind)
    if aggregation == tf.VariableAggregation.SUM:
        return replicas.total(value)
    if aggregation == tf.VariableAggregation.ONLY_FIRST_REPLICA:
        return replicas.total(tf.where(replicas.is_first(), value, tf.zeros_like(value)))
    # Of integers, too, the mean is weighed by the rows.
    mean = value if value.dtype.is_floating else tf.cast(value, "float64")
    mean = replicas.total(replicas.weighted(mean))
    return mean if value.dtype.is_floating else tf.cast(tf.round(mean), value.dtype)


def part_of_sum(variable: Any, value: tf.Tensor) -> tf.Tensor:
    """Returns what a replica adds to its part of a variable, which is the sum of all parts when it is read.

    Raises:
        ValueError: if the value for all rows is no sum over the replicas.
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
        f"Variable '{variable.path}' would get a different value on each replica: what is assigned depends on "
        f"the rows of the batch, by {kind.origin()}, and is not known to be their sum, mean, largest or "
        "smallest value, which replicas can compute together. Make the variable with `aggregation=\"mean\"`, "
        "`\"sum\"` or `\"only_first_replica\"`, to say which of the replicas' values is meant. Received: "
        "no `aggregation`"
    )
