"""Names the variables of a metric for files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base.members import BOOKKEEPING, walk
from tfkit.src.base.names import free
from tfkit.src.metrics.base import Metric


def named_variables(metric: Metric) -> dict[str, tf.Variable]:
    """Returns the variables of a metric by attribute path; a variable without an attribute as `variable`."""
    found: dict[int, str] = {}
    for path, variable in _walk("", metric):
        found.setdefault(id(variable), path)
    named: dict[str, tf.Variable] = {}
    for variable in metric.variables:
        named[found.get(id(variable)) or free("variable", set(named))] = variable
    return named


def _walk(prefix: str, metric: Metric) -> Iterator[tuple[str, Any]]:
    for name, value in vars(metric).items():
        if name not in BOOKKEEPING:
            for path, member in walk(f"{prefix}{name}", value, _is_member):
                if isinstance(member, Metric):
                    yield from _walk(f"{path}/", member)
                else:
                    yield path, member


def _is_member(value: Any) -> bool:
    """Whether a value is a variable, a metric, or an object with its own variables, such as a layer."""
    return isinstance(value, (tf.Variable, Metric)) or hasattr(value, "_tfkit")
