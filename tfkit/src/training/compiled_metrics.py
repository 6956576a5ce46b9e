"""The metrics passed to `compile`, matched to the model's outputs."""

from __future__ import annotations

import inspect
import itertools
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.metrics.base import Metric
from tfkit.src.metrics.resolve import get as get_metric
from tfkit.src.metrics.resolve import metric_for
from tfkit.src.training.outputs import Outputs, as_list

# These names mean different metrics, depending on the shapes of the first batch.
_RESOLVED_BY_SHAPES = (None, "accuracy", "acc")


class MetricEntry(NamedTuple):
    """One metric of one output, and the name of its result."""

    output: int
    metric: Metric
    weighted: bool
    name: str


class CompiledMetrics(Metric):
    """The metrics of `compile` as a single metric whose result is a dict.

    Args:
        metrics: names, functions or `Metric`s, in a list; with several outputs, a list of lists or a
            dict of lists.
        weighted_metrics: the same, for metrics that use sample weights.
        output_names: names of the model's outputs, if it has them.
    """

    def __init__(self, metrics: Any, weighted_metrics: Any, output_names: list[str] | None) -> None:
        super().__init__(name="compile_metrics")
        # As in Keras, an empty list is none, whatever the number of outputs.
        self._given = {"metrics": metrics or None, "weighted_metrics": weighted_metrics or None}
        self._output_names = output_names
        self._entries: list[MetricEntry] | None = None
        self._outputs: Outputs | None = None
        for what, given in self._given.items():
            if given is not None and not nests.is_nested(given):
                raise ValueError(
                    f"Expected `{what}` to be a list, tuple, or dict. "
                    f"Received: {given!r} (of type {type(given).__name__})"
                )
            for identifier in tf.nest.flatten(given):
                if identifier not in _RESOLVED_BY_SHAPES and not inspect.isclass(identifier):
                    get_metric(identifier)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of all outputs."""
        return [entry.metric for entry in self._entries or []]

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # tf.Module would replace lists with wrappers.

    def build(self, y: Any, y_pred: Any) -> None:
        """Matches metrics to outputs, and resolves names such as "accuracy" by the shapes."""
        self._outputs = outputs = Outputs(y_pred, self._output_names)
        targets = outputs.split_tensors(y, "y", self._wanted())
        predictions = outputs.split_tensors(y_pred, "y_pred")
        self._entries = []
        for what, given in self._given.items():
            weighted = what == "weighted_metrics"
            for index, identifiers in enumerate(self._lists(given, what)):
                for one in as_list(identifiers) if identifiers is not None else []:
                    metric = metric_for(one, targets[index], predictions[index])
                    name = self._free_name(metric.name, outputs, index, weighted)
                    self._entries.append(MetricEntry(index, metric, weighted, name))

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Updates the metrics with one batch."""
        if self._entries is None:
            self.build(y, y_pred)
        assert self._outputs is not None
        assert self._entries is not None
        targets = self._outputs.split_tensors(y, "y", self._wanted())
        predictions = self._outputs.split_tensors(y_pred, "y_pred")
        weights = self._outputs.split(sample_weight, "sample_weight")
        for index, metric, weighted, _ in self._entries:
            if targets[index] is not None:
                weight = weights[index] if weighted else None
                metric.update_state(targets[index], predictions[index], sample_weight=weight)

    def result(self) -> dict[str, Any]:
        """Returns the results by name; empty before the first batch."""
        return {entry.name: entry.metric.result() for entry in self._entries or []}

    def reset_state(self) -> None:
        """Resets the metrics to their initial state, also if no batch has matched them to outputs yet.

        Before the first batch they may have counts of a different model, of an old `compile`, or of calls.
        """
        given = [
            one for one in tf.nest.flatten(list(self._given.values())) if isinstance(one, Metric)
        ]
        for metric in {id(metric): metric for metric in [*given, *self.metrics]}.values():
            metric.reset_state()

    def _wanted(self) -> list[bool]:
        """Returns for each output whether it has metrics."""
        assert self._outputs is not None
        lists = [self._lists(given, what) for what, given in self._given.items()]
        return [any(entries) for entries in zip(*lists, strict=True)]

    def _lists(self, given: Any, what: str) -> list[Any]:
        """Returns the metrics passed for each output."""
        assert self._outputs is not None
        if self._outputs.single and given is not None:
            return [tf.nest.flatten(given)]
        return self._outputs.split(given, what)

    def _free_name(self, name: str, outputs: Outputs, index: int, weighted: bool) -> str:
        """Returns a metric's name with its output's name in front, and a number if that name is in use."""
        output = None if outputs.single else outputs.names[index]
        prefix = "" if output is None else f"{output}_"
        taken = {entry.name for entry in self._entries or []}
        if weighted and prefix + name in taken:
            name = f"weighted_{name}"
        candidates = itertools.chain([""], (f"_{number}" for number in itertools.count(1)))
        return next(prefix + name + end for end in candidates if prefix + name + end not in taken)
