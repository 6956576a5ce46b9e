"""Programs over arrays in memory: each step slices its rows out of them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import weakref
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.training.data import ArrayData, Pass, take_rows
from tfkit.src.training.planner import GRAPH_LOOP, XLA_LOOP, XLA_STEP
from tfkit.src.training.programs import EagerProgram, Logs, LoopProgram, as_refusal
from tfkit.src.training.step import Step, StepTrace


class ArrayProgram(LoopProgram):
    """Runs steps over the rows of arrays; arguments as in `LoopProgram`."""

    def __init__(self, trace: StepTrace, jit_compile: bool | str) -> None:
        super().__init__(trace, jit_compile)
        self._loops: dict[Any, Any] = {}
        self._accepted: weakref.ref[ArrayData] | None = None

    @staticmethod
    def eagerly(step: Step) -> EagerArrayProgram:
        """Returns the object that runs a step eagerly instead of such a program."""
        return EagerArrayProgram(step)

    def run(self, rows: Pass, first_step: int, num_steps: int) -> Logs:
        """Runs steps `first_step` to `first_step + num_steps`; returns the logs of the last one."""
        return self._guarded(
            functools.partial(self._run, rows, first_step, num_steps),
            lambda: int(self._position) // rows.data.batch_size - first_step,
        )

    def _run(self, rows: Pass, first_step: int, num_steps: int) -> Logs:
        data = rows.data
        size = data.batch_size
        if self.plan.kind == GRAPH_LOOP:
            return self._call(GRAPH_LOOP, rows, size, first_step * size, num_steps)[1]
        # XLA runs the full batches that the guards accept.
        full = max(0, min(num_steps, data.num_rows // size - first_step))
        done = 0
        logs: Logs = {}
        while done < full:
            start = (first_step + done) * size
            accepted = self._num_accepted(rows, first_step + done, full - done)
            if accepted:
                ran, logs = self._call(self.plan.kind, rows, size, start, accepted)
                done += int(ran)
            if done < full:
                # TensorFlow's kernels run the next step, and raise an error if they refuse its values.
                start = (first_step + done) * size
                logs = self._call(GRAPH_LOOP, rows, size, start, 1)[1]
                done += 1
        if done < num_steps:
            start = (first_step + done) * size
            kind = XLA_STEP if self._strict else GRAPH_LOOP
            logs = self._call(kind, rows, data.num_rows - start, start, 1)[1]
        return logs

    def _num_accepted(self, rows: Pass, first_step: int, num_steps: int) -> int:
        """Returns how many of the steps can be given to a program that does not check values itself."""
        # All rows are checked once for an array. The reference to it is weak, as programs outlive data.
        guarded, data = self.trace.guarded, rows.data
        if self.plan.kind != XLA_LOOP or not guarded.asks_rows:
            return num_steps
        if self._accepted is None or self._accepted() is not data:
            if not guarded.accepts_rows(tf.nest.flatten(data.tensors)):
                batches = (rows.batch(first_step + index) for index in range(num_steps))
                asked = (guarded.ahead(tf.nest.flatten(batch)) for batch in batches)
                return sum(1 for _ in itertools.takewhile(bool, asked))
            self._accepted = weakref.ref(data)
        return num_steps

    def _call(
        self, kind: str, rows: Pass, size: int, start: int, num_steps: int
    ) -> tuple[Any, Logs]:
        """Runs `num_steps` batches of `size` rows, beginning with row `start`; returns how many it ran."""
        arrays, places = rows.data.distinct
        known_size = None if kind == GRAPH_LOOP else size
        is_shuffled, compiles_updates = rows.order is not None, self.plan.compiles_updates
        form = _Form(kind, known_size, is_shuffled, places, compiles_updates)
        if form not in self._loops:
            number = tf.TensorSpec([], "int64")
            order = tf.TensorSpec([None], "int64")
            # An array has the spec of the first tensor of a batch that is read from it.
            array_specs = [self.trace.specs[places.index(i)] for i in range(len(arrays))]
            specs = [array_specs, order, number, number, number]
            self._loops[form] = self._traced_for(form, specs)
        # A program has the same arguments with an order and without one.
        order = rows.order if rows.order is not None else tf.zeros([0], "int64")
        numbers = [tf.constant(number, "int64") for number in (size, start, num_steps)]
        return self._loops[form](arrays, order, *numbers)

    def _traced_for(self, form: _Form, specs: Any) -> Any:
        """Returns a program; if static row counts show incompatible shapes, XLA refuses it."""
        steps = functools.partial(self._steps, form)
        try:
            return self._traced(steps, specs, jit_compile=form.kind == XLA_LOOP)
        except ValueError as error:
            if form.kind == GRAPH_LOOP:
                raise
            raise as_refusal(error) from None

    def _steps(
        self,
        form: _Form,
        arrays: list[tf.Tensor],
        order: tf.Tensor,
        size: tf.Tensor,
        start: tf.Tensor,
        num_steps: tf.Tensor,
    ) -> tuple[tf.Tensor, Logs]:
        """Returns the results of the loop over steps, in the trace of a program."""
        step, guarded = self._step_of(form.kind), self.trace.guarded
        in_xla = form.kind == XLA_LOOP
        take = _Rows(arrays, form.places, order if form.shuffled else None, size, form.size)

        # The first row is passed from step to step. If it were computed from `start`, XLA would treat it as a
        # constant (the start of a slice), and compile again for each value of `start`.
        def body(index: tf.Tensor, first: tf.Tensor, accepted: tf.Tensor, logs: Any) -> Any:
            batch = take.from_row(first)
            with contextlib.nullcontext() if in_xla else self._at(first):
                accepted, logs = step(*batch)
            return index + tf.cast(accepted, "int64"), first + size, accepted, logs

        def goes_on(
            index: tf.Tensor, first: tf.Tensor, accepted: tf.Tensor, logs: Any
        ) -> tf.Tensor:
            # After a step that is not accepted, the loop ends: it has changed nothing, and TensorFlow's
            # kernels run it next.
            going = accepted & (index < num_steps)
            if in_xla and guarded.asks_ahead and not guarded.asks_rows:
                going &= guarded.ahead(take.from_row(first))
            return going

        zero = tf.constant(0, "int64")
        state = (zero, start, tf.constant(True), self.trace.no_outputs())
        done, _, _, logs = self._loop(goes_on, body, state)
        return done, self._with_finish(logs)


class EagerArrayProgram(EagerProgram):
    """Runs steps over the rows of arrays eagerly."""

    def run(self, rows: Pass, first_step: int, num_steps: int) -> Logs:
        """Runs steps `first_step` to `first_step + num_steps`; returns the logs of the last one."""
        steps = range(first_step, first_step + num_steps)
        return self.run_batches(map(rows.batch, steps))[1]


class _Form(NamedTuple):
    """The form of the data and the kind of program that a loop is traced for.

    Attributes:
        kind: the kind of program.
        size: rows of every batch, `None` for any number of rows.
        shuffled: whether rows are read in a new order.
        places: for each tensor of a batch, the index of its array.
        compiles_updates: as in `Plan`.
    """

    kind: str
    size: int | None
    shuffled: bool
    places: tuple[int, ...]
    compiles_updates: bool


class _Rows(NamedTuple):
    """Batches of rows, in the trace of a program.

    Attributes:
        arrays: the arrays.
        places: for each tensor of a batch, the index of its array.
        order: the indices of the rows in the order of reading, `None` for the order of the arrays.
        size: rows of a batch.
        known_size: the same as an integer, if it is known.
    """

    arrays: list[tf.Tensor]
    places: tuple[int, ...]
    order: tf.Tensor | None
    size: tf.Tensor
    known_size: int | None

    def from_row(self, first: tf.Tensor) -> list[tf.Tensor]:
        """Returns a batch that starts at row `first`; the last one is smaller if its size is not static."""
        taken = self._taken(first)
        return [taken[place] for place in self.places]

    def _taken(self, first: tf.Tensor) -> list[tf.Tensor]:
        """Returns the rows of each array."""
        arrays, _, order, size, known_size = self
        # With a size that is known, the result has a static shape, which XLA needs.
        if known_size is None:
            last = tf.minimum(first + size, tf.shape(arrays[0], out_type="int64")[0])
            return [take_rows(array, order, first, last) for array in arrays]
        if order is not None:
            picked = tf.slice(order, [first], [known_size])
            return [tf.gather(array, picked) for array in arrays]
        return [
            tf.slice(
                array,
                tf.concat([[first], tf.zeros([array.shape.rank - 1], "int64")], 0),
                [known_size, *array.shape[1:]],
            )
            for array in arrays
        ]
