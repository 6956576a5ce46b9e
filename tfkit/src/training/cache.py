"""What a model keeps from one `fit` to the next: traced steps, and the programs that run them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.per_thread import Lock
from tfkit.src.training.compile_settings import CompileSettings
from tfkit.src.training.planner import Plans
from tfkit.src.training.step import Step, StepTrace, free_batch

_log = logging.getLogger("tfkit")


class Programs:
    """The traced steps and the programs of one model, by mode and form of data.

    Args:
        settings: what the model's `compile` was given.
    """

    def __init__(self, settings: CompileSettings) -> None:
        self._settings = settings
        self._traces: dict[Any, StepTrace] = {}
        self._versions: dict[Any, int] = {}
        self._programs: dict[Any, Any] = {}
        self._latest: dict[str, Any] = {}
        self._lock = Lock()  # Threads that want the same program do not make it twice.

    def trace(
        self, mode: str, structure: Any, step: Step, known_size: int | None = None
    ) -> StepTrace:
        """A trace of a mode's step; a new one if an attribute of what took part was set since.

        Args:
            mode: `"train"`, `"test"` or `"predict"`.
            structure: a batch, or anything of its form with specs.
            step: the step of the mode.
            known_size: rows of every batch, `None` where the trace is for any number of rows.
        """
        key = (mode, (structure_key(structure), known_size))
        with self._lock:
            trace = self._traces.get(key)
            # Only training reads the optimizer.
            outdated = mode == "train" and self._versions.get(key) != self._settings.version
            if trace is None or outdated or not trace.watch.unchanged():
                self._log_retrace(key, trace)
                trace = self._traces[key] = StepTrace(step, structure, known_size)
                # After the trace: an optimizer sets attributes when it is built.
                self._versions[key] = self._settings.version
        return trace

    def get(self, mode: str, form: Any, trace: StepTrace, make: Callable[[], Any]) -> Any:
        """The program of a mode for data of a form that runs `trace`."""
        key = (mode, form)
        with self._lock:
            program = self._programs.get(key)
            if program is None or program.trace is not trace:
                program = self._programs[key] = make()
        self._latest[mode] = program
        return program

    def eager(self, mode: str, program: Any) -> Any:
        """Stores a program that runs steps as plain Python, and returns it."""
        self._latest[mode] = program
        return program

    @property
    def plans(self) -> Plans:
        """The plan of the program that each mode ran last."""
        return Plans({mode: program.plan for mode, program in self._latest.items()})

    def _log_retrace(self, key: Any, stale: StepTrace | None) -> None:
        """Says why a step is traced again."""
        mode, structure = key
        others = [known for known in self._traces if known[0] == mode]
        if stale is not None:
            changed = not stale.watch.unchanged()
            what = stale.watch.change() if changed else "an attribute of the optimizer was set"
            _log.debug("The %s step is traced again: %s.", mode, what)
        elif others:
            _log.debug(
                "The %s step is traced again: the form of the data is %s; it was %s.",
                mode,
                structure,
                others[-1][1],
            )


def structure_key(value: Any) -> Any:
    """A hashable form of a nest of tensors or specs: structure, dtypes, sizes beside the batch."""
    if isinstance(value, (tf.Tensor, tf.TensorSpec)):
        shape = value.shape
        return (value.dtype, shape[1:] if shape.rank else shape)
    if nests.is_nested(value):
        items = nests.items(value)
        # The order of a dict's keys is no other form: `tf.nest` sorts them.
        if isinstance(value, Mapping):
            items = [(key, value[key]) for key in sorted(value)]
        return (type(value), *((key, structure_key(item)) for key, item in items))
    return None if value is None else free_batch(value)
