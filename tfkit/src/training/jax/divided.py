"""Programs of JAX on several devices: each has its part of the values, and its rows of every batch."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tfkit.src.training.array_program import ArrayProgram
from tfkit.src.training.data import Pass
from tfkit.src.training.iterator_program import IteratorProgram, block_size
from tfkit.src.training.jax.layouts import DividedParts
from tfkit.src.training.jax.programs import (
    JaxArrayProgram,
    JaxIteratorProgram,
    JaxPredictProgram,
    Logs,
    Rows,
    batches_at,
)
from tfkit.src.training.jax.values import as_array
from tfkit.src.training.prediction import PredictProgram


class _Divided:
    """The difference of programs on several devices: batches are divided, and results are pinned."""

    _values: Any
    _parts: Any

    def _run_rows(self, data: Rows, size: int, first_row: int, num_steps: int) -> Logs:
        """Runs steps over arrays of the host with a batch for each step along their first axis."""
        arrays = [self._values.layouts.rows(it) for it in data.arrays]
        logs: Logs = super()._run_rows(data._replace(arrays=arrays), size, first_row, num_steps)  # type: ignore[misc]
        return logs

    def _loop(self, *arguments: Any) -> Any:
        changing, logs, last = super()._loop(*arguments)  # type: ignore[misc]
        layouts = self._values.layouts
        changing = layouts.pinned(changing, self._parts.variables)
        last = None if last is None else layouts.replicated([jnp.asarray(it) for it in last])
        return changing, layouts.replicated(logs), last


class DividedArrayProgram(_Divided, JaxArrayProgram):
    """Runs steps over the rows of arrays of the host, some at a time."""

    def run(self, rows: Pass, first_step: int, num_steps: int) -> Logs:
        """Runs steps `first_step` to `first_step + num_steps`; returns the logs of the last one."""
        data, size = rows.data, rows.data.batch_size
        arrays, places = data.distinct
        arrays = [as_array(it) for it in arrays]
        order = None if rows.order is None else as_array(rows.order)
        # Always as many steps, so that the program is compiled once.
        block = min(block_size(self.trace.specs), max(1, data.num_rows // size))
        logs: Logs = {}
        step, end = first_step, first_step + num_steps
        while step < end:
            full = min(block, end - step, data.num_rows // size - step)
            count = full * size if full else data.num_rows - step * size
            some = slice(step * size, step * size + count)
            taken = [it[some] if order is None else it[order[some]] for it in arrays]
            if 1 < full < block:
                taken = [_padded(it, block * size) for it in taken]
            rows_of_step = size if full else count
            taken = [it.reshape(-1, rows_of_step, *it.shape[1:]) for it in taken]
            logs = self._run_rows(Rows(taken, places), rows_of_step, 0, full or 1)
            step += full or 1
        return logs

    _rows_at = staticmethod(batches_at)


class DividedIteratorProgram(_Divided, JaxIteratorProgram):
    """Runs steps over the batches of an iterator."""


def divided(kind: Any, layouts: Any) -> Any:
    """Returns a function that makes a program on several devices, in the place of a class of TensorFlow's."""
    made: Any = _CLASSES[kind]

    def make(trace: Any, parts: Any, programs: Any) -> Any:
        return made(trace, DividedParts(parts, layouts), programs, layouts)

    return make


_CLASSES = {
    ArrayProgram: DividedArrayProgram,
    IteratorProgram: DividedIteratorProgram,
    PredictProgram: JaxPredictProgram,
}


def _padded(array: np.ndarray, size: int) -> np.ndarray:
    """Returns rows, and zeros after them."""
    whole = np.zeros((size, *array.shape[1:]), array.dtype)
    whole[: len(array)] = array
    return whole
