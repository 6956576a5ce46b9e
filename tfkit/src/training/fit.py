"""The loop over epochs: training and validation, and their progress."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfkit.src.base.errors.frames import warn
from tfkit.src.training import interrupts
from tfkit.src.training.callbacks.backup_and_restore import BackupAndRestore
from tfkit.src.training.callbacks.callback_list import CallbackList, plain_logs
from tfkit.src.training.callbacks.history import History
from tfkit.src.training.loop import Logs, Steps
from tfkit.src.training.termination import Termination
from tfkit.src.training.validation import Validation

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


class Fit:
    """One `fit`: its data, its callbacks, and its progress.

    Args:
        model: the model.
        steps: the steps of an epoch.
        validation: the validation, if there is one.
        callbacks: the callbacks to notify.
        epochs: the indices of the epochs.

    Attributes:
        epoch: index of the epoch in progress, or of the next one.
    """

    def __init__(
        self,
        model: Trainer,
        steps: Steps,
        validation: Validation | None,
        callbacks: CallbackList,
        epochs: range,
    ) -> None:
        self.model = model
        self.callbacks = callbacks
        self.epoch = epochs.start
        self._steps = steps
        self._validation = validation
        self._epochs = epochs
        self._is_over = False
        self._logs: Logs = {}
        self._backups = [
            callback for callback in callbacks.callbacks if isinstance(callback, BackupAndRestore)
        ]
        for callback in self._backups:
            callback.follow(self)
        # Several processes stop together, even if nothing is saved: otherwise some would wait for the others.
        if self._backups or (steps.devices is not None and steps.devices.num_processes > 1):
            steps.termination = Termination(self._save)

    def run(self) -> History:
        """Trains."""
        termination = self._steps.termination
        awaited = contextlib.nullcontext() if termination is None else termination.awaited()
        with awaited, interrupts.acknowledged():
            try:
                self.model._tfkit_programs.release()
                return self._run()
            finally:
                self.model._tfkit_programs.release()

    def _run(self) -> History:
        model, callbacks = self.model, self.callbacks
        model._tfkit_make_function("train")
        model.stop_training = False
        self._steps.feed.reset()
        # `BackupAndRestore` sets the first epoch here.
        callbacks.on_train_begin()
        while self.epoch < self._epochs.stop and not self._is_over:
            model.reset_metrics()
            callbacks.on_epoch_begin(self.epoch)
            self._steps.epoch = self.epoch
            logs = self._steps.run(callbacks)
            ran_out = self._check_ran_out()
            if self._validation is not None and self._validation.is_due(self.epoch + 1):
                model.reset_metrics()
                measured = self._validation.run(callbacks)
                logs = {**logs, **{f"val_{name}": value for name, value in measured.items()}}
            # A state saved from here on begins with the next epoch.
            finished, self.epoch = self.epoch, self.epoch + 1
            self._steps.reset()
            self._logs, self._is_over = plain_logs(logs), ran_out
            callbacks.on_epoch_end(finished, logs)
            # Again, because callbacks at the end of the epoch may stop the training.
            self._is_over = ran_out or self._is_stopped()
        if model.optimizer is not None and self._epochs:
            # Moving averages, if the optimizer has them, replace the weights at the end.
            model.optimizer.finalize_variable_values(model.trainable_weights)
        callbacks.on_train_end(self._logs)
        return model.history

    def _is_stopped(self) -> bool:
        """Whether training stops after this epoch; ends the process after SIGTERM."""
        termination, devices = self._steps.termination, self._steps.devices
        stops = bool(self.model.stop_training)
        ends = termination is not None and termination.is_asked
        if devices is not None:
            _, stops, ends = devices.shared(0, stops, ends)
            self.model.stop_training = stops
        if ends and termination is not None:
            termination.end()
        return stops

    def _save(self) -> None:
        for callback in self._backups:
            callback.save()

    def how_far(self) -> str:
        """Returns the message for the user after Ctrl-C."""
        return (
            f"Training was interrupted in epoch {self.epoch + 1} of {self._epochs.stop}, after step "
            f"{self._steps.done}. The model keeps its current weights."
        )

    def _check_ran_out(self) -> bool:
        """Whether there is no more data; warns if an epoch had too few batches."""
        steps = self._steps
        if steps.num_steps is None:
            steps.num_steps = steps.done
        ran_out = steps.done < steps.num_steps and not self.model.stop_training
        if not steps.num_steps:
            warn("The data has no batches: nothing was trained. Expected at least one batch.")
        elif ran_out:
            warn(
                f"Your input ran out of data. Expected {steps.num_steps} steps in an epoch, and there were "
                f"batches for {steps.done}. Use `.repeat()` on a dataset, or pass fewer `steps_per_epoch`."
            )
        return ran_out and steps.feed.is_spent

    # --- The saved state of a training run ------------------------------------------------------

    @property
    def is_inside_epoch(self) -> bool:
        """Whether steps of the present epoch are done."""
        return self._steps.done > 0

    def build(self) -> None:
        """Makes all variables that training needs, as its first step would."""
        self._steps.feed.build(self.model, "train")

    def description(self) -> dict[str, Any]:
        """Returns the optimizer and the data, which must be the same in a training run that continues it."""
        optimizer = self.model.optimizer
        return {
            "optimizer": None if optimizer is None else type(optimizer).__name__,
            "data": self._steps.feed.description(),
        }

    def get_state(self) -> dict[str, Any]:
        """Returns the progress of the training, as data."""
        validation = self._validation
        return {
            "epoch": self.epoch,
            "is_over": self._is_over or self.model.stop_training,
            "logs": self._logs,
            "steps": self._steps.get_state(),
            "validation": None if validation is None else validation.steps.get_state(),
            # The plan follows from them.
            "steps_run": dict(self.model._tfkit_programs.steps_run),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores the progress of a saved training."""
        self.epoch, self._logs = state["epoch"], state["logs"]
        self._is_over = self.model.stop_training = state["is_over"]
        self._steps.set_state(state["steps"])
        if self._validation is not None and state["validation"] is not None:
            self._validation.steps.set_state(state["validation"])
        steps_run = self.model._tfkit_programs.steps_run
        steps_run.clear()
        steps_run.update(state.get("steps_run", {}))  # Older states have none.
