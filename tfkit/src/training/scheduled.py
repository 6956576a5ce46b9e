"""Programs whose steps the workers of a cluster run: the coordinator sends the rows of some steps at a time.

A program is divided into parts of consecutive steps. A part is one call of a function, with a loop over its
steps, on the next worker that is free.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.base.errors import kernel_errors
from tfkit.src.training.batches import Batches
from tfkit.src.training.data import Pass, batch_size_of, take_rows
from tfkit.src.training.planner import GRAPH_LOOP, Plan
from tfkit.src.training.prediction import PredictProgram
from tfkit.src.training.programs import Logs
from tfkit.src.training.step import StepTrace, trace_once, traced

# While a worker runs one part, the rows of the next one are made.
_PARTS_A_WORKER = 2
_PLAN = Plan(GRAPH_LOOP, "workers and parameter servers exchange values")


class Workers(Protocol):
    """The workers, as programs use them."""

    num_workers: int

    def schedule(self, function: Any, *arguments: Any) -> Any:
        """Lets a worker run a function; returns its results as a remote value."""

    def join(self) -> None:
        """Waits until all that was scheduled is done."""

    def settle(self) -> None:
        """Waits some seconds for what was scheduled, so that nothing of it runs after an error."""


def _size_of_part(num_steps: int, workers: Workers) -> int:
    """Returns the number of steps of each part of a program."""
    return -(-num_steps // (_PARTS_A_WORKER * workers.num_workers))


class _Scheduled:
    """The common part of programs over rows of arrays and over batches.

    Args:
        trace: the step.
        workers: the workers.
    """

    plan = _PLAN
    expected = None

    def __init__(self, trace: StepTrace, workers: Workers) -> None:
        self.trace = trace
        self._workers = workers
        self._loops: dict[Any, Any] = {}
        self._finish: Any = None

    def expect(self, num_steps: int, batch_size: int | None) -> None:
        """Does nothing: see `LoopProgram.expect`."""

    def _schedule(
        self, arrays: list[Any], places: tuple[int, ...], size: Any, num_steps: int
    ) -> Any:
        """Schedules steps of `size` rows each, the last one maybe fewer; returns the last one's logs."""
        if places not in self._loops:
            specs = [self.trace.specs[places.index(number)] for number in range(len(arrays))]
            number = tf.TensorSpec([], "int64")
            self._loops[places] = trace_once(self._loop(places), [number, number, *specs])
        numbers = [tf.constant(number, "int64") for number in (size, num_steps)]
        return self._workers.schedule(self._loops[places], *numbers, *arrays)

    def _loop(self, places: tuple[int, ...]) -> Callable[..., Logs]:
        """Returns the function of a part, whose tensors are the arrays with the indices in `places`."""

        def steps(size: tf.Tensor, num_steps: tf.Tensor, *arrays: Any) -> Logs:
            num_rows = tf.cast(batch_size_of(arrays[:1]), "int64")

            def body(index: tf.Tensor, logs: Any) -> Any:
                start = index * size
                stop = tf.minimum(start + size, num_rows)
                taken = [take_rows(array, None, start, stop) for array in arrays]
                return index + 1, self.trace(*(taken[place] for place in places))

            state = (tf.constant(0, "int64"), self.trace.no_outputs())
            # One step after the other, as in `LoopProgram`.
            loop = tf.while_loop(
                lambda index, logs: index < num_steps, body, state, parallel_iterations=1
            )
            logs: Logs = loop[1]
            return logs

        return steps

    def _ended(self, last: Any) -> Logs:
        """Waits for all parts; returns the logs of the last one, and the results of metrics."""
        try:
            self._workers.join()
            logs = {} if last is None else last.get()
        except tf.errors.OpError as error:
            raise self._located(error) from None
        if self._finish is None:
            self._finish = traced(self._finished, [])
        return {**logs, **self._finish()}

    def _finished(self) -> Logs:
        return tf.nest.map_structure(tf.convert_to_tensor, self.trace.finish())

    def _located(self, error: tf.errors.OpError) -> Any:
        """Returns the error of a kernel with its layer."""
        return kernel_errors.in_layer(error, self.trace.watch.path_of, self.trace.graph)


class ScheduledArrays(_Scheduled):
    """Runs steps over the rows of arrays; arguments as in `_Scheduled`."""

    def run(self, rows: Pass, first_step: int, num_steps: int) -> Logs:
        """Runs steps `first_step` to `first_step + num_steps`; returns the last logs."""
        data, last = rows.data, None
        arrays, places = data.distinct
        end, part = first_step + num_steps, _size_of_part(num_steps, self._workers)
        try:
            for first in range(first_step, end, part):
                count = min(part, end - first)
                start = first * data.batch_size
                stop = min(start + count * data.batch_size, data.num_rows)
                taken = [take_rows(array, rows.order, start, stop) for array in arrays]
                last = self._schedule(taken, places, data.batch_size, count)
        except tf.errors.OpError as error:
            raise self._located(error) from None
        return self._ended(last)


