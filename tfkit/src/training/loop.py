"""The loop over programs, and everything between one compiled call and the next."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.errors import kernel_errors
from tfkit.src.base.errors.frames import warn
from tfkit.src.training.callbacks.callback_list import (
    CallbackList,
    fetched_logs,
    make_callback_list,
    plain_logs,
)
from tfkit.src.training.counts import limited_steps, warn_if_ran_out
from tfkit.src.training.data import ArrayData, DatasetData
from tfkit.src.training.feeds import ArrayFeed, make_feed
from tfkit.src.training.termination import Termination

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer

Logs = dict[str, Any]

# If the length of a run is not known, the plan may change each time the model has run so many steps.
_STRIDE = 512
LONG_EPOCH = 60.0  # seconds after which a warning says that a dataset is endless


class Steps:
    """The steps of an epoch or of an evaluation, a program at a time, with the callbacks in between.

    Args:
        model: the model.
        mode: `"train"` or `"test"`.
        data: the data to iterate over.
        num_steps: steps of one run; `None` for all batches.

    Attributes:
        num_steps: steps of one run, `None` if that is not known yet.
        epoch: index of the epoch in progress, in a training run.
        done: steps of the present run.
        logs: their results.
        termination: the request to end a training run; `None` if it is not awaited.
    """

    def __init__(
        self, model: Trainer, mode: str, data: ArrayData | DatasetData, num_steps: int | None
    ) -> None:
        self.model = model
        self.mode = mode
        self.devices = model._tfkit_devices
        if self.devices is not None:
            self.devices.check_data(data)
        num_steps = limited_steps(num_steps, data.num_batches)
        self.num_steps = num_steps if num_steps is not None else data.num_batches
        self._is_endless = self.num_steps is None and data.is_endless
        self.feed = make_feed(data, goes_on=mode == "train" and num_steps is not None)
        self.epoch: int | None = None
        self.done = 0
        self.logs: Logs = {}
        self.termination: Termination | None = None
        if self.devices is not None and isinstance(self.feed, ArrayFeed):
            self.feed.agreed = self.devices.agreed
        self._size = model.steps_per_execution
        self._pace = model._tfkit_programs.pace(
            mode, data, model._tfkit_settings.steps_per_execution
        )
        self._stopped_by = "stop_training" if mode == "train" else "stop_evaluating"

    def run(self, callbacks: CallbackList) -> Logs:
        """Runs the remaining steps, until a callback stops them; returns the results."""
        if not self.done:
            programs = self.model._tfkit_programs
            self.feed.begin(programs.trained_steps(self.model.optimizer))
        training = self.mode == "train"
        dense = callbacks.needs_train_batches if training else callbacks.needs_test_batches
        try:
            self._run_programs(callbacks, dense)
        finally:
            # After Ctrl-C as well: the model keeps what was trained.
            self.model._tfkit_programs.settle()
        # Here and not in each program: converting a tensor waits until it is computed.
        self.logs = fetched_logs(self.logs)
        self.feed.end()
        return self.logs

    def _run_programs(self, callbacks: CallbackList, dense: bool) -> None:
        """Runs programs until there are no more steps; arguments as `_run_program`."""
        training = self.mode == "train"
        began = time.monotonic()
        while (self.num_steps is None or self.done < self.num_steps) and self.feed.left != 0:
            if not self._run_program(callbacks, dense):
                break
            if self._is_endless and time.monotonic() - began > LONG_EPOCH:
                self._is_endless = False
                steps = "steps_per_epoch" if training else "steps"
                warn(
                    f"The dataset is endless, and so is this epoch, which has made {self.done} steps: only a "
                    f"callback can end it. Pass `{steps}`, or `validation_steps` for validation data."
                )
            # Several processes stop together, before their next program.
            alone = self.devices is None or self.devices.num_processes == 1
            if alone and getattr(self.model, self._stopped_by):
                break

    def _run_program(self, callbacks: CallbackList, dense: bool) -> bool:
        """Runs a program and calls the callbacks; returns whether there were batches for all its steps.

        Args:
            callbacks: the callbacks to notify.
            dense: whether that is before and after each batch, or each `steps_per_execution` batches.
        """
        first, size = self.done, self._size
        limit = size if dense else None
        if not dense and self.mode == "train":
            limit = callbacks.chunk_limit(first)
        is_observed = limit is not None
        steps_run = self.model._tfkit_programs.steps_run[self.mode]
        # The number of steps of the model up to the end of this run, as far as it is known. The use of XLA
        # depends on it, and with it the rounding. So it follows from the steps that are done and from the
        # length of a run: neither from measured time, nor from the number of epochs, which training that
        # continues from a saved state may raise.
        if self.num_steps is not None:
            horizon = steps_run - first + self.num_steps
        else:
            horizon = steps_run // _STRIDE * _STRIDE
            if not dense:
                # The length of these programs follows from measured time, up to this limit.
                most = horizon + _STRIDE - steps_run
                limit = most if limit is None else min(limit, most)
        ends = self.termination is not None and self.termination.is_asked
        wanted = self._pace.steps(None if self.num_steps is None else self.num_steps - first, limit)
        if self.devices is not None:
            # Each process measures different times, and all must run the same programs.
            stops = bool(getattr(self.model, self._stopped_by))
            wanted, stops, ends = self.devices.shared(wanted, stops, ends)
            if stops:
                setattr(self.model, self._stopped_by, True)
                return False
        if ends and self.termination is not None:
            self.model._tfkit_programs.settle()
            self.termination.end()
        if dense:
            getattr(callbacks, f"on_{self.mode}_batch_begin")(first)
        started = time.perf_counter()
        try:
            steps, logs = self.feed.run(self.model, self.mode, wanted, horizon)
        except tf.errors.OpError as error:
            raise self._located(error) from None
        if steps == 0:
            return False
        self._pace.learn(steps, time.perf_counter() - started)
        self.done, self.logs = first + steps, logs
        self.model._tfkit_programs.steps_run[self.mode] += steps
        if is_observed:  # A callback may read the variables.
            self.model._tfkit_programs.settle()
        if dense:
            if size > 1:
                callbacks.note_steps(self.done - 1, steps)
            # As in Keras, the last program of an epoch is counted as if it were full.
            getattr(callbacks, f"on_{self.mode}_batch_end")(first + size - 1, plain_logs(logs))
        else:
            callbacks.on_steps_end(self.done - 1, steps, functools.partial(plain_logs, logs))
        # Fewer steps mean that the data has ended.
        return steps == wanted

    def _located(self, error: tf.errors.OpError) -> tf.errors.OpError:
        """Returns the error with the index of the step in the epoch added to it."""
        step = kernel_errors.step_of(error)
        return kernel_errors.located(
            error,
            method="fit" if self.mode == "train" else "evaluate",
            epoch=None if self.epoch is None else self.epoch + 1,
            step=None if step is None else self.done + step + 1,
        )

    def reset(self) -> None:
        """Resets the run, so that it starts at its first step."""
        self.done, self.logs = 0, {}

    def get_state(self) -> dict[str, Any]:
        """Returns the progress of the run, as data."""
        return {
            "done": self.done,
            "num_steps": self.num_steps,
            "logs": plain_logs(self.logs),
            "feed": self.feed.get_state(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores the progress of a saved run."""
        self.done, self.num_steps, self.logs = state["done"], state["num_steps"], state["logs"]
        self.feed.set_state(state["feed"])


def evaluate(steps: Steps, verbose: int, callbacks: Any) -> dict[str, Any]:
    """Runs `Model.evaluate`, and returns a dict of logs."""
    callbacks = make_callback_list(
        steps.model, callbacks, verbose, add_history=False, epochs=1, steps=steps.num_steps
    )
    steps.model.reset_metrics()
    return run_test(steps, callbacks)


def run_test(steps: Steps, callbacks: CallbackList) -> Logs:
    """Returns the results of an evaluation, whether in a `fit` or alone."""
    steps.model._tfkit_make_function("test")
    steps.model.stop_evaluating = False
    steps.feed.reset()
    callbacks.on_test_begin()
    steps.reset()
    logs = steps.run(callbacks)
    if not steps.done:
        warn("The data has no batches: nothing was evaluated. Expected at least one batch.")
    elif not steps.model.stop_evaluating:
        warn_if_ran_out(steps.done, steps.num_steps)
    callbacks.on_test_end(logs)
    return plain_logs(logs)
