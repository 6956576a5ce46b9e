"""Programs: one compiled call that runs many steps. Python runs between programs, not between steps.

A step is traced once, as a function of one batch. A program calls it in a loop inside TensorFlow:
over rows of arrays that stay in memory, or over batches that a `tf.data` iterator gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.core.state import StateWatch
from tfkit.training.data import ArrayData, take_rows

Step = Callable[[Any], dict[str, Any]]


class ArrayProgram:
    """Runs steps over the rows of arrays.

    Args:
        step: function of a batch that gives logs.
        finish: function that gives further logs once the steps are over.
        data: the arrays.
        shuffled: whether rows are taken in an order that each call is given.
        jit_compile: whether the whole loop is one XLA program; its batches are then of one static size.
    """

    def __init__(
        self,
        step: Step,
        finish: Callable[[], dict[str, Any]],
        data: ArrayData,
        shuffled: bool,
        jit_compile: bool,
    ) -> None:
        self._step = step
        self._finish = finish
        self._jit_compile = jit_compile
        self._shuffled = shuffled
        self._structure = data.tensors
        self.watch = StateWatch()
        self._loops: dict[int | None, Any] = {}

    def run(
        self, data: ArrayData, order: tf.Tensor | None, first_step: int, num_steps: int
    ) -> dict[str, Any]:
        """Steps `first_step` to `first_step + num_steps`; the logs of the last one."""
        arrays = tf.nest.flatten(data.tensors)
        rows = order if order is not None else tf.zeros([0], "int64")
        size = data.batch_size
        if not self._jit_compile:
            return self._loop(None)(arrays, rows, size, first_step * size, num_steps)
        logs: dict[str, Any] = {}
        full = min(num_steps, data.num_rows // size - first_step)
        if full > 0:
            logs = self._loop(size)(arrays, rows, size, first_step * size, full)
        if full < num_steps:
            start = (first_step + max(full, 0)) * size
            rest = data.num_rows - start
            logs = self._loop(rest)(arrays, rows, rest, start, 1)
        return logs

    def _loop(self, static_size: int | None) -> Callable[..., dict[str, Any]]:
        """The compiled loop, for batches of one static size or of any."""
        if static_size not in self._loops:
            self._loops[static_size] = tf.function(
                lambda arrays, rows, size, start, num_steps: self._run_steps(
                    arrays, rows, static_size, size, start, num_steps
                ),
                autograph=False,
                jit_compile=self._jit_compile,
                reduce_retracing=True,
            )
        loop = self._loops[static_size]

        def call(arrays: Any, rows: Any, size: int, start: int, num_steps: int) -> dict[str, Any]:
            numbers = (tf.constant(n, "int64") for n in (size, start, num_steps))
            return loop(arrays, rows, *numbers)

        return call

    def _run_steps(
        self,
        arrays: list[tf.Tensor],
        rows: tf.Tensor,
        static_size: int | None,
        size: tf.Tensor,
        start: tf.Tensor,
        num_steps: tf.Tensor,
    ) -> dict[str, Any]:
        order = rows if self._shuffled else None

        def batch(first: tf.Tensor) -> list[tf.Tensor]:
            if static_size is None:
                last = tf.minimum(first + size, tf.shape(arrays[0], out_type="int64")[0])
                return [take_rows(array, order, first, last) for array in arrays]
            if order is not None:
                picked = tf.slice(order, [first], [static_size])
                return [tf.gather(array, picked) for array in arrays]
            return [
                tf.slice(
                    array,
                    tf.concat([[first], tf.zeros([array.shape.rank - 1], "int64")], 0),
                    [static_size, *array.shape[1:]],
                )
                for array in arrays
            ]

        specs = [tf.TensorSpec([static_size, *array.shape[1:]], array.dtype) for array in arrays]
        step = trace_step(self._step, self._structure, specs, self.watch)

        # The first row is carried from step to step: computed from `start`, it would make that a constant
        # to XLA (the begin of a slice), and each call with another `start` would compile anew.
        def body(index: tf.Tensor, first: tf.Tensor, logs: Any) -> tuple[tf.Tensor, tf.Tensor, Any]:
            return index + 1, first + size, step(*batch(first))

        zero = tf.constant(0, "int64")
        _, _, logs = tf.while_loop(
            lambda index, first, logs: index < num_steps,
            body,
            (zero, start, _empty_logs(step)),
            parallel_iterations=1,
        )
        with tf.control_dependencies(tf.nest.flatten(logs)):
            return {**logs, **self._finish()}


class IteratorProgram:
    """Runs steps over batches that a `tf.data` iterator gives.

    Args:
        step: function of a batch that gives logs.
        finish: function that gives further logs once the steps are over.
        spec: nest of the batches' specs.
        jit_compile: whether each step is an XLA program.
    """

    def __init__(
        self, step: Step, finish: Callable[[], dict[str, Any]], spec: Any, jit_compile: bool
    ) -> None:
        self._step = step
        self._finish = finish
        self._spec = spec
        self._jit_compile = jit_compile
        self.watch = StateWatch()
        self._loop = tf.function(self._run_steps, autograph=False, reduce_retracing=True)

    def run(self, iterator: Any, num_steps: int) -> tuple[int, dict[str, Any]]:
        """At most `num_steps` steps; how many there were batches for, and the logs of the last one."""
        done, logs = self._loop(iterator, tf.constant(num_steps, "int64"))
        return int(done), logs

    def _run_steps(self, iterator: Any, num_steps: tf.Tensor) -> tuple[tf.Tensor, dict[str, Any]]:
        specs = tf.nest.flatten(self._spec)
        step = trace_step(self._step, self._spec, specs, self.watch, self._jit_compile)

        def advance(index: tf.Tensor) -> tuple[tf.Tensor, Any]:
            optional = tf.cond(
                index < num_steps,
                iterator.get_next_as_optional,
                lambda: tf.experimental.Optional.empty(iterator.element_spec),
            )
            return optional.has_value(), optional

        def body(index: tf.Tensor, more: tf.Tensor, optional: Any, logs: Any) -> tuple[Any, ...]:
            logs = step(*tf.nest.flatten(optional.get_value()))
            index += 1
            return (index, *advance(index), logs)

        zero = tf.constant(0, "int64")
        done, _, _, logs = tf.while_loop(
            lambda index, more, optional, logs: more,
            body,
            (zero, *advance(zero), _empty_logs(step)),
            parallel_iterations=1,
        )
        with tf.control_dependencies(tf.nest.flatten(logs)):
            return done, {**logs, **self._finish()}


def trace_step(
    step: Step,
    structure: Any,
    specs: list[tf.TensorSpec],
    watch: StateWatch,
    jit_compile: bool = False,
) -> Any:
    """`step` as a traced function of a batch's flat tensors."""

    def flat_step(*tensors: tf.Tensor) -> dict[str, Any]:
        with watch:
            logs = step(tf.nest.pack_sequence_as(structure, tensors))
        return {name: tf.convert_to_tensor(value) for name, value in logs.items()}

    function = tf.function(flat_step, autograph=False, jit_compile=jit_compile or None)
    return function.get_concrete_function(*specs)


def _empty_logs(step: Any) -> dict[str, Any]:
    """Zeros in the form of a step's logs, for the loop to begin with."""
    return {
        name: tf.zeros([size or 0 for size in spec.shape], spec.dtype)
        for name, spec in step.structured_outputs.items()
    }