class ScheduledBatches(_Scheduled):
    """Runs steps over the batches of a `tf.data` iterator, which the coordinator reads.

    Attributes:
        size: not used here; see `IteratorProgram.size`.
    """

    def __init__(self, trace: StepTrace, workers: Workers) -> None:
        super().__init__(trace, workers)
        self.size = -1
        # If batches may differ in more than the number of rows, each is a part.
        self._can_be_joined = all(
            isinstance(spec, tf.TensorSpec)
            and spec.shape.rank
            and spec.shape[1:].is_fully_defined()
            for spec in trace.specs
        )
        self._places = tuple(range(len(trace.specs)))

    def run(self, batches: Batches, num_steps: int) -> tuple[int, Logs]:
        """Runs at most `num_steps` steps; returns how many batches there were, and the last logs."""
        limit = _size_of_part(num_steps, self._workers) if self._can_be_joined else 1
        done, part, last = 0, _Part(), None
        try:
            while done + len(part) < num_steps:
                value = next(batches.iterator, None)
                if value is None:
                    break
                batch = tf.nest.flatten(value)
                if len(part) == limit or not part.accepts(batch):
                    done, last, part = done + len(part), self._sent(part), _Part()
                part.add(batch)
        except BaseException as error:
            # The steps before a batch that cannot be read are done, and none runs after the error.
            with contextlib.suppress(tf.errors.OpError):
                self._sent(part)
            # Steps that still run would change weights after the error has reached the user.
            self._workers.settle()
            if isinstance(error, tf.errors.OpError):
                raise self._located(error) from None
            raise
        if len(part):
            done, last = done + len(part), self._sent(part)
        return done, self._ended(last)

    def _sent(self, part: _Part) -> Any:
        """Schedules a part; returns the logs of its last step."""
        if not len(part):
            return None
        if self._can_be_joined:
            return self._schedule(part.joined(), self._places, part.sizes[0], len(part))
        if None not in self._loops:
            self._loops[None] = trace_once(lambda *batch: self.trace(*batch), self.trace.specs)
        return self._workers.schedule(self._loops[None], *part.batches[0])


class ScheduledPrediction(PredictProgram):
    """Predicts for one batch, or for rows of arrays, some batches on each worker.

    Args:
        trace: the step.
        workers: the workers.
    """

    def __init__(self, trace: StepTrace, workers: Workers) -> None:
        super().__init__(trace, jit_compile=False)
        self.plan = _PLAN
        self._workers = workers
        self._run_batch, self._loops = self._on_worker, {1: self._on_workers}

    @functools.cached_property
    def _on_batch(self) -> Any:
        return trace_once(self._step, self.trace.specs)

    @functools.cached_property
    def _on_rows(self) -> Any:
        number = tf.TensorSpec([], "int64")
        return trace_once(self._steps, [self.trace.specs, number, number, number])

    def _on_worker(self, *tensors: Any) -> Any:
        """Returns the outputs for one batch."""
        sent = self._workers.schedule(self._on_batch, *tensors)
        self._workers.join()
        return sent.get()

    def _on_workers(
        self, arrays: list[Any], size: tf.Tensor, start: tf.Tensor, num_steps: tf.Tensor
    ) -> list[tf.Tensor]:
        """Returns the leaves of the outputs of steps of `size` rows, from row `start` on."""
        steps, part, sent = int(num_steps), _size_of_part(int(num_steps), self._workers), []
        for first in range(0, steps, part):
            count = min(part, steps - first)
            begin = int(start) + first * int(size)
            rows = [array[begin : begin + count * int(size)] for array in arrays]
            numbers = size, tf.zeros_like(start), tf.constant(count, "int64")
            sent.append(self._workers.schedule(self._on_rows, rows, *numbers))
        self._workers.join()
        leaves = zip(*(each.get() for each in sent), strict=True)
        return [tf.concat(parts, 0) for parts in leaves]


class _Part:
    """Batches that one call runs: all of one size, except for a smaller one at the end."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.sizes: list[int] = []

    def __len__(self) -> int:
        return len(self.batches)

    def accepts(self, batch: list[Any]) -> bool:
        """Whether a batch can follow the others."""
        if not self.sizes:
            return True
        return self.sizes[-1] == self.sizes[0] >= int(batch_size_of(batch))

    def add(self, batch: list[Any]) -> None:
        """Adds a batch."""
        self.batches.append(batch)
        self.sizes.append(int(batch_size_of(batch)))

    def joined(self) -> list[tf.Tensor]:
        """Returns the rows of all batches."""
        if len(self.batches) == 1:
            return self.batches[0]
        return [tf.concat(tensors, 0) for tensors in zip(*self.batches, strict=True)]
