"""Programs of JAX: one compiled call that runs many steps, on the default device."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from jax import lax

from tfkit.src.training import interrupts
from tfkit.src.training.array_program import ArrayProgram
from tfkit.src.training.batches import Batches
from tfkit.src.training.cache import Programs
from tfkit.src.training.data import ArrayData, Pass
from tfkit.src.training.iterator_program import IteratorProgram, block_size
from tfkit.src.training.jax.layouts import Layouts
from tfkit.src.training.jax.loops import run_steps
from tfkit.src.training.jax.values import Values, as_array
from tfkit.src.training.planner import Plan
from tfkit.src.training.prediction import BatchByBatch, PredictProgram, join
from tfkit.src.training.step import StepTrace

Logs = dict[str, Any]
JAX = "JAX"


class Rows(NamedTuple):
    """Arrays that steps take rows of.

    Attributes:
        arrays: the arrays.
        places: for each tensor of a batch, the index of its array.
        order: the order of the rows; `None` for the original one.
    """

    arrays: list[Any]
    places: tuple[int, ...]
    order: Any = None


class _JaxProgram:
    """The common part: a loop over the rows of arrays, compiled once for any number of steps.

    Args:
        trace: the step as TensorFlow has traced it.
        parts: the step as functions of JAX.
        programs: the programs of the model, which share the values of its variables.
        layouts: where the values are on several devices; `None` for JAX's default device.
    """

    def __init__(
        self, trace: StepTrace, parts: Any, programs: Programs, layouts: Layouts | None = None
    ) -> None:
        self.trace = trace
        devices = layouts.description if layouts else jax.devices()[0].platform.upper()
        self.plan = Plan(JAX, f"`engine='jax'`, on {devices}")
        self.expected: Any = None
        self._parts = parts
        if programs.values is None:
            programs.values = Values(layouts)
        self._values: Values = programs.values
        self._steps = jax.jit(self._loop, static_argnums=0, donate_argnums=1)

    def expect(self, num_steps: int, batch_size: int | None) -> None:
        """Notes what is expected: a program of JAX is the same for any number of steps."""
        self.expected = num_steps, batch_size

    def _run_rows(self, data: Rows, size: int, first_row: int, num_steps: int) -> Logs:
        """Runs steps of `size` rows, beginning with a row; returns the logs of the last one."""
        parts = self._parts
        rows = data.arrays, data.order
        batch_at = functools.partial(self._batch_at, size, data.places)
        parts.prepare(lambda: jax.eval_shape(batch_at, rows, first_row, 0))
        values = self._values.take(parts.variables)
        changing = {path: values.pop(path) for path in sorted(parts.written)}
        # The numbers are arrays, as the program is not to be compiled for each value.
        numbers = np.int32(first_row), np.int32(num_steps)
        # Ctrl-C waits for the values: the old ones are gone when the program runs.
        with interrupts.deferred():
            try:
                changing, logs, last = self._steps(
                    (size, data.places), changing, values, rows, *numbers
                )
            except BaseException:
                lost = [path for path, it in changing.items() if it.is_deleted()]
                self._values.forget(parts.variables[path] for path in lost)
                raise
            self._values.put(parts.variables, changing)
        found: Logs = dict(_packed(parts.logs, logs)) if parts.logs else {}
        if parts.finish is not None:
            found |= _packed(parts.finish[1], last)
        return found

    def _loop(
        self,
        form: tuple[int, tuple[int, ...]],
        changing: Any,
        fixed: Any,
        data: tuple[list[Any], Any],
        first_row: Any,
        num_steps: Any,
    ) -> Any:
        size, places = form
        batch_at = functools.partial(self._batch_at, size, places, data, first_row)
        return run_steps(self._parts, changing, fixed, batch_at, num_steps)

    def _batch_at(
        self,
        size: int,
        places: tuple[int, ...],
        data: tuple[list[Any], Any],
        first_row: Any,
        index: Any,
    ) -> list[Any]:
        """Returns the batch of a step."""
        arrays, order = data
        rows = self._rows_at(index, size, first_row, arrays, order)
        return [rows[place] for place in places]

    def _rows_at(
        self, index: Any, size: int, first_row: Any, arrays: list[Any], order: Any
    ) -> list[Any]:
        """Returns the rows of a step, of each array."""
        row = first_row + index * size
        if order is None:
            return [lax.dynamic_slice_in_dim(it, row, size) for it in arrays]
        taken = lax.dynamic_slice_in_dim(order, row, size)
        return [jnp.take(it, taken, axis=0, mode="clip") for it in arrays]


def batches_at(index: Any, size: int, first_row: Any, arrays: list[Any], order: Any) -> list[Any]:
    """Returns the batch of a step, of arrays that have batches along their first axis."""
    return [lax.dynamic_index_in_dim(it, index, keepdims=False) for it in arrays]


class JaxArrayProgram(_JaxProgram):
    """Runs steps over the rows of arrays; the interface of `ArrayProgram`."""

    def run(self, rows: Pass, first_step: int, num_steps: int) -> Logs:
        """Runs steps `first_step` to `first_step + num_steps`; returns the logs of the last one."""
        data, size = rows.data, rows.data.batch_size
        taken = self._rows_of(rows)
        full = max(0, min(num_steps, data.num_rows // size - first_step))
        logs: Logs = {}
        if full:
            logs = self._run_rows(taken, size, first_step * size, full)
        if full < num_steps:
            start = (first_step + full) * size
            logs = self._run_rows(taken, data.num_rows - start, start, 1)
        return logs

    def _rows_of(self, rows: Pass) -> Rows:
        """Returns the arrays and the order on JAX's device, where they stay until the end of a `fit`."""
        kept = self._values.rows
        of, known, order = kept.get(self, (None, None, None))
        if of is None or of() is not rows.data:
            arrays, places = rows.data.distinct
            known, order = Rows([jnp.asarray(as_array(it)) for it in arrays], places), None
            of = weakref.ref(rows.data, lambda _: kept.pop(self, None))
        if order is not rows.order:
            changed = None if rows.order is None else jnp.asarray(as_array(rows.order))
            known = known._replace(order=changed)
        kept[self] = of, known, rows.order
        return known


