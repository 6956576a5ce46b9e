"""Programs: one compiled call that runs many steps. Python runs between programs, not between steps.

A step is traced once, for batches of any size (`StepTrace`). A program calls it in a loop inside
TensorFlow: over rows of arrays that stay in memory, or over batches of a `tf.data` iterator. The
plan says what XLA compiles: the whole loop, each step, or nothing.

XLA compiles for one size of batch. The smaller last batch of an epoch runs outside of XLA, as compiling once
more costs more than it saves; under `jit_compile=True` it is compiled all the same.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from tfkit.src.errors import kernel_errors
from tfkit.src.errors.frames import warn
from tfkit.src.guards.rewriting import ASSERTED
from tfkit.src.runtime import xla
from tfkit.src.training.data import ArrayData, take_rows
from tfkit.src.training.planner import EAGER, GRAPH_LOOP, XLA_LOOP, XLA_STEP, Plan, choose
from tfkit.src.training.step import Step, StepTrace, traced

Logs = dict[str, Any]
_COMPILE_ERRORS = (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError)

# An XLA loop over batches of an iterator reads at most so many, of so many bytes, before it runs.
_MAX_BLOCK, _MAX_BLOCK_BYTES = 16, 2**24


class _Program:
    """What both kinds of data have in common.

    Args:
        trace: the step.
        finish: function that returns further logs after the last step.
        jit_compile: what `compile` was given.
    """

    def __init__(
        self, trace: StepTrace, finish: Callable[[], Logs], jit_compile: bool | str
    ) -> None:
        self.trace = trace
        self._finish = finish
        self._strict = jit_compile is True
        self._proven = False
        self.plan = choose(trace, jit_compile)
        # Where the step stands that is under way, for an error to say: a loop of TensorFlow's cannot tell it.
        with tf.init_scope():
            self._position = tf.Variable(0, trainable=False, dtype="int64")

    def _guarded(self, run: Callable[[], Any], step: Callable[[], int]) -> Any:
        """Runs; where XLA refuses the program at its first run, goes on without XLA.

        Args:
            run: runs the program.
            step: says which of the program's steps is under way, from 0.
        """
        try:
            result = self._located(run, step)
        except _COMPILE_ERRORS as error:
            if self._proven or self._strict or not kernel_errors.is_of_compiler(error):
                raise
            refused = error
            reason = str(error).replace("\n", " ")
            self.plan = Plan(GRAPH_LOOP, f"XLA refused the program: {reason}")
            result = self._run_refused(run, step, refused)
            warn(
                f"XLA cannot compile a program of this model, which runs without XLA now: {reason} "
                "Pass `jit_compile=False` to `compile()` if it should, or change that part of the model."
            )
        if not self._proven and self.plan.kind != GRAPH_LOOP:
            xla.give_back_memory()
        self._proven = True
        return result

    def _run_refused(self, run: Callable[[], Any], step: Callable[[], int], refused: Any) -> Any:
        """Runs without XLA.

        Where TensorFlow's kernels refuse the first step as well, and XLA did because of shapes, the error is
        the one that says which shapes: kernels may meet another consequence of them first.
        """
        try:
            return self._located(run, step)
        except tf.errors.OpError as error:
            if not getattr(refused, "is_of_shapes", False) or kernel_errors.step_of(error):
                raise
        raise kernel_errors.as_value_error(refused)

    def _located(self, run: Callable[[], Any], step: Callable[[], int]) -> Any:
        """Runs; an error of a kernel says in which layer and in which of the program's steps."""
        try:
            return run()
        except tf.errors.OpError as error:
            error = kernel_errors.in_layer(
                error, self.trace.watch.path_of, self.trace.function.graph
            )
            raise kernel_errors.located(error, step=step()) from None

    def _at(self, position: tf.Tensor) -> contextlib.AbstractContextManager[Any]:
        """Around a step in a loop of TensorFlow's: notes where it stands."""
        return tf.control_dependencies([self._position.assign(position)])

    def _step_of(self, kind: str) -> Callable[..., tuple[tf.Tensor, Logs]]:
        """The step of a kind of program: whether it was run, and its logs."""
        guarded = self.trace.guarded
        if kind == XLA_LOOP and not guarded.asks_ahead:
            return lambda *batch: guarded.run_guarded(list(batch))
        if kind == XLA_LOOP:
            return lambda *batch: (tf.constant(True), guarded.run_accepted(list(batch)))
        step = self.trace.compiled if kind == XLA_STEP else self.trace
        return lambda *batch: (tf.constant(True), step(*batch))

    def _loop(self, cond: Any, body: Any, variables: tuple[Any, ...]) -> Any:
        return tf.while_loop(cond, body, variables, parallel_iterations=1)

    def _with_finish(self, logs: Logs) -> Logs:
        with tf.control_dependencies(tf.nest.flatten(logs)):
            return {**logs, **self._finish()}


