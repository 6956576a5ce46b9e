"""Keeps a model's traced steps and the programs that run them, from one `fit` to the next."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.context import Lock
from tfkit.src.base.settings import functions_run_eagerly
from tfkit.src.engine.autograph import converted_if_needed
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.training.compile_settings import CompileSettings
from tfkit.src.training.data import ArrayData, DatasetData
from tfkit.src.training.latest_prediction import LatestPrediction
from tfkit.src.training.planner import Plans
from tfkit.src.training.programs import Program, TracedProgram
from tfkit.src.training.step import Step, StepTrace, free_batch
from tfkit.src.training.steps_per_program import StepsPerProgram

_log = logging.getLogger("tfkit")


class _Model(Protocol):
    @property
    def run_eagerly(self) -> bool: ...

    def _tfkit_step_for(self, mode: str) -> Step: ...


class _Data(Protocol):
    @property
    def structure(self) -> Any: ...

    @property
    def known_size(self) -> int | None: ...


class Programs:
    """The traced steps of one model, by mode and form of data, each with the programs that run it.

    Args:
        settings: the arguments of the model's `compile`.

    Attributes:
        steps_run: number of steps that were run in each mode, including those before a restored state. Under
            `"before"`: training steps before the model was loaded or copied; no plan depends on them.
    """

    def __init__(self, settings: CompileSettings) -> None:
        self._settings = settings
        self._traces: dict[Any, StepTrace] = {}
        self._latest: dict[str, Program] = {}
        self.steps_run: Counter[str] = Counter()
        # The devices of a strategy, or `None`, in a tuple once that is known.
        self.devices: tuple[Any] | None = None
        self.predicting: tuple[Any] | None = None  # The same for those that predict.
        self.latest_prediction = LatestPrediction()
        self._paces: dict[Any, StepsPerProgram] = {}
        self.values: Any = None  # Values that JAX has computed; see `training/jax/values.py`.
        self._lock = Lock()  # Threads that need the same program do not make it twice.

    def trained_steps(self, optimizer: Optimizer | None) -> int:
        """Returns the number of training steps of the model's life, from which the next order follows.

        A model that was loaded continues from the updates that its optimizer has counted.
        """
        if "before" not in self.steps_run:
            counted = 0 if optimizer is None else int(optimizer.iterations)
            self.steps_run["before"] = max(0, counted - self.steps_run["train"])
        return self.steps_run["train"] + self.steps_run["before"]

    def pace(self, mode: str, data: ArrayData | DatasetData, limit: int | None) -> StepsPerProgram:
        """Returns the number of steps per program that earlier runs on data of this form have found.

        Args:
            mode: `"train"` or `"test"`.
            data: the data.
            limit: the largest number of steps, if the user has set one.
        """
        size = data.batch_size if isinstance(data, ArrayData) else data.known_size
        if size is None:  # The next batches may be much larger.
            return StepsPerProgram(limit)
        form = mode, limit, size, structure_key(data.structure)
        return self._paces.setdefault(form, StepsPerProgram(limit))

    def settle(self) -> None:
        """Brings the values that JAX has computed into the variables, where callbacks and files read them."""
        if self.values is not None:
            self.values.settle()

    def release(self) -> None:
        """Frees the memory of JAX's device, after a training run."""
        if self.values is not None:
            self.values.release()

    def find(
        self,
        model: _Model,
        mode: str,
        kind: type[TracedProgram],
        data: _Data,
        before: Program | None = None,
    ) -> Any:
        """Returns the program of a kind that runs the steps of a mode on data.

        Args:
            model: the model.
            mode: `"train"`, `"test"` or `"predict"`.
            kind: the class of the program.
            data: the data to run on, of which only the form matters.
            before: the program found for the same arguments, to be used again unless an attribute that it has
                read was set. Nothing else is checked between two programs.
        """
        trace = before.trace if before is not None and self._latest.get(mode) is before else None
        if trace is not None and self._is_fresh(mode, trace):
            return before
        step = model._tfkit_step_for(mode)
        is_eager = model.run_eagerly or functions_run_eagerly()
        if is_eager or step.called_as_is is not None:
            program: Program = kind.eagerly(step)
        else:
            with self._lock:
                trace = self.trace(mode, data.structure, step, data.known_size)
                found = trace.programs.get(kind)
                if found is None and step.program is not None:
                    found = step.program(kind, trace)
                program = found or kind(trace, self._settings.jit_compile)
                trace.programs[kind] = program
        # For `plans`, and for `before` in the next call.
        self._latest[mode] = program
        return program

    def trace(
        self, mode: str, structure: Any, step: Step, known_size: int | None = None
    ) -> StepTrace:
        """Returns the trace of a mode's step; a new one if an attribute that it has read was set since.

        Args:
            mode: `"train"`, `"test"` or `"predict"`.
            structure: a batch, or anything of its form with specs.
            step: the step of the mode.
            known_size: rows of every batch, `None` if the trace is for any number of rows.
        """
        key = (mode, (structure_key(structure), known_size))
        with self._lock:
            trace = self._traces.get(key)
            if trace is None or not self._is_fresh(mode, trace):
                self._log_retrace(key, trace)
                trace = self._traces[key] = converted_if_needed(
                    StepTrace, step, structure, known_size
                )
                # After the trace, because an optimizer sets attributes when it is built.
                trace.version = self._settings.version
        return trace

    def _is_fresh(self, mode: str, trace: StepTrace) -> bool:
        """Whether nothing that a trace has read was set since then. Only training reads the optimizer."""
        version = trace.version if mode == "train" else self._settings.version
        return version == self._settings.version and trace.watch.unchanged()

    @property
    def plans(self) -> Plans:
        """The plan of the program that each mode ran last."""
        return Plans({mode: program.plan for mode, program in self._latest.items()})

    def _log_retrace(self, key: Any, stale: StepTrace | None) -> None:
        """Logs why a step is traced again."""
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
    """Returns a hashable form of a nest of tensors or specs: structure, dtypes, sizes except the batch's."""
    if isinstance(value, (tf.Tensor, tf.TensorSpec)):
        shape = value.shape
        return (value.dtype, tuple(shape.as_list()[1:]) if shape.rank else shape)
    if nests.is_nested(value):
        items = nests.items(value)
        # The order of a dict's keys does not matter: `tf.nest` sorts them.
        if isinstance(value, Mapping):
            items = [(key, value[key]) for key in sorted(value)]
        return (type(value), *((key, structure_key(item)) for key, item in items))
    return None if value is None else free_batch(value)