class JaxIteratorProgram(_JaxProgram):
    """Runs steps over the batches of an iterator, some at a time; the interface of `IteratorProgram`.

    Attributes:
        size: not used: JAX compiles for each size of batch.
    """

    size = -1

    def run(self, batches: Batches, num_steps: int) -> tuple[int, Logs]:
        """Runs at most `num_steps` steps; returns how many batches there were, and the last logs."""
        block = block_size(self.trace.specs)
        done, logs, group = 0, dict[str, Any](), list[list[np.ndarray]]()
        while done + len(group) < num_steps:
            try:
                batch = self._next(batches)
            except BaseException:
                # An error of the data, or Ctrl-C: the steps before it are done, as on TensorFlow.
                if group:
                    self._run_group(group, block)
                raise
            if batch is None:
                break
            if group and (len(group) == block or _shapes(batch) != _shapes(group[0])):
                logs, done, group = self._run_group(group, block), done + len(group), []
            group.append(batch)
        if group:
            logs, done = self._run_group(group, block), done + len(group)
        return done, logs

    def _next(self, batches: Batches) -> list[np.ndarray] | None:
        """Returns the next batch with rows; `None` at the end."""
        while True:
            batch = next(batches.iterator, None)
            if batch is None:
                return None
            arrays = [as_array(it) for it in tf.nest.flatten(batch)]
            if all(len(it) for it in arrays if it.ndim):
                return arrays
            batches.left_out += 1

    def _run_group(self, group: list[list[np.ndarray]], block: int) -> Logs:
        """Runs batches of one shape."""
        arrays = [it[np.newaxis] for it in group[0]]
        if len(group) > 1:  # Always as many, so that the program is compiled once.
            arrays = [np.zeros((block, *it.shape), it.dtype) for it in group[0]]
            for place, array in enumerate(arrays):
                np.stack([batch[place] for batch in group], out=array[: len(group)])
        return self._run_rows(Rows(arrays, tuple(range(len(arrays)))), 1, 0, len(group))

    _rows_at = staticmethod(batches_at)


class JaxPredictProgram(BatchByBatch, _JaxProgram):
    """Runs `predict_step` batch by batch; the interface of `PredictProgram`."""

    def __init__(
        self, trace: StepTrace, parts: Any, programs: Programs, layouts: Layouts | None = None
    ) -> None:
        super().__init__(trace, parts, programs, layouts)
        self._call = jax.jit(self._changed)

    def run_batch(self, batch: Any) -> Any:
        """Returns the outputs for one batch."""
        (outputs,) = self._on_batches([[as_array(it) for it in tf.nest.flatten(batch)]])
        return _packed(self._parts.logs, self._as_traced(outputs))

    def _changed(self, values: Any, batch: list[Any]) -> tuple[dict[str, Any], list[Any]]:
        after, outputs = self._parts.step(values, batch)
        return {path: after[path] for path in self._parts.written}, outputs

    def _on_batches(self, batches: Iterable[list[np.ndarray]]) -> list[list[Any]]:
        """Returns the outputs of each batch; JAX computes while the next batch is prepared."""
        variables, results = self._parts.variables, []
        changed: dict[str, Any] = {}
        kept = self._values.predicting()
        values = kept.take(variables)
        for batch in batches:
            changed, outputs = self._call(values | changed, batch)
            results.append(outputs)
        kept.put(variables, changed)
        kept.settle()
        return results

    def run(self, data: ArrayData, first_step: int, num_steps: int) -> Any:
        """Returns the outputs of steps `first_step` to `first_step + num_steps`, joined."""
        arrays = [as_array(it) for it in tf.nest.flatten(data.tensors)]
        starts = range(first_step * data.batch_size, data.num_rows, data.batch_size)[:num_steps]
        batches = ([it[start : start + data.batch_size] for it in arrays] for start in starts)
        results = map(self._as_traced, self._on_batches(batches))
        return _packed(self._parts.logs, [join(leaves) for leaves in zip(*results, strict=True)])

    def _as_traced(self, outputs: list[Any]) -> list[np.ndarray]:
        """Returns outputs in the dtypes of TensorFlow, which JAX may have in 32 bits."""
        specs = tf.nest.flatten(self._parts.logs)
        return [
            np.asarray(it).astype(spec.dtype.as_numpy_dtype, copy=False)
            for it, spec in zip(outputs, specs, strict=True)
        ]


def program_of(kind: Any) -> Any:
    """Returns the class of JAX's programs in the place of a class of TensorFlow's."""
    return _CLASSES[kind]


_CLASSES = {
    ArrayProgram: JaxArrayProgram,
    IteratorProgram: JaxIteratorProgram,
    PredictProgram: JaxPredictProgram,
}


def _shapes(batch: list[np.ndarray]) -> list[tuple[int, ...]]:
    return [it.shape for it in batch]


def _packed(structure: Any, arrays: Any) -> Any:
    return tf.nest.pack_sequence_as(structure, list(arrays))
