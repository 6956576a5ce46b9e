"""Metrics of the server in Prometheus's text format, with TF Serving's names.

Reference: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Sequence

PATH = "/monitoring/prometheus/metrics"


class _Series:
    """Numbers for combinations of labels."""

    def __init__(self, name: str, help: str, labels: Sequence[str]) -> None:
        # Prometheus allows no slashes in names; TF Serving writes colons for them.
        self.name = name.replace("/", ":")
        self.help = help
        self._labels = labels
        self._lock = threading.Lock()  # Runs are counted in several threads.


class Counter(_Series):
    """A number that grows, for each combination of labels.

    Args:
        name: as TF Serving writes it, `/tensorflow/serving/request_count`.
        help: a description of the counted events.
        labels: their names.
    """

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self._values: dict[tuple[str, ...], int] = {}

    def add(self, *labels: str, by: int = 1) -> None:
        """Adds to the number with these labels."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + by

    def lines(self) -> list[str]:
        """Returns the lines of all combinations."""
        return [
            f"{self.name}{{{_labels(self._labels, values)}}} {count}"
            for values, count in sorted(self._values.items())
        ]


class Histogram(_Series):
    """The distribution of a number, for each combination of labels.

    Args:
        name: as TF Serving writes it.
        help: a description of the measured number.
        labels: their names.
        scale: the first limit.
        growth: each limit is this many times the one before.
        count: of the limits, and one without end.
    """

    kind = "histogram"

    def __init__(
        self, name: str, help: str, labels: Sequence[str], scale: float, growth: float, count: int
    ) -> None:
        super().__init__(name, help, labels)
        self._limits = [scale * growth**index for index in range(count)]
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, *labels: str, value: float) -> None:
        """Adds a number."""
        with self._lock:
            if labels not in self._counts:
                # The last count is of numbers above all limits.
                self._counts[labels] = [0] * (len(self._limits) + 1)
                self._sums[labels] = 0.0
            self._counts[labels][bisect.bisect_left(self._limits, value)] += 1
            self._sums[labels] += value

    def lines(self) -> list[str]:
        """Returns the lines of all combinations."""
        found = []
        limits = [*(f"{limit:g}" for limit in self._limits), "+Inf"]
        for values, counts in sorted(self._counts.items()):
            labels = _labels(self._labels, values)
            total = 0
            for limit, count in zip(limits, counts, strict=True):
                # A bucket of Prometheus includes those below it.
                total += count
                comma = "," if labels else ""
                found.append(f'{self.name}_bucket{{{labels}{comma}le="{limit}"}} {total}')
            found.append(f"{self.name}_sum{{{labels}}} {self._sums[values]:.9g}")
            found.append(f"{self.name}_count{{{labels}}} {total}")
        return found


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    escaped = [
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for value in values
    ]
    return ",".join(f'{name}="{value}"' for name, value in zip(names, escaped, strict=True))


class Metrics:
    """All counters and measurements. Times are in microseconds."""

    def __init__(self) -> None:
        micro = (10, 1.8, 33)  # TF Serving's limits: up to 20 minutes
        serving = "/tensorflow/serving"
        self.requests = Counter(f"{serving}/request_count", "Requests.", ("model_name", "status"))
        self.request_latency = Histogram(
            f"{serving}/request_latency",
            "Time of a whole request in microseconds.",
            ("model_name", "API", "entrypoint"),
            *micro,
        )
        self.runtime_latency = Histogram(
            f"{serving}/runtime_latency",
            "Time that a request waits for the model and runs, in microseconds.",
            ("model_name", "API", "runtime"),
            *micro,
        )
        self.examples = Counter(f"{serving}/request_example_count_total", "Rows.", ("model",))
        self.examples_of_request = Histogram(
            f"{serving}/request_example_counts", "Rows of a request.", ("model",), 1, 2, 15
        )
        self.runs = Counter("/tensorflow/core/graph_runs", "Runs of a model.")
        self.batch_sizes = Histogram(
            f"{serving}/batching_session/processed_batch_size",
            "Rows that ran together.",
            ("thread_pool_name",),
            1,
            2,
            15,
        )
        self.loads = Counter(
            "/tensorflow/cc/saved_model/load_attempt_count",
            "Versions that were loaded, or not.",
            ("model_path", "status"),
        )

    def text(self) -> str:
        """Returns the page that Prometheus reads."""
        lines = []
        for each in vars(self).values():
            lines += [f"# HELP {each.name} {each.help}", f"# TYPE {each.name} {each.kind}"]
            lines += each.lines()
        return "\n".join(lines) + "\n"
