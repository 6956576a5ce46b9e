"""Programs over the batches of a `tf.data` iterator."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors import kernel_errors
from tfkit.src.training.batches import Batches
from tfkit.src.training.data import batch_size_of
from tfkit.src.training.planner import GRAPH_LOOP, XLA_LOOP, XLA_STEP
from tfkit.src.training.programs import EagerProgram, Logs, LoopProgram
from tfkit.src.training.step import Step, StepTrace

# An XLA loop over batches of an iterator reads at most this many batches, and bytes, before it runs.
_MAX_BLOCK, _MAX_BLOCK_BYTES = 16, 2**24


class IteratorProgram(LoopProgram):
    """Runs steps over the batches of a `tf.data` iterator; arguments as in `LoopProgram`.

    Attributes:
        size: rows of the first batch, for which XLA compiles; -1 before.
    """

    def __init__(self, trace: StepTrace, jit_compile: bool | str) -> None:
        super().__init__(trace, jit_compile)
        self.size = -1
        self._block = block_size(self.trace.specs)
        self._xla_steps = tf.function(self._steps, autograph=False, jit_compile=True)
        # How each kind continues from the batch that was read last.
        self._advances = {
            GRAPH_LOOP: self._run_batch,
            XLA_STEP: self._run_either,
            XLA_LOOP: self._run_block,
        }
        # By form: the loop, and an empty `Optional` if it needs one, or else `None`.
        self._loops: dict[tuple[str, bool, bool], tuple[Any, Any]] = {}
        self._first: Any = None  # The batch that was read for a program which XLA may refuse.
        # Batches of a block that were read but have not run, for errors in the data.
        with tf.init_scope():
            self._ahead = tf.Variable(0, trainable=False, dtype="int64")
            # Batches without rows that the program in progress has read but not run.
            self._left_out = tf.Variable(0, trainable=False, dtype="int64")

    @staticmethod
    def eagerly(step: Step) -> EagerIteratorProgram:
        """Returns the object that runs a step eagerly instead of such a program."""
        return EagerIteratorProgram(step)

    def run(self, batches: Batches, num_steps: int) -> tuple[int, Logs]:
        """Runs at most `num_steps` steps; returns how many batches there were, and the last step's logs."""
        done, logs = 0, dict[str, Any]()
        if not (self._strict or self._proven or self.plan.kind == GRAPH_LOOP):
            done, logs = self._try(batches)
            if done == num_steps or not done:
                return done, logs
        run = functools.partial(self._run, batches, num_steps - done)
        further, latest = self._guarded(run, lambda: done + int(self._position))
        return done + further, latest if further else logs

    def _try(self, batches: Batches) -> tuple[int, Logs]:
        """Runs one step that XLA may refuse; then a different kind of program runs it on the same batch."""

        def run() -> tuple[int, Logs]:
            if self._first is None:
                self._position.assign(0)  # For an error in the data.
                with self._counting(batches):
                    self._first = self._next(batches.iterator, tf.constant(True))
            return self._run(batches, 1)

        try:
            return self._guarded(run, lambda: int(self._position))
        finally:
            self._first = None

    def _located(self, error: tf.errors.OpError, step: Callable[[], int]) -> Any:
        """Returns the error of a kernel with its layer and the step of the program."""
        ahead = int(self._ahead)
        if ahead:
            self._ahead.assign(0)
        return kernel_errors.located(super()._located(error, step), ahead=ahead)

    def _run(self, batches: Batches, num_steps: int) -> tuple[int, Logs]:
        takes_first = self._first is not None or self.plan.kind != GRAPH_LOOP
        form = self.plan.kind, takes_first, self.plan.compiles_updates
        if form not in self._loops:
            self._loops[form] = self._traced_for(batches.iterator, self.plan.kind, takes_first)
        loop, no_batch = self._loops[form]
        # XLA compiles for the size of the first batch; others run outside XLA. The size is kept from one
        # program to the next: the first batch of a program may be the small one that ends a pass.
        numbers = [tf.constant(number, "int64") for number in (num_steps, self.size)]
        # A batch that was read cannot be put back into an iterator: it is passed to the program instead, so
        # that none is lost if XLA refuses.
        first = [no_batch if self._first is None else self._first] if takes_first else []
        with self._counting(batches):
            done, size, logs = loop(batches.iterator, *numbers, *first)
        self.size = int(size)
        return int(done), logs

    @contextlib.contextmanager
    def _counting(self, batches: Batches) -> Iterator[None]:
        """Context manager that counts the batches without rows that are read inside as left out."""
        if not self.trace.relies_on_rows:
            yield
            return
        self._left_out.assign(0)
        yield
        batches.left_out += int(self._left_out)

    def _traced_for(self, iterator: Any, kind: str, takes_first: bool) -> tuple[Any, Any]:
        number = tf.TensorSpec([], "int64")
        specs, no_batch = [tf.type_spec_from_value(iterator), number, number], None
        if takes_first:
            no_batch = tf.experimental.Optional.empty(iterator.element_spec)
            specs.append(tf.type_spec_from_value(no_batch))
        return self._traced(functools.partial(self._read, self._advances[kind]), specs), no_batch

    def _read(
        self,
        advance: Callable[..., Any],
        iterator: Any,
        num_steps: tf.Tensor,
        size: tf.Tensor,
        given: Any = None,
    ) -> tuple[tf.Tensor, tf.Tensor, Logs]:
        """Runs the iterator's batches; in each iteration, `advance` runs one or more, and reads further.

        If `given` has a batch, it is the first.

        Batches are read as `Optional`s. So the end of the data is a value, and not an error, which would end
        the program without the results of its last steps. One batch is read in advance, as the loop must know
        whether there is one; but none after `num_steps`, which belongs to the next program.
        """

        def body(index: tf.Tensor, size: tf.Tensor, batch: Any, logs: Any) -> tuple[Any, ...]:
            # -1 before the first batch of all.
            size = tf.where(size < 0, _num_rows(batch), size)
            index, batch, logs = advance(iterator, num_steps, index, size, batch)
            return index, size, batch, logs

        zero = tf.constant(0, "int64")
        with self._at(zero):
            first = self._next(iterator, zero < num_steps, given)
        done, size, _, logs = self._loop(
            lambda index, size, batch, logs: batch.has_value(),
            body,
            (zero, size, first, self.trace.no_outputs()),
        )
        return done, size, self._with_finish(logs)

    def _run_batch(
        self, iterator: Any, num_steps: tf.Tensor, index: tf.Tensor, size: tf.Tensor, batch: Any
    ) -> tuple[Any, ...]:
        """Runs one batch, of any size."""
        step = self.trace.compiled if self._strict else self.trace
        with self._at(index), _Effects() as effects:
            logs = step(*tf.nest.flatten(batch.get_value()))
        return index + 1, self._after(effects, logs, iterator, index + 1, num_steps), logs

    def _run_either(
        self, iterator: Any, num_steps: tf.Tensor, index: tf.Tensor, size: tf.Tensor, batch: Any
    ) -> tuple[Any, ...]:
        """Runs one batch, as an XLA program if it has the size that XLA compiles for."""
        tensors = tf.nest.flatten(batch.get_value())
        with self._at(index), _Effects() as effects:
            if self._strict:
                logs = self.trace.compiled(*tensors)
            else:
                logs = tf.cond(
                    _num_rows(batch) == size,
                    lambda: self.trace.compiled(*tensors),
                    lambda: self.trace(*tensors),
                )
        return index + 1, self._after(effects, logs, iterator, index + 1, num_steps), logs

    def _after(
        self, effects: _Effects, logs: Any, iterator: Any, index: tf.Tensor, num_steps: tf.Tensor
    ) -> Any:
        """Returns the batch of step `index`, read after the step before it.

        A batch that cannot be read ends the program at once: at the same time as a step, it would leave
        some weights as they were before that step, and others as they are after it.
        """
        # A step may have no logs, or may have them before its last update.
        whole = [*effects.operations, *tf.nest.flatten(logs)]
        with tf.control_dependencies(whole), self._at(index):
            return self._next(iterator, index < num_steps)

    def _run_block(self, *state: Any) -> tuple[Any, ...]:
        """Runs a block of batches of one size as one XLA program; a batch of a different size separately."""
        _, _, _, size, batch = state
        return tf.cond(
            _num_rows(batch) == size,
            lambda: self._read_block(*state),
            lambda: self._run_batch(*state),
        )

    def _read_block(
        self, iterator: Any, num_steps: tf.Tensor, index: tf.Tensor, size: tf.Tensor, batch: Any
    ) -> tuple[Any, ...]:
        """Reads batches as long as they have the same shapes, and runs them.

        XLA cannot read from an iterator, so batches are stacked first, and one XLA program runs them all. If
        a batch cannot be read, none of its block has run, as the error says.
        """
        blocks = tuple(
            tf.TensorArray(spec.dtype, self._block, element_shape=spec.shape)
            for spec in self.trace.specs
        )

        sizes = self._inner_sizes(batch)

        def is_like_first(batch: Any) -> tf.Tensor:
            is_like = _num_rows(batch) == size
            for own, first in zip(self._inner_sizes(batch), sizes, strict=True):
                is_like &= tf.reduce_all(own == first)
            return is_like

        def fits(count: tf.Tensor, batch: Any, blocks: Any) -> tf.Tensor:
            room = tf.logical_and(count < self._block, batch.has_value())
            # Not `room & ...`: the value of an empty `Optional` must not be read.
            return tf.cond(room, lambda: is_like_first(batch), lambda: False)

        def read(count: tf.Tensor, batch: Any, blocks: Any) -> tuple[Any, ...]:
            tensors = tf.nest.flatten(batch.get_value())
            # The number of batches read ahead is stored for an error in reading the next one.
            at = tf.cast(count, "int32")
            ahead = self._ahead.assign(count + 1)
            blocks = tuple(
                block.write(at, tensor) for block, tensor in zip(blocks, tensors, strict=True)
            )
            with tf.control_dependencies([ahead]), self._at(index + count + 1):
                batch = self._next(iterator, index + count + 1 < num_steps)
            return count + 1, batch, blocks

        zero = tf.constant(0, "int64")
        count, batch, blocks = self._loop(fits, read, (zero, batch, blocks))
        # From here on the batches of the block run, and an error is in a step.
        with tf.control_dependencies([self._ahead.assign(zero)]), self._at(index):
            stacks = [block.stack() for block in blocks]

        guarded = self.trace.guarded
        if not guarded.is_needed:
            logs = self._xla_steps(stacks, zero, count)[1]
        # One check for all rows of the block, as most have none that is refused.
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
        """Runs a block in which TensorFlow's kernels might refuse a batch, after `index` batches."""

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
        """Runs a block while XLA checks each batch, after `index` batches."""

        def run(done: tf.Tensor, logs: Any) -> tuple[tf.Tensor, Any]:
            done, logs = self._xla_steps(stacks, done, count)
            # The guards do not accept the next step: TensorFlow's kernels run it, and refuse its values or
            # not.
            with self._at(index + done):
                return tf.cond(
                    done < count,
                    lambda: (done + 1, self.trace(*(stack[done] for stack in stacks))),
                    lambda: (done, logs),
                )

        return self._loop_over(count, run)

    def _next(self, iterator: Any, wanted: tf.Tensor, given: Any = None) -> Any:
        """Returns the next batch, or a given one, as an `Optional`: empty if there is none or none is wanted.

        A batch without rows is left out if the step cannot run it.
        """

        def read() -> Any:
            batch = tf.cond(
                wanted,
                iterator.get_next_as_optional,
                lambda: tf.experimental.Optional.empty(iterator.element_spec),
            )
            return self._with_rows(iterator, batch) if self.trace.relies_on_rows else batch

        return read() if given is None else tf.cond(given.has_value(), lambda: given, read)

    def _with_rows(self, iterator: Any, batch: Any) -> Any:
        """Returns a batch as it was read, or the next one that has rows."""

        def is_empty(batch: Any) -> tf.Tensor:
            return tf.cond(
                batch.has_value(),
                lambda: tf.reduce_min(_sizes(batch)) == 0,
                lambda: tf.constant(False),
            )

        def read(batch: Any) -> Any:
            # `tf.data` may yield a batch without rows, as after a `filter`, but not one in which only some
            # tensors have none.
            message = "All tensors of a batch must have as many rows as the others. Some have none."
            check = tf.debugging.assert_equal(
                tf.reduce_max(_sizes(batch)), tf.zeros([], "int64"), message
            )
            with tf.control_dependencies([check, self._left_out.assign_add(1)]):
                return (iterator.get_next_as_optional(),)

        return tf.while_loop(is_empty, read, (batch,), parallel_iterations=1)[0]

    def _inner_sizes(self, batch: Any) -> list[tf.Tensor]:
        """Returns the shapes of the tensors of a batch whose other axes may differ between batches too."""
        varies = [None in spec.shape[1:] for spec in self.trace.specs]
        if not any(varies):
            return []
        return [
            tf.shape(each)[1:]
            for each in itertools.compress(tf.nest.flatten(batch.get_value()), varies)
        ]

    def _loop_over(self, count: tf.Tensor, run: Callable[..., Any]) -> Logs:
        start = (tf.constant(0, "int64"), self.trace.no_outputs())
        logs: Logs = self._loop(lambda done, logs: done < count, run, start)[1]
        return logs

    def _steps(
        self, stacks: list[tf.Tensor], first: tf.Tensor, count: tf.Tensor
    ) -> tuple[tf.Tensor, Logs]:
        """Runs the batches of a block from `first` to `count`, or to the first that is not accepted."""
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
            goes_on, body, (first, tf.constant(True), self.trace.no_outputs())
        )
        return done, logs


