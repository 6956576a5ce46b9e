"""Finds out which logs of a step that several devices run are results of metrics."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.engine import replicas
from tfkit.src.metrics.base import Metric

if TYPE_CHECKING:
    from tfkit.src.training.model_steps import ModelSteps


class RecordedLogs:
    """The logs of a user's step that are results of metrics: these are computed for all replicas together."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Metric, str | None]] = {}
        self._logged: dict[str, tuple[Metric, str | None]] = {}

    @contextlib.contextmanager
    def metrics(self, model: ModelSteps) -> Iterator[None]:
        """Context manager in which the results of a model's metrics are recorded."""
        metrics = model.metrics
        for metric in metrics:
            # Not through `__setattr__`, which would make traces stale.
            metric.__dict__["result"] = self._recording(metric, metric.result)
        try:
            yield
        finally:
            for metric in metrics:
                metric.__dict__.pop("result", None)

    def _recording(self, metric: Metric, result: Callable[[], Any]) -> Callable[[], Any]:
        def recording() -> Any:
            # The step calls `metric.result()` itself and may return it under any name: the log is
            # recognized by the tensor.
            value = result()
            parts = value.items() if isinstance(value, dict) else [(None, value)]
            for key, part in parts:
                # The value is kept, so that no other object gets its id.
                self._made[id(part)] = (part, metric, key)
            return value

        return recording

    def without_results(self, logs: Any) -> dict[str, Any]:
        """Returns the logs of one replica without the results of metrics, combined for the whole batch."""
        others = {}
        for name, value in _items(logs):
            known = self._made.get(id(value))
            if known is not None:
                self._logged[name] = known[1:]
            else:
                others[name] = _log_of_all(tf.convert_to_tensor(value))
        return others

    def results(self) -> dict[str, Any]:
        """Returns the logs that are results of metrics."""
        found: dict[str, Any] = {}
        for name, (metric, key) in self._logged.items():
            value = metric.result()
            found[name] = tf.identity(value if key is None else value[key])
        return found


def _items(logs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the names and values of logs; the result of several metrics is a dict, whose names count."""
    for name, value in logs.items():
        if isinstance(value, dict):
            yield from _items(value)
        else:
            yield name, value


def _log_of_all(value: tf.Tensor) -> tf.Tensor:
    """Returns the log that one device would have; an unknown kind is taken for a mean over the rows."""
    kind = replicas.kind_of(value)
    if kind.form in ("count", "sum", "max", "min"):
        return replicas.whole(value, kind)
    replicas.check_rows(value)
    if not value.dtype.is_floating:
        return value
    return replicas.total(replicas.weighted(value))
