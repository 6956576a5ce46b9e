"""The loops over epochs and programs: what happens between one compiled call and the next."""

from __future__ import annotations

import functools
import os
import time
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.brief import brief
from tfkit.src.errors import kernel_errors
from tfkit.src.errors.frames import warn
from tfkit.src.training.callbacks.backup_and_restore import BackupAndRestore
from tfkit.src.training.callbacks.callback_list import CallbackList, make_callback_list
from tfkit.src.training.callbacks.history import History
from tfkit.src.training.data import ArrayData, DatasetData, split_validation
from tfkit.src.training.feeds import make_feed
from tfkit.src.training.pace import Pace
from tfkit.src.training.progress import print_message
from tfkit.src.training.sources import is_arrays, is_batches, make_data

Data = ArrayData | DatasetData
Logs = dict[str, Any]


class Steps:
    """The steps of an epoch or of an evaluation, a program at a time, with the callbacks in between.

    Args:
        model: the model.
        mode: `"train"` or `"test"`.
        data: what to pass over.
        num_steps: steps of one run; all batches unless given.

    Attributes:
        num_steps: steps of one run, `None` where that is not known yet.
        epoch: index of the epoch that is under way, in a training.
        done: steps of the present run.
        logs: their results.
    """

    def __init__(self, model: Any, mode: str, data: Data, num_steps: int | None) -> None:
        self.model = model
        self.mode = mode
        self.num_steps = num_steps if num_steps is not None else data.num_batches
        self.feed = make_feed(data, goes_on=mode == "train" and num_steps is not None)
        self.epoch: int | None = None
        self.done = 0
        self.logs: Logs = {}
        self._pace = Pace(model.steps_per_execution)
        self._stopped_by = "stop_training" if mode == "train" else "stop_evaluating"

    def run(self, callbacks: CallbackList) -> Logs:
        """Runs all steps that are left, or until a callback says to stop; the results."""
        if not self.done:
            self.feed.begin()
        while (self.num_steps is None or self.done < self.num_steps) and self.feed.left != 0:
            if not self._run_program(callbacks) or getattr(self.model, self._stopped_by):
                break
        self.logs = to_floats(self.logs)
        self.feed.end()
        return self.logs

    def _run_program(self, callbacks: CallbackList) -> bool:
        """Runs a program and calls the callbacks; returns whether there were batches for all its steps."""
        training, first = self.mode == "train", self.done
        dense = callbacks.needs_train_batches if training else callbacks.needs_test_batches
        size = self.model.steps_per_execution or 1
        limit = size if dense else callbacks.chunk_limit(first) if training else None
        left = None if self.num_steps is None else self.num_steps - first
        if dense:
            getattr(callbacks, f"on_{self.mode}_batch_begin")(first)
        started = time.perf_counter()
        try:
            wanted = self._pace.steps(left, limit)
            steps, logs = self.feed.run(self.model, self.mode, wanted)
        except tf.errors.OpError as error:
            raise self._located(error) from None
        if steps == 0:
            return False
        self._pace.learn(steps, time.perf_counter() - started)
        self.done, self.logs = first + steps, logs
        if dense:
            if size > 1:
                callbacks.note_steps(self.done - 1, steps)
            # As in Keras, the last program of an epoch is counted as if it were full.
            getattr(callbacks, f"on_{self.mode}_batch_end")(first + size - 1, to_floats(logs))
        else:
            callbacks.on_steps_end(self.done - 1, steps, functools.partial(to_floats, logs))
        return steps == wanted

    def _located(self, error: tf.errors.OpError) -> tf.errors.OpError:
        """The error with the place in the epoch that the program's step has."""
        step = kernel_errors.step_of(error)
        return kernel_errors.located(
            error,
            method="fit" if self.mode == "train" else "evaluate",
            epoch=None if self.epoch is None else self.epoch + 1,
            step=None if step is None else self.done + step + 1,
        )

    def reset(self) -> None:
        """The next run begins with its first step."""
        self.done, self.logs = 0, {}

    def get_state(self) -> dict[str, Any]:
        """How far the run has come, as data."""
        return {
            "done": self.done,
            "num_steps": self.num_steps,
            "logs": to_floats(self.logs),
            "feed": self.feed.get_state(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to where another run stood."""
        self.done, self.num_steps, self.logs = state["done"], state["num_steps"], state["logs"]
        self.feed.set_state(state["feed"])


class Fit:
    """One `fit`: its data, its callbacks, and how far it has come.

    Args:
        model: the model.
        steps: the steps of an epoch.
        validation: the steps of a validation, if there is one.
        validation_freq: after which epochs it runs.
        callbacks: what is told.
        initial_epoch: the epoch to start with.
        epochs: the number of the last epoch.

    Attributes:
        epoch: index of the epoch that is under way, or comes next.
    """

    def __init__(
        self,
        model: Any,
        steps: Steps,
        validation: Steps | None,
        validation_freq: Any,
        callbacks: CallbackList,
        initial_epoch: int,
        epochs: int,
    ) -> None:
        self.model = model
        self.callbacks = callbacks
        self.epoch = initial_epoch
        self._steps = steps
        self._validation = validation
        self._validation_freq = validation_freq
        self._epochs = epochs
        self._trains = epochs > initial_epoch
        self._is_over = False
        self._logs: Logs = {}
        for callback in callbacks.callbacks:
            if isinstance(callback, BackupAndRestore):
                callback.follow(self)

    def run(self) -> History:
        """Trains."""
        model, callbacks = self.model, self.callbacks
        model.stop_training = False
        callbacks.on_train_begin()
        while self.epoch < self._epochs and not self._is_over:
            model.reset_metrics()
            callbacks.on_epoch_begin(self.epoch)
            self._steps.epoch = self.epoch
            logs = self._steps.run(callbacks)
            ran_out = self._check_ran_out()
            if self._validation is not None and _due(self.epoch + 1, self._validation_freq):
                model.reset_metrics()
                measured = run_test(self._validation, callbacks)
                logs = {**logs, **{f"val_{name}": value for name, value in measured.items()}}
            # A state that is saved from here on begins with the next epoch.
            finished, self.epoch = self.epoch, self.epoch + 1
            self._steps.reset()
            self._logs, self._is_over = logs, ran_out
            callbacks.on_epoch_end(finished, logs)
            self._is_over = ran_out or model.stop_training
        if model.optimizer is not None and self._trains:
            model.optimizer.finalize_variable_values(model.trainable_weights)
        callbacks.on_train_end(self._logs)
        return model.history

    def how_far(self) -> str:
        """What the user is told after Ctrl-C."""
        return (
            f"Training was interrupted in epoch {self.epoch + 1} of {self._epochs}, after step "
            f"{self._steps.done}. The model keeps the weights that it has."
        )

    def _check_ran_out(self) -> bool:
        """Whether there is nothing to go on with; warns where an epoch had too few batches."""
        steps = self._steps
        if steps.num_steps is None:
            steps.num_steps = steps.done
        ran_out = steps.done < steps.num_steps and not self.model.stop_training
        if ran_out or steps.num_steps == 0:
            warn(
                f"Your input ran out of data. Expected {steps.num_steps} steps in an epoch, and there were "
                f"batches for {steps.done}. Use `.repeat()` on a dataset, or pass fewer `steps_per_epoch`."
            )
        return ran_out and steps.feed.is_spent

    # --- What a saved training keeps of it ------------------------------------------------------

    @property
    def is_inside_epoch(self) -> bool:
        """Whether steps of the present epoch are done."""
        return self._steps.done > 0

    def build(self) -> None:
        """Makes all variables that training needs, as its first step would."""
        self._steps.feed.build(self.model, "train")

    def description(self) -> dict[str, Any]:
        """Returns what a saved state can be continued with: the optimizer, and the data."""
        optimizer = self.model.optimizer
        return {
            "optimizer": None if optimizer is None else type(optimizer).__name__,
            "data": self._steps.feed.description(),
        }

    def get_state(self) -> dict[str, Any]:
        """How far the training has come, as data."""
        validation = self._validation
        return {
            "epoch": self.epoch,
            "is_over": self._is_over or self.model.stop_training,
            "logs": self._logs,
            "steps": self._steps.get_state(),
            "validation": None if validation is None else validation.get_state(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to where another training stood."""
        self.epoch, self._logs = state["epoch"], state["logs"]
        self._is_over = self.model.stop_training = state["is_over"]
        self._steps.set_state(state["steps"])
        if self._validation is not None and state["validation"] is not None:
            self._validation.set_state(state["validation"])


# --- fit and evaluate ---------------------------------------------------------------------------------


def fit(
    model: Any,
    x: Any,
    y: Any,
    batch_size: int | None,
    epochs: int,
    verbose: int,
    callbacks: Any,
    validation_split: float,
    validation_data: Any,
    shuffle: bool | str,
    class_weight: Any,
    sample_weight: Any,
    initial_epoch: int,
    steps_per_epoch: int | None,
    validation_steps: int | None,
    validation_batch_size: int | None,
    validation_freq: Any,
    resume: str | os.PathLike[str] | None,
) -> History:
    """What `Model.fit` does; the arguments are its."""
    _check_steps(steps_per_epoch=steps_per_epoch, validation_steps=validation_steps)
    if validation_split and validation_data is None:
        (x, y, sample_weight), validation_data = split_validation(
            (x, y, sample_weight), validation_split
        )
    data = make_data(x, y, sample_weight, batch_size, shuffle, class_weight)
    steps = Steps(model, "train", data, steps_per_epoch)
    validation = None
    if validation_data is not None:
        if y is not None and model._needs_targets:
            _check_has_targets(validation_data)
        data = _validation_data(validation_data, validation_batch_size or batch_size)
        validation = Steps(model, "test", data, validation_steps)
        # Batches that were read ahead of a generator would be lost with the iterator.
        validation.feed.goes_on = validation_steps is not None and getattr(
            data, "is_one_shot", False
        )
    if resume is not None:
        callbacks = _with_backup(callbacks, resume)
    callbacks = make_callback_list(model, callbacks, verbose, epochs=epochs, steps=steps.num_steps)
    training = Fit(model, steps, validation, validation_freq, callbacks, initial_epoch, epochs)
    try:
        return training.run()
    except KeyboardInterrupt as error:
        if verbose:
            print_message("")  # Ends the line of the bar.
        error.add_note(training.how_far())
        raise


def evaluate(
    model: Any, data: Any, verbose: int, num_steps: int | None, callbacks: Any
) -> dict[str, Any]:
    """What `Model.evaluate` does, with a dict of logs as its result."""
    steps = Steps(model, "test", data, num_steps)
    callbacks = make_callback_list(
        model, callbacks, verbose, add_history=False, epochs=1, steps=steps.num_steps
    )
    model.reset_metrics()
    return run_test(steps, callbacks)


def run_test(steps: Steps, callbacks: CallbackList) -> Logs:
    """An evaluation, by itself or in a `fit`."""
    steps.model.stop_evaluating = False
    callbacks.on_test_begin()
    steps.reset()
    logs = steps.run(callbacks)
    callbacks.on_test_end(logs)
    return logs


def _check_steps(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and int(value) < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {value}")


def _validation_data(given: Any, batch_size: int | None) -> Data:
    parts = given if isinstance(given, (tuple, list)) else (given,)
    x, y, sample_weight = (*parts, None, None)[:3]
    if not parts or not (is_batches(x) or is_arrays(x)):
        raise ValueError(
            "Unknown `validation_data`. Expected `(x, y)`, `(x, y, sample_weight)` or a dataset of "
            f"batches. Received: {given!r}"
        )
    return make_data(x, y, sample_weight, None if is_batches(x) else batch_size)


def _check_has_targets(given: Any) -> None:
    """Refuses data to validate with that have no targets, before the first epoch and not after it."""
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if len(parts) == 1 and not is_batches(parts[0]):
        raise ValueError(
            "`validation_data` has no targets, which the loss of `compile()` needs. Pass "
            f"`validation_data=(x, y)`. Received: validation_data={brief(given)}"
        )


def _with_backup(callbacks: Any, path: str | os.PathLike[str]) -> list[Any]:
    listed = CallbackList(callbacks).callbacks
    if any(isinstance(callback, BackupAndRestore) for callback in listed):
        raise ValueError(
            "`resume` is the short form of a `BackupAndRestore`, and there is one among the callbacks. "
            f"Pass one of the two. Received: resume={path!r}"
        )
    return [*listed, BackupAndRestore(path, delete_checkpoint=False)]


def _due(number: int, frequency: Any) -> bool:
    if isinstance(frequency, int):
        return number % frequency == 0
    return number in frequency


# --- Results ------------------------------------------------------------------------------------------


def to_floats(logs: Logs) -> Logs:
    """Logs as Python numbers by sorted name, as in Keras, dicts among them opened; arrays stay arrays."""
    floats: Logs = {}
    for name, value in sorted(logs.items()):
        if isinstance(value, dict):
            floats.update(to_floats(value))
            continue
        # NumPy by itself does not make an array of a bfloat16 tensor.
        array = value.numpy() if isinstance(value, tf.Tensor) else np.asarray(value)
        floats[name] = float(array) if array.ndim == 0 else array
    return floats
