"""Prediction: runs `predict_step` over all batches, and gathers the outputs into one result."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.errors import kernel_errors
from tfkit.src.engine.counters import Counters, CountingProgram, program_of
from tfkit.src.engine.separate_rows import has_separate_rows
from tfkit.src.engine.shared_programs import SharedProgram
from tfkit.src.engine.small_calls import CallSize
from tfkit.src.training.data import ArrayData, Pass, take_rows
from tfkit.src.training.planner import GRAPH_LOOP, XLA_STEP, Plan
from tfkit.src.training.programs import EagerProgram
from tfkit.src.training.step import Step, StepTrace, traced

# With so many operations, TensorFlow takes half a second and more to prepare a loop over the step. What a
# loop saves, a third of a millisecond in each step, is then little compared with the step itself.
_MIN_OPERATIONS_OF_LARGE = 1000

# Batches that are computed side by side: one for each core. Two cores, 10,000 rows in batches of 32,
# milliseconds for one, two and four at a time: LSTM of 64 units 255, 143 and 164, GRU 327, 227 and 236, CNN
# 208, 160 and 170; small steps take as long. The kernels and the results are the same.
_SIDE_BY_SIDE = min(max(os.cpu_count() or 1, 2), 4)
# How many small calls' rows are computed as one batch. 10,000 rows, milliseconds by one and by four small
# calls' rows: a small MLP 1.52 and 1.04, an Embedding 10.7 and 9.4, an MLP of 784 pixels 30.3 and 28.4.
_SMALL_CALLS = 4
# What all rows together handle at most to be one batch. Microseconds of a CNN by batches of 32 and as one: 64
# rows 1,400 and 1,220, 128 rows 2,760 and 2,170, 256 rows 4,900 and 5,200.
_MOST_AT_ONCE = 2**24
# What a batch may handle for it: a quarter of a gigabyte in all, of which little is in memory at a time.
_MOST_VALUES = 2**26
# What the first program handles, in a few milliseconds: afterwards, the time of a step is known.
_FIRST_VALUES, _MOST_FIRST = 2**22, 8


class PredictProgram:
    """Runs a traced `predict_step` over the rows of arrays: in a loop, or step by step if it is large.

    XLA is used only under `jit_compile=True`: it would compile again for each number of rows.

    Args:
        trace: the step.
        jit_compile: the argument of `compile`.

    Attributes:
        is_large: whether the step has so many operations that another trace or a loop takes long to prepare.
    """

    def __init__(self, trace: StepTrace, jit_compile: bool | str) -> None:
        self.trace = trace
        self._step = self._run_batch = trace.compiled if jit_compile is True else trace
        self._size = CallSize(trace.function)
        if jit_compile is not True and self._can_be_joined():
            self._run_batch = program_of(trace.function, self._size)
        self._loops: dict[int, Any] = {}
        self.is_large = len(trace.graph.get_operations()) >= _MIN_OPERATIONS_OF_LARGE
        self._runs_by_step = self.is_large or _may_vary(trace.outputs)
        if jit_compile is True:
            self.plan = Plan(XLA_STEP, "`jit_compile=True`")
        else:
            self.plan = Plan(GRAPH_LOOP, "XLA would compile again for each number of rows")

    def rows_at_once(self, num_rows: int) -> int:
        """Returns how many of `num_rows` rows may be one batch, whatever its size; 0 if rows may meet."""
        small, all_rows = self._joined_rows
        return num_rows if num_rows <= all_rows else small

    def runs_together(self, data: ArrayData) -> bool:
        """Whether the first program computes all rows."""
        together = data.num_batches <= self.first_steps(data.batch_size)
        return together or data.num_rows <= self.rows_at_once(data.num_rows)

    @functools.cached_property
    def _joined_rows(self) -> tuple[int, int]:
        """Returns how many rows may be one batch of several, and how many if these are all."""
        step = self._run_batch
        if not isinstance(step, SharedProgram) or not step.only_reads:
            return 0, 0
        if not has_separate_rows(self.trace.function):
            return 0, 0
        # A call with few values takes hardly longer than one with fewer.
        small = _SMALL_CALLS * step.num_rows_of_small_call
        return small, max(int(self._size.rows_within(_MOST_AT_ONCE)), small)

    def first_steps(self, batch_size: int) -> int:
        """Returns how many steps of unknown duration may be run together."""
        few = int(self._size.rows_within(_FIRST_VALUES) // batch_size)
        # Their loops may be long.
        return max(min(few, _MOST_FIRST), self._num_side_by_side(batch_size))

    @staticmethod
    def eagerly(step: Step) -> EagerPrediction:
        """Returns the object that runs a step eagerly instead of such a program."""
        return EagerPrediction(step)

    def run_batch(self, batch: Any) -> Any:
        """Returns the outputs for one batch."""
        tensors = nests.leaves(batch)
        # The trace has no workarounds for batches without rows; the eager step has them.
        if self.trace.relies_on_rows and any(0 in it.shape[:1] for it in tensors):
            return self._located(self.trace.run_eagerly, tensors)
        return self._located(self._run_batch, *tensors)

    def _located(self, run: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a call; an error of a kernel names the layer."""
        try:
            return run(*arguments)
        except tf.errors.OpError as error:
            raise kernel_errors.in_layer(
                error, self.trace.watch.path_of, self.trace.function.graph
            ) from None

    def run(self, data: ArrayData, first_step: int, num_steps: int) -> Any:
        """Returns the outputs of steps `first_step` to `first_step + num_steps`, joined."""
        arrays = tf.nest.flatten(data.tensors)
        start = first_step * data.batch_size
        stop = min(start + num_steps * data.batch_size, data.num_rows)
        if stop - start == data.num_rows <= data.batch_size:
            return self.run_batch(arrays)
        if not self._can_be_joined():
            return self.run_batch([take_rows(array, None, start, stop) for array in arrays])
        size = self.rows_at_once(data.num_rows)
        if size < data.num_rows:
            size -= size % data.batch_size
        if size > data.batch_size:
            # A check in the step may hold for the batches, and not for many rows.
            with contextlib.suppress(tf.errors.OpError):
                return self._at_once(arrays, start, stop, size)
            self._joined_rows = 0, 0
        if self._runs_by_step and not self._loops:
            return _step_by_step(self.run_batch, data, first_step, num_steps)
        # Single steps run in the loop too: TensorFlow may round differently outside it.
        return self._looped(arrays, data.batch_size, start, num_steps)

    def _looped(self, arrays: list[tf.Tensor], size: int, start: int, num_steps: int) -> Any:
        """Returns the outputs of batches of `size` rows from row `start` on, from a loop in TensorFlow."""
        side_by_side, counters = self._num_side_by_side(size), self._counters
        if side_by_side not in self._loops:
            number = tf.TensorSpec([], "int64")
            steps = functools.partial(self._steps, side_by_side=side_by_side)
            values = [] if counters is None else [counters.values]
            specs = [self.trace.specs, number, number, number, *values]
            self._loops[side_by_side] = traced(steps, specs)
        numbers = [tf.constant(n, "int64") for n in (size, start, num_steps)]
        taken = [] if counters is None else [counters.take(num_steps)]
        leaves = self._located(self._loops[side_by_side], arrays, *numbers, *taken)
        return tf.nest.pack_sequence_as(self.trace.outputs, leaves)

    def _at_once(self, arrays: list[tf.Tensor], start: int, stop: int, size: int) -> Any:
        """Returns the outputs for rows `start` to `stop`, computed `size` rows at a time."""
        if start == 0 and stop == len(arrays[0]) <= size:
            return self.run_batch(arrays)
        results, num_full = [], (stop - start) // size
        # By the number of all rows: in the loop TensorFlow may round differently.
        are_many = len(arrays[0]) >= _SIDE_BY_SIDE * size and self._num_side_by_side(size) > 1
        if are_many and num_full and not self._runs_by_step:
            results.append(self._looped(arrays, size, start, num_full))
            start += num_full * size
        results += [
            self.run_batch([take_rows(array, None, row, min(row + size, stop)) for array in arrays])
            for row in range(start, stop, size)
        ]
        return results[0] if len(results) == 1 else _joined(results)

    def _can_be_joined(self) -> bool:
        return all(isinstance(spec, tf.TensorSpec) for spec in tf.nest.flatten(self.trace.outputs))

    @property
    def _counters(self) -> Counters | None:
        """The counters, if the step changes nothing else."""
        step = self._run_batch
        return step.counters if isinstance(step, CountingProgram) else None

    def _num_side_by_side(self, batch_size: int) -> int:
        """Returns how many batches the loop computes at the same time: 1 if one may change the next."""
        step, counters = self._run_batch, self._counters
        may_overlap = counters is not None or (isinstance(step, SharedProgram) and step.only_reads)
        fits = batch_size <= self._size.rows_within(_MOST_VALUES)
        return _SIDE_BY_SIDE if may_overlap and fits else 1

    def _steps(
        self,
        arrays: list[tf.Tensor],
        size: tf.Tensor,
        start: tf.Tensor,
        num_steps: tf.Tensor,
        values: Sequence[tf.Tensor] = (),
        side_by_side: int = 1,
    ) -> list[tf.Tensor]:
        count, counters = tf.cast(num_steps, "int32"), self._counters
        outputs = [
            # Outputs of the smaller last batch have a different shape.
            tf.TensorArray(spec.dtype, count, infer_shape=False)
            for spec in tf.nest.flatten(self.trace.outputs)
        ]

        def body(index: tf.Tensor, outputs: list[tf.TensorArray]) -> tuple[Any, ...]:
            first = start + tf.cast(index, "int64") * size
            last = tf.minimum(first + size, tf.shape(arrays[0], "int64")[0])
            batch = [take_rows(array, None, first, last) for array in arrays]
            results = (
                self._step(*batch) if counters is None else counters.call(batch, values, index)
            )
            leaves = tf.nest.flatten(results)
            return index + 1, [
                # A scalar for each batch: they become a vector.
                output.write(index, leaf if leaf.shape.rank != 0 else tf.expand_dims(leaf, 0))
                for output, leaf in zip(outputs, leaves, strict=True)
            ]

        _, outputs = tf.while_loop(
            lambda index, outputs: index < count,
            body,
            (0, outputs),
            parallel_iterations=side_by_side,
        )
        return [output.concat() for output in outputs]


