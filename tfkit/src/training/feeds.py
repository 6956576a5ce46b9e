"""Feeds: the position of a run of steps in its data, and the programs that continue from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tfkit.src.borrowed import datasets
from tfkit.src.training import random_states
from tfkit.src.training.array_program import ArrayProgram
from tfkit.src.training.batches import Batches
from tfkit.src.training.data import ArrayData, DatasetData, Pass
from tfkit.src.training.iterator_program import IteratorProgram
from tfkit.src.training.running_steps import runs_eagerly
from tfkit.src.training.tensor_slices import SlicesData, is_shuffled

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


class ArrayFeed:
    """Rows of arrays, each pass in a new order if they are shuffled.

    Args:
        data: the arrays.
        goes_on: whether an epoch continues where the one before ended, until the rows are used up.

    Attributes:
        is_spent: whether no further pass is possible once the data is used up.
    """

    is_spent = False

    def __init__(self, data: ArrayData, goes_on: bool = False) -> None:
        self.data = data
        self.goes_on = goes_on
        self.agreed: Callable[[Any], Any] | None = None  # For an order that processes share.
        self._program: Any = None
        self._rows = Pass(data)
        self._seeds: list[int] = []  # The seeds of the order of the rows.
        self._taken = 0
        self._is_open = False

    def prepare(self, model: Trainer, mode: str) -> None:
        """Finds the program of a mode, which traces the step if necessary."""
        self._program = model._tfkit_programs.find(
            model, mode, ArrayProgram, self.data, self._program
        )

    @property
    def left(self) -> int:
        """The number of batches that the pass has left."""
        # Written out, as each program asks for it.
        return -(-self.data.num_rows // self.data.batch_size) - self._taken

    def reset(self) -> None:
        """Does nothing: see `DatasetFeed.reset`."""

    def begin(self, steps_run: int) -> None:
        """Starts an epoch.

        Args:
            steps_run: number of steps that the model has run: the order differs from pass to pass.
        """
        if not self._is_open:
            self._open(random_states.words(steps_run) if self.data.shuffle else [])

    def _open(self, seeds: list[int]) -> None:
        self._taken = 0
        self._is_open = True
        self._seeds = seeds
        order = self.data.order(seeds)
        if order is not None and self.agreed is not None:
            order = self.agreed(order)
        self._rows = Pass(self.data, order)

    def run(
        self, model: Trainer, mode: str, num_steps: int, out_of: int
    ) -> tuple[int, dict[str, Any]]:
        """Runs a program of at most `num_steps` steps; returns how many it ran, and its logs.

        Args:
            model: the model.
            mode: `"train"` or `"test"`.
            num_steps: number of steps.
            out_of: number of steps of the model up to the end of the epoch, as far as it is known.
        """
        first, num_steps = self._taken, min(num_steps, self.left)
        self._taken += num_steps
        programs, before = model._tfkit_programs, self._program
        self._program = programs.find(model, mode, ArrayProgram, self.data, before)
        expected = out_of, min(self.data.batch_size, self.data.num_rows)
        # Rarely, because choosing a plan takes time. Not just once for a feed, because another feed may
        # have run the same program meanwhile, in an `evaluate` of a callback.
        if self._program is not before or self._program.expected != expected:
            self._program.expect(*expected)
        return num_steps, self._program.run(self._rows, first, num_steps)

    def end(self) -> None:
        """Ends an epoch."""
        # With `steps_per_epoch` an epoch may end inside a pass, and the next one continues there.
        self._is_open = self.goes_on and self.left != 0

    def build(self, model: Trainer, mode: str) -> None:
        """Makes all variables that a step needs, as the first step would."""
        _build(model, mode, self.data, lambda: Pass(self.data).batch(0))

    def description(self) -> dict[str, Any]:
        """Returns a description of the data that a saved state can be continued with."""
        data = self.data
        return {"rows": data.num_rows, "batch_size": data.batch_size, "shuffle": data.shuffle}

    def get_state(self) -> dict[str, Any]:
        """Returns the position of the feed, as data."""
        return {"is_open": self._is_open, "taken": self._taken, "seeds": self._seeds}

    def set_state(self, state: dict[str, Any]) -> None:
        """Moves to the saved position of a feed, with the same order of rows.

        Args:
            state: the result of `get_state()`.
        """
        if state["is_open"]:
            self._open(state["seeds"])
            self._taken = state["taken"]


class SlicesFeed(ArrayFeed):
    """Rows of tensors in the order of a dataset.

    Args:
        data: the tensors.
    """

    data: SlicesData
    _passes = 0

    def _open(self, seeds: list[int]) -> None:
        super()._open(seeds)
        self._passes += 1

    def end(self) -> None:
        """Ends an epoch; skips an order in the cases in which `DatasetFeed` does."""
        super().end()
        if not self.left and self.goes_on:
            self._open([])
        elif not self.left:
            self.data.skip_passes(1)
            self._passes += 1

    def get_state(self) -> dict[str, Any]:
        """Returns the position of the feed, as data."""
        return {"is_open": self._is_open, "taken": self._taken, "passes": self._passes}

    def set_state(self, state: dict[str, Any]) -> None:
        """Moves to the saved position of a feed.

        Args:
            state: the result of `get_state()`.
        """
        self._passes = state["passes"] - state["is_open"]
        self.data.skip_passes(self._passes)
        if state["is_open"]:
            self._open([])
            self._taken = state["taken"]


class DatasetFeed:
    """Batches of a dataset.

    Args:
        data: the dataset.
        goes_on: whether an epoch continues where the one before ended, until the batches are used up.
    """

    def __init__(self, data: DatasetData, goes_on: bool = False) -> None:
        self.data = data
        self.goes_on = goes_on
        self._iterator: Batches | None = None
        self._passes = 0  # The number of iterators so far,
        self._taken = 0  # and the number of batches taken from the open one.
        # Keras begins a new pass at the end of one, and drops it. If epochs are passes, the next epoch does
        # not use it either, so that an order is skipped.
        self._skips_order = data.num_batches is not None and is_shuffled(data.dataset)
        self._to_skip = 0
        self._ran_out = False
        self._program: Any = None
        # XLA compiles for the size of the first batch; a program for a different size would round
        # differently.
        self._size = -1

    def prepare(self, model: Trainer, mode: str) -> None:
        """Finds the program of a mode, as `ArrayFeed.prepare`."""
        find = model._tfkit_programs.find
        self._program = find(model, mode, IteratorProgram, self.data, self._program)

    @property
    def left(self) -> int | None:
        """The number of batches that the pass has left, if it is known."""
        num_batches = self.data.num_batches
        return None if num_batches is None else num_batches - self._taken

    @property
    def is_spent(self) -> bool:
        """Whether the data is used up and allows no other pass."""
        return self.goes_on and self.data.is_one_shot

    def reset(self) -> None:
        """Prepares the data for the first epoch, as Keras does: a `PyDataset` may shuffle itself then."""
        self.data.end()

    def begin(self, steps_run: int) -> None:
        """Starts an epoch; arguments as `ArrayFeed.begin`."""
        self.data.begin()
        if self._iterator is None:
            self._open()

    def _open(self) -> None:
        self._iterator = Batches(self.data.dataset, self._to_skip)
        self._to_skip = 0
        self._passes += 1
        self._ran_out = False
        # The position in data that can be read only once continues from epoch to epoch.
        if not self.data.is_one_shot:
            self._taken = 0

    def run(
        self, model: Trainer, mode: str, num_steps: int, out_of: int
    ) -> tuple[int, dict[str, Any]]:
        """Runs a program of at most `num_steps` steps; arguments and results as `ArrayFeed.run`."""
        with self.data.errors_of_user():
            before = self._program
            self.prepare(model, mode)
            program = self._program
            expected = out_of, self.data.known_size
            if program is not before or program.expected != expected:  # As in `ArrayFeed.run`.
                program.expect(*expected)
            program.size = self._size  # The batches of another feed may have had other sizes.
            batches = self._iterator
            assert batches is not None
            left_out = batches.left_out
            done, logs = program.run(batches, num_steps)
            self._size = program.size
        self._taken += done + batches.left_out - left_out
        self._ran_out = done < num_steps or self.left == 0
        return done, logs

    def end(self) -> None:
        """Ends an epoch; releases the iterator in another thread, unless the next epoch continues with it.

        Releasing it waits for the thread that tunes the pipeline, which sleeps up to half as long as the pass
        took: 0.43 s after a pass of 0.84 s.
        """
        self.data.end()
        if (self.goes_on and not self._ran_out) or self._iterator is None:
            return
        batches, self._iterator = self._iterator, None
        batches.release()
        if self._skips_order and self.left == 0:
            if self.goes_on:
                self._open()
            else:
                iter(self.data.dataset)
                self._passes += 1

    def build(self, model: Trainer, mode: str) -> None:
        """Makes all variables that a step needs, as the first step would."""
        spec = self.data.structure
        _build(model, mode, self.data, lambda: tf.nest.map_structure(_zeros, spec))

    def description(self) -> dict[str, Any]:
        """Returns a description of the data that a saved state can be continued with."""
        return {"batches": int(self.data.dataset.cardinality())}

    def get_state(self) -> dict[str, Any]:
        """Returns the position of the feed, as data."""
        return {
            "passes": self._passes,
            "is_open": self._iterator is not None,
            "taken": self._taken,
            "ran_out": self._ran_out,
            "drawn_from": self.data.drawn_from,
            "size": self._size,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Moves to the saved position of a feed: batches that it has read are read again or skipped.

        Args:
            state: the result of `get_state()`.
        """
        is_open, is_one_shot = state["is_open"], self.data.is_one_shot
        self._passes = state["passes"] - is_open
        self._size = state["size"]
        if not is_one_shot:
            replay(self.data.dataset, self._passes, self._skips_order and not self.goes_on)
            if is_open:
                self.data.begin()
            # A pass that was read to its end is not read again, so its draws are not repeated.
            is_read_again = is_open and not state.get("ran_out", False)
            self.data.restart(state["drawn_from"] if is_read_again else None)
        if is_open or is_one_shot:
            self._to_skip = state["taken"]
        if is_open:
            self._open()
        self._taken = state["taken"]
        # Inside an epoch, a pass may have been read to its end and still be open.
        self._ran_out = state.get("ran_out", self.left == 0)


