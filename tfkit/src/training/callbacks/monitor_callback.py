"""`MonitorCallback`: the base class of callbacks that wait for a better result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.names import did_you_mean
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.ops import arithmetic as ops
from tfkit.src.training.callbacks.callback import Callback


class MonitorCallback(Callback):
    """The base of callbacks that compare one result with its best value.

    Args:
        monitor: name of the result; with the prefix `val_` for the result of the validation.
        mode: `"min"` where less is better, `"max"` where more is, or `"auto"`: less for a loss, and
            the direction that a compiled metric defines.
        baseline: the best value so far; unless given, the first value is the best.
        min_delta: smallest change that counts as better.

    Attributes:
        monitor_op: function of two results that returns whether the first is better: `ops.less` or
            `ops.greater` once the first epoch has ended, `None` before.
    """

    @with_checked_values
    def __init__(
        self,
        monitor: str = "val_loss",
        mode: str = "auto",
        baseline: float | None = None,
        min_delta: float = 0,
    ) -> None:
        super().__init__()
        if mode not in ("auto", "min", "max"):
            warn(
                f"{type(self).__name__} treats an unknown mode as 'auto'. Expected 'auto', 'min' "
                f"or 'max'. Received: mode={mode!r}"
            )
            mode = "auto"
        self.monitor = monitor
        self.mode = mode
        self.best = baseline
        self.min_delta = abs(min_delta)
        self.monitor_op: Callable[[Any, Any], Any] | None = None

    def _check_direction(self) -> Callable[[Any, Any], Any]:
        """Returns the comparison; it is made at the end of the first epoch, when the metrics exist."""
        if self.monitor_op is None:
            self.monitor_op = ops.less if self._direction() == "min" else ops.greater
        return self.monitor_op

    def _is_improvement(self, value: Any, reference: Any) -> bool:
        """Whether `value` is better than `reference` by more than `min_delta`."""
        is_better = self._check_direction()
        if reference is None:
            return True
        delta = -self.min_delta if is_better in (ops.less, np.less) else self.min_delta
        # Results are float32: a difference below its rounding does not count.
        return bool(is_better(np.float32(value - delta), np.float32(reference)))

    def _direction(self) -> str:
        if self.mode != "auto":
            return self.mode
        name = self.monitor.removeprefix("val_")
        # The metric itself knows its direction. Its name does not: users choose names.
        for metric in _metrics_of(getattr(self.model, "metrics", ())):
            if metric.name == name and hasattr(metric, "_direction"):
                return "max" if metric._direction == "up" else "min"
        if name == "loss":
            return "min"
        listed = [metric.name for metric in _metrics_of(getattr(self.model, "metrics", ()))]
        raise ValueError(
            f"{type(self).__name__} cannot know whether more or less of {self.monitor!r} is "
            "better. Pass `mode='max'` or `mode='min'`. Received: mode='auto'. The model computes "
            f"{listed}.{did_you_mean(name, [*listed, 'accuracy'] if name == 'acc' else listed)}"
        )


def _metrics_of(metrics: Iterable[Any]) -> Iterator[Any]:
    """Yields the metrics, and those inside compiled containers of metrics."""
    for metric in metrics:
        yield metric
        yield from _metrics_of(getattr(metric, "metrics", ()))