def _may_vary(outputs: Any) -> bool:
    """Whether batches may have outputs of different sizes, which no loop can join."""
    specs = [it for it in tf.nest.flatten(outputs) if isinstance(it, tf.TensorSpec)]
    return any(it.shape.rank is None or None in it.shape[1:] for it in specs)


class BatchByBatch:
    """A program that predicts batch by batch, however small they are."""

    def rows_at_once(self, num_rows: int) -> int:
        """Returns 0: rows may meet."""
        return 0

    def runs_together(self, data: ArrayData) -> bool:
        """Returns False: one batch is computed at a time."""
        return False

    def first_steps(self, batch_size: int) -> int:
        """Returns how many steps of unknown duration may be run together."""
        return 1


class EagerPrediction(BatchByBatch, EagerProgram):
    """`predict_step` eagerly; the same interface as `PredictProgram`."""

    def run_batch(self, batch: Any) -> Any:
        """Returns the outputs for one batch."""
        return self._step.run(batch)

    def run(self, data: ArrayData, first_step: int, num_steps: int) -> Any:
        """Returns the outputs of steps `first_step` to `first_step + num_steps`, joined."""
        return _step_by_step(self.run_batch, data, first_step, num_steps)


class Gathered:
    """Collects the outputs of programs into one result: an array that is filled step by step.

    Args:
        num_rows: rows of the result, `None` if that is not known.
    """

    def __init__(self, num_rows: int | None) -> None:
        self._num_rows = num_rows
        self._structure: Any = None
        self._arrays: list[np.ndarray] | None = None
        self._parts: list[list[Any]] = []
        self._filled = 0

    def add(self, outputs: Any, num_rows: int) -> None:
        """Adds the outputs of a program that read `num_rows` rows."""
        self._structure = outputs
        leaves = [_viewed(leaf) for leaf in tf.nest.flatten(outputs)]
        if self._arrays is None and not self._parts and self._can_be_filled(leaves, num_rows):
            assert self._num_rows is not None
            self._arrays = [np.empty((self._num_rows, *x.shape[1:]), x.dtype) for x in leaves]
        if self._arrays is None:
            self._parts.append(leaves)
            return
        parts = [array[self._filled : self._filled + num_rows] for array in self._arrays]
        if [tuple(leaf.shape) for leaf in leaves] != [part.shape for part in parts]:
            # Other numbers of rows, or sizes, than in the first batches.
            self._parts = [[array[: self._filled] for array in self._arrays], leaves]
            self._arrays = None
            return
        for part, leaf in zip(parts, leaves, strict=True):
            # Outputs are written where they belong, so that they are never in memory twice.
            part[...] = leaf
        self._filled += num_rows

    def _can_be_filled(self, leaves: list[Any], num_rows: int) -> bool:
        return (
            self._num_rows is not None
            and num_rows < self._num_rows
            and all(isinstance(x, np.ndarray) and x.shape[:1] == (num_rows,) for x in leaves)
        )

    def result(self) -> Any:
        """Returns the whole result, in the form of the outputs.

        Raises:
            ValueError: if there was no batch.
        """
        if self._structure is None:
            raise ValueError("The data has no batches to predict for. Expected at least one.")
        if self._arrays is not None:
            leaves: list[Any] = [array[: self._filled] for array in self._arrays]
        else:
            leaves = [join(parts) for parts in zip(*self._parts, strict=True)]
        return tf.nest.pack_sequence_as(self._structure, leaves)