def make_feed(data: ArrayData | DatasetData, goes_on: bool = False) -> ArrayFeed | DatasetFeed:
    """Returns the feed for data of either form."""
    if isinstance(data, SlicesData):
        return SlicesFeed(data, goes_on)
    return ArrayFeed(data, goes_on) if isinstance(data, ArrayData) else DatasetFeed(data, goes_on)


def replay(dataset: tf.data.Dataset, num_passes: int, skips: bool) -> None:
    """Brings a dataset to its state after `num_passes` passes.

    Args:
        dataset: the dataset.
        num_passes: number of iterators that were made.
        skips: whether every second one was not read.

    A shuffle has a new order for each iterator. A cache or a repetition of shuffled data makes iterators
    itself while it is read, so it must be read.
    """
    keeps_order = _keeps_order(dataset)
    for number in range(num_passes):
        # A cached order exists only after a pass that was read; otherwise making an iterator draws
        # one.
        if keeps_order and not (skips and number % 2):
            dataset.reduce(np.int64(0), lambda count, _: count)
        else:
            iter(dataset)


def _keeps_order(dataset: Any) -> bool:
    """Whether a dataset contains a shuffle whose order is cached or skipped."""
    inner = datasets.inputs_of(dataset)
    if any(kind in datasets.kind_of(dataset) for kind in ("Cache", "Repeat", "Concatenate")):
        return any(map(is_shuffled, inner))
    return any(map(_keeps_order, inner))


def _build(model: Trainer, mode: str, data: Any, batch: Callable[[], Any]) -> None:
    step = model._tfkit_own_step_for(mode)
    if runs_eagerly(model):
        step.run(batch())
    else:
        model._tfkit_programs.trace(mode, data.structure, step, data.known_size)
        if model._tfkit_settings.engine == "jax":  # Its program traces the metrics.
            kind = ArrayProgram if isinstance(data, ArrayData) else IteratorProgram
            model._tfkit_programs.find(model, mode, kind, data)


def _zeros(spec: Any) -> tf.Tensor:
    # One row is enough to make variables, and no values are needed.
    return tf.zeros([size or 1 for size in spec.shape], spec.dtype)