class EagerProgram:
    """Runs steps as plain Python.

    Args:
        step: function of a batch.
        finish: function that returns further logs after the last step.
    """

    plan = Plan(EAGER, "`run_eagerly=True`")

    def __init__(self, step: Step, finish: Callable[[], Logs]) -> None:
        self._step = step
        self._finish = finish

    def run(
        self, data: ArrayData, order: tf.Tensor | None, first_step: int, num_steps: int
    ) -> Logs:
        """Steps over arrays, as `ArrayProgram`."""
        steps = range(first_step, first_step + num_steps)
        return self.run_batches(data.batch(index, order) for index in steps)[1]

    def run_batches(self, batches: Iterable[Any]) -> tuple[int, Logs]:
        """Steps over batches; how many there were, and the logs of the last one."""
        done, logs = 0, {}
        for batch in batches:
            try:
                logs = self._step(batch)
            except tf.errors.OpError as error:
                raise kernel_errors.located(error, step=done) from None
            done += 1
        return done, {**logs, **self._finish()}


class ArrayProgram(_Program):
    """Runs steps over the rows of arrays; arguments as in `_Program`.

    Args:
        shuffled: whether rows are taken in an order that each call is given.
    """

    def __init__(
        self,
        trace: StepTrace,
        finish: Callable[[], Logs],
        jit_compile: bool | str,
        shuffled: bool,
    ) -> None:
        super().__init__(trace, finish, jit_compile)
        self._shuffled = shuffled
        self._loops: dict[Any, Any] = {}
        self._accepted: weakref.ref[ArrayData] | None = None

    def run(
        self, data: ArrayData, order: tf.Tensor | None, first_step: int, num_steps: int
    ) -> Logs:
        """Steps `first_step` to `first_step + num_steps`; the logs of the last one."""
        return self._guarded(
            lambda: self._run(data, order, first_step, num_steps),
            lambda: int(self._position) // data.batch_size - first_step,
        )

    def _run(
        self, data: ArrayData, order: tf.Tensor | None, first_step: int, num_steps: int
    ) -> Logs:
        size = data.batch_size
        kind = self.plan.kind
        if kind == GRAPH_LOOP:
            return self._call(kind, data, order, size, first_step * size, num_steps)[1]
        full = max(0, min(num_steps, data.num_rows // size - first_step))
        done = 0
        logs: Logs = {}
        while done < full:
            start = (first_step + done) * size
            accepted = self._num_accepted(data, order, first_step + done, full - done)
            if accepted:
                ran, logs = self._call(kind, data, order, size, start, accepted)
                done += int(ran)
            if done < full:
                # XLA cannot vouch for the next step: TensorFlow's kernels run it, and refuse it or not.
                start = (first_step + done) * size
                logs = self._call(GRAPH_LOOP, data, order, size, start, 1)[1]
                done += 1
        if done < num_steps:
            start = (first_step + done) * size
            kind = XLA_STEP if self._strict else GRAPH_LOOP
            logs = self._call(kind, data, order, data.num_rows - start, start, 1)[1]
        return logs

    def _num_accepted(
        self, data: ArrayData, order: tf.Tensor | None, first_step: int, num_steps: int
    ) -> int:
        """How many steps, from the first on, a program can be given that asks nothing itself."""
        guarded = self.trace.guarded
        if self.plan.kind != XLA_LOOP or not guarded.asks_rows:
            return num_steps
        if self._accepted is None or self._accepted() is not data:
            if not guarded.accepts_rows(tf.nest.flatten(data.tensors)):
                batches = (data.batch(first_step + index, order) for index in range(num_steps))
                asked = (guarded.ahead(tf.nest.flatten(batch)) for batch in batches)
                return sum(1 for _ in itertools.takewhile(bool, asked))
            self._accepted = weakref.ref(data)
        return num_steps

    def _call(
        self,
        kind: str,
        data: ArrayData,
        order: tf.Tensor | None,
        size: int,
        start: int,
        num_steps: int,
    ) -> tuple[Any, Logs]:
        """Runs `num_steps` batches of `size` rows, beginning with row `start`; how many it did run."""
        static_size = None if kind == GRAPH_LOOP else size
        if (kind, static_size) not in self._loops:
            number = tf.TensorSpec([], "int64")
            rows = tf.TensorSpec([None], "int64")
            steps = functools.partial(self._steps, kind, static_size)
            specs = [self.trace.specs, rows, number, number, number]
            self._loops[kind, static_size] = _traced_for_xla(steps, specs, kind)
        arrays = tf.nest.flatten(data.tensors)
        rows = order if order is not None else tf.zeros([0], "int64")
        numbers = (tf.constant(number, "int64") for number in (size, start, num_steps))
        return self._loops[kind, static_size](arrays, rows, *numbers)

    def _steps(
        self,
        kind: str,
        static_size: int | None,
        arrays: list[tf.Tensor],
        rows: tf.Tensor,
        size: tf.Tensor,
        start: tf.Tensor,
        num_steps: tf.Tensor,
    ) -> tuple[tf.Tensor, Logs]:
        step, guarded = self._step_of(kind), self.trace.guarded
        order = rows if self._shuffled else None

        # The first row is carried from step to step: computed from `start`, it would make that a constant
        # to XLA (the begin of a slice), and each call with another `start` would compile anew.
        def body(index: tf.Tensor, first: tf.Tensor, accepted: tf.Tensor, logs: Any) -> Any:
            batch = _rows(arrays, order, first, size, static_size)
            with contextlib.nullcontext() if kind == XLA_LOOP else self._at(first):
                accepted, logs = step(*batch)
            return index + tf.cast(accepted, "int64"), first + size, accepted, logs

        def goes_on(
            index: tf.Tensor, first: tf.Tensor, accepted: tf.Tensor, logs: Any
        ) -> tf.Tensor:
            going = accepted & (index < num_steps)
            if kind == XLA_LOOP and guarded.asks_ahead and not guarded.asks_rows:
                going &= guarded.ahead(_rows(arrays, order, first, size, static_size))
            return going

        done, _, _, logs = self._loop(
            goes_on,
            body,
            (tf.constant(0, "int64"), start, tf.constant(True), self.trace.no_outputs()),
        )
        return done, self._with_finish(logs)


def _traced_for_xla(steps: Callable[..., Any], specs: Any, kind: str) -> Any:
    """A program; where a known number of rows shows that shapes do not go together, XLA refuses it."""
    try:
        return traced(steps, specs, jit_compile=kind == XLA_LOOP)
    except ValueError as error:
        if kind == GRAPH_LOOP:
            raise
        refused = tf.errors.InvalidArgumentError(None, None, f"{kernel_errors.BY_XLA}{error}")
        # What a guard asserts is said better by the kernel that refuses it.
        refused.is_of_shapes = ASSERTED not in str(error)
        raise refused from None


def _rows(
    arrays: list[tf.Tensor],
    order: tf.Tensor | None,
    first: tf.Tensor,
    size: tf.Tensor,
    static_size: int | None,
) -> list[tf.Tensor]:
    """`size` rows of each array, fewer at the end: those from `first` on, or that stand there in `order`."""
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


class IteratorProgram(_Program):
    """Runs steps over the batches of a `tf.data` iterator; arguments as in `_Program`.

    Attributes:
        size: rows of the first batch, for which XLA compiles; -1 before.
    """

    def __init__(
        self, trace: StepTrace, finish: Callable[[], Logs], jit_compile: bool | str
    ) -> None:
        super().__init__(trace, finish, jit_compile)
        self.size = -1
        self._block = _block_size(self.trace.specs)
        self._xla_steps = tf.function(self._steps, autograph=False, jit_compile=True)
        self._advances = {
            GRAPH_LOOP: self._run_batch,
            XLA_STEP: self._run_either,
            XLA_LOOP: self._run_block,
        }
        self._loops: dict[str, Any] = {}

    def run(self, iterator: Any, num_steps: int) -> tuple[int, Logs]:
        """At most `num_steps` steps; how many there were batches for, and the logs of the last one."""
        return self._guarded(lambda: self._run(iterator, num_steps), lambda: int(self._position))

    def _run(self, iterator: Any, num_steps: int) -> tuple[int, Logs]:
        kind = self.plan.kind
        if kind not in self._loops:
            number = tf.TensorSpec([], "int64")
            specs = [tf.type_spec_from_value(iterator), number, number]
            self._loops[kind] = traced(functools.partial(self._read, self._advances[kind]), specs)
        # XLA compiles for the size of the first batch; others run outside of it.
        numbers = (tf.constant(number, "int64") for number in (num_steps, self.size))
        done, size, logs = self._loops[kind](iterator, *numbers)
        self.size = int(size)
        return int(done), logs

    def _read(
        self, advance: Callable[..., Any], iterator: Any, num_steps: tf.Tensor, size: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, Logs]:
        """Runs the iterator's batches; each time round, `advance` runs one batch or more, and reads on."""

        def body(index: tf.Tensor, size: tf.Tensor, batch: Any, logs: Any) -> tuple[Any, ...]:
            size = tf.where(size < 0, _num_rows(batch.get_value()), size)
            index, batch, logs = advance(iterator, num_steps, index, size, batch)
            return index, size, batch, logs

        zero = tf.constant(0, "int64")
        done, size, _, logs = self._loop(
            lambda index, size, batch, logs: batch.has_value(),
            body,
            (zero, size, _next(iterator, zero < num_steps), self.trace.no_outputs()),
        )
        return done, size, self._with_finish(logs)

    def _run_batch(
        self, iterator: Any, num_steps: tf.Tensor, index: tf.Tensor, size: tf.Tensor, batch: Any
    ) -> tuple[Any, ...]:
        """Runs one batch, of any size."""
        step = self.trace.compiled if self._strict else self.trace
        with self._at(index):
            logs = step(*tf.nest.flatten(batch.get_value()))
        return index + 1, _next(iterator, index + 1 < num_steps), logs

    def _run_either(
        self, iterator: Any, num_steps: tf.Tensor, index: tf.Tensor, size: tf.Tensor, batch: Any
    ) -> tuple[Any, ...]:
        """Runs one batch, as an XLA program if it is of the size that XLA compiles for."""
        tensors = tf.nest.flatten(batch.get_value())
        with self._at(index):
            if self._strict:
                logs = self.trace.compiled(*tensors)
            else:
                logs = tf.cond(
                    _num_rows(tensors) == size,
                    lambda: self.trace.compiled(*tensors),
                    lambda: self.trace(*tensors),
                )
        return index + 1, _next(iterator, index + 1 < num_steps), logs

    def _run_block(self, *state: Any) -> tuple[Any, ...]:
        """Runs as many batches of one size as make a block as one XLA program; another one by itself."""
        _, _, _, size, batch = state
        return tf.cond(
            _num_rows(batch.get_value()) == size,
            lambda: self._read_block(*state),
            lambda: self._run_batch(*state),
        )

    def _read_block(
        self, iterator: Any, num_steps: tf.Tensor, index: tf.Tensor, size: tf.Tensor, batch: Any
    ) -> tuple[Any, ...]:
        """Reads on while batches have the same size, and runs them."""
        blocks = tuple(
            tf.TensorArray(spec.dtype, self._block, element_shape=spec.shape)
            for spec in self.trace.specs
        )

        def fits(count: tf.Tensor, batch: Any, blocks: Any) -> tf.Tensor:
            room = tf.logical_and(count < self._block, batch.has_value())
            return tf.cond(room, lambda: _num_rows(batch.get_value()) == size, lambda: False)

        def read(count: tf.Tensor, batch: Any, blocks: Any) -> tuple[Any, ...]:
            tensors = tf.nest.flatten(batch.get_value())
            at = tf.cast(count, "int32")
            blocks = tuple(
                block.write(at, tensor) for block, tensor in zip(blocks, tensors, strict=True)
            )
            return count + 1, _next(iterator, index + count + 1 < num_steps), blocks

        zero = tf.constant(0, "int64")
        count, batch, blocks = self._loop(fits, read, (zero, batch, blocks))
        stacks = [block.stack() for block in blocks]

        guarded = self.trace.guarded
        if not guarded.is_needed:
            logs = self._xla_steps(stacks, zero, count)[1]
        elif guarded.asks_rows:
            logs = tf.cond(
                guarded.ahead(stacks),
                lambda: self._xla_steps(stacks, zero, count)[1],
                lambda: self._ask_each(stacks, index, count),
            )
        else:
            logs = self._run_asking(stacks, index, count)
        return index + count, batch, logs

    def _ask_each(self, stacks: list[tf.Tensor], index: tf.Tensor, count: tf.Tensor) -> Logs:
        """Runs a block, of which TensorFlow's kernels might refuse a batch; `index` batches were before."""

        def run(done: tf.Tensor, logs: Any) -> tuple[tf.Tensor, Any]:
            batch = [stack[done] for stack in stacks]
            with self._at(index + done):
                logs = tf.cond(
                    self.trace.guarded.ahead(batch),
                    lambda: self._xla_steps(stacks, done, done + 1)[1],
                    lambda: self.trace(*batch),
                )
            return done + 1, logs

        return self._loop_over(count, run)

    def _run_asking(self, stacks: list[tf.Tensor], index: tf.Tensor, count: tf.Tensor) -> Logs:
        """Runs a block, while XLA asks about each batch; `index` batches were before."""

        def run(done: tf.Tensor, logs: Any) -> tuple[tf.Tensor, Any]:
            done, logs = self._xla_steps(stacks, done, count)
            # XLA cannot vouch for the next step: TensorFlow's kernels run it, and refuse it or not.
            with self._at(index + done):
                return tf.cond(
                    done < count,
                    lambda: (done + 1, self.trace(*(stack[done] for stack in stacks))),
                    lambda: (done, logs),
                )

        return self._loop_over(count, run)

    def _loop_over(self, count: tf.Tensor, run: Callable[..., Any]) -> Logs:
        start = (tf.constant(0, "int64"), self.trace.no_outputs())
        logs: Logs = self._loop(lambda done, logs: done < count, run, start)[1]
        return logs

    def _steps(
        self, stacks: list[tf.Tensor], first: tf.Tensor, count: tf.Tensor
    ) -> tuple[tf.Tensor, Logs]:
        """The batches of a block from `first` to `count`, or to one that XLA cannot vouch for."""
        step = self._step_of(XLA_LOOP)

        def body(index: tf.Tensor, accepted: tf.Tensor, logs: Any) -> Any:
            accepted, logs = step(*(stack[index] for stack in stacks))
            return index + tf.cast(accepted, "int64"), accepted, logs

        def goes_on(index: tf.Tensor, accepted: tf.Tensor, logs: Any) -> tf.Tensor:
            going = accepted & (index < count)
            if self.trace.guarded.asks_ahead and not self.trace.guarded.asks_rows:
                going &= self.trace.guarded.ahead([stack[index] for stack in stacks])
            return going

        done, _, logs = self._loop(
            goes_on,
            body,
            (first, tf.constant(True), self.trace.no_outputs()),
        )
        return done, logs


def _next(iterator: Any, wanted: tf.Tensor) -> Any:
    """The next batch if there is one and it is wanted, as an `Optional`."""
    return tf.cond(
        wanted,
        iterator.get_next_as_optional,
        lambda: tf.experimental.Optional.empty(iterator.element_spec),
    )


def _num_rows(batch: Any) -> tf.Tensor:
    return tf.shape(tf.nest.flatten(batch)[0], "int64")[0]


def _block_size(specs: list[Any]) -> int:
    """How many batches make a block, at 64 rows a batch."""
    num_bytes = 0
    for spec in specs:
        if isinstance(spec, tf.TensorSpec) and spec.shape.rank is not None:
            inner = spec.shape[1:].num_elements() or 1
            num_bytes += 64 * inner * spec.dtype.size
    return max(1, min(_MAX_BLOCK, _MAX_BLOCK_BYTES // max(num_bytes, 1)))