def _step_by_step(
    run_batch: Callable[[Any], Any], data: ArrayData, first_step: int, num_steps: int
) -> Any:
    """Returns the outputs of steps `first_step` to `first_step + num_steps`, joined."""
    steps = range(first_step, first_step + num_steps)
    return _joined([run_batch(batch) for batch in map(Pass(data).batch, steps)])


def _joined(outputs: list[Any]) -> Any:
    """Returns the outputs of batches as those of one."""
    joined = [
        join([to_numpy(leaf) for leaf in leaves])
        for leaves in zip(*map(tf.nest.flatten, outputs), strict=True)
    ]
    return tf.nest.pack_sequence_as(outputs[0], joined)


def join(parts: Sequence[Any]) -> Any:
    """Returns the outputs of several batches as one, along the first axis."""
    if len(parts) == 1:
        return to_numpy(parts[0])
    if any(isinstance(part, tf.RaggedTensor) for part in parts):
        return tf.concat(parts, axis=0)
    if isinstance(parts[0], tf.SparseTensor):
        return tf.sparse.concat(0, list(parts))  # TensorFlow 2.21 makes a generator of a tuple.
    ranks = {np.ndim(part) for part in parts}
    shapes = [np.shape(part)[1:] for part in parts]
    if len(ranks) == 1 and len(set(shapes)) > 1:  # Batches with sequences of different lengths.
        uneven = [axis for axis, sizes in enumerate(zip(*shapes, strict=True)) if len({*sizes}) > 1]
        return tf.concat(
            [tf.RaggedTensor.from_tensor(part, ragged_rank=uneven[-1] + 1) for part in parts], 0
        )
    return np.concatenate([np.atleast_1d(part) for part in parts])


def to_numpy(leaf: Any) -> Any:
    """Returns an output as a writable array; ragged and sparse outputs are not converted.

    The array does not share the tensor's memory, which may be the memory of the input, or of a weight.
    """
    value = _viewed(leaf)
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


def _viewed(leaf: Any) -> Any:
    """Returns a read-only view of an output's memory as an array."""
    return leaf if isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor)) else np.asarray(leaf)