class EagerIteratorProgram(EagerProgram):
    """Runs steps over the batches of an iterator eagerly."""

    size = -1

    def run(self, batches: Batches, num_steps: int) -> tuple[int, Logs]:
        """Runs at most `num_steps` steps; returns how many batches there were, and the last step's logs."""
        return self.run_batches(itertools.islice(batches.iterator, num_steps))


class _Effects:
    """A context that collects the operations with an effect which are added to the current trace."""

    def __enter__(self) -> _Effects:
        self._graph = tf.compat.v1.get_default_graph()
        # Operations are only added to a graph, at its end: those after this index are new.
        self._start = len(self._graph.get_operations())
        return self

    def __exit__(self, *error: Any) -> None:
        added = self._graph.get_operations()[self._start :]
        self.operations = [op for op in added if op.op_def.is_stateful]


def _sizes(batch: Any) -> tf.Tensor:
    """Returns the number of rows of each tensor of a batch as it was read."""
    value = batch.get_value()
    tensors = tf.nest.flatten(value)
    sizes = [batch_size_of([tensor]) for tensor in tensors if tensor is not None]
    return tf.stack([tf.cast(size, "int64") for size in sizes])


def _num_rows(batch: Any) -> tf.Tensor:
    """Returns the number of rows of a batch as it was read."""
    return tf.cast(batch_size_of(batch.get_value()), "int64")


def block_size(specs: list[Any]) -> int:
    """Returns the number of batches in a block, at 64 rows a batch."""
    num_bytes = 0
    for spec in specs:
        if isinstance(spec, tf.TensorSpec) and spec.shape.rank is not None:
            inner = spec.shape[1:].num_elements() or 1
            num_bytes += 64 * inner * spec.dtype.size
    return max(1, min(_MAX_BLOCK, _MAX_BLOCK_BYTES // max(num_bytes, 1)))
