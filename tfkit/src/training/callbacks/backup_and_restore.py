"""`BackupAndRestore`: an interrupted training continues as if it had not been interrupted."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.files.saving.atomic import is_discarding, keep_as
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.training import checkpoint
from tfkit.src.training.callbacks.callback import Logs
from tfkit.src.training.callbacks.sparse_callback import SparseCallback, save_frequency

_FILE = "training.h5"


class BackupAndRestore(SparseCallback):
    """Saves the complete state of a `fit`, and continues from a saved state if there is one.

    After an interruption, run the program again: it ends with the same weights, results and files,
    bit for bit on a CPU, as if it had not been interrupted. SIGTERM, which machines send before they
    kill a process, saves and ends it with status 143. The state has all variables, the seeds,
    the position in the data, the results so far, and the callbacks' states. Your own callbacks
    take part with `get_state()` and `set_state(state)`.

    Data must be arrays, or a `tf.data.Dataset` or loader that yields the same batches each time it
    is made. Batches of the epoch that was interrupted are read again and left out.

    Args:
        backup_dir: folder for the state, made if it is missing; or the state's file, if the name
            ends in `.h5`.
        save_freq: `"epoch"`, or a number of batches. Default: `"epoch"`.
        double_checkpoint: whether the state before the last is kept, too, in case the last one
            is damaged. Default: `False`.
        delete_checkpoint: whether the state is removed when the training is complete. Default:
            `True`.

    Raises:
        ValueError: if `save_freq` has a different value; in training, if the state belongs to a different
            model, optimizer, data or set of callbacks. Then nothing is changed.

    Example:
        ```python
        model.fit(x, y, epochs=100, callbacks=[BackupAndRestore("backup")])
        ```
    """

    @with_checked_values
    def __init__(
        self,
        backup_dir: str | os.PathLike[str],
        save_freq: str | int = "epoch",
        double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        if backup_dir is None or not os.fspath(backup_dir):
            raise ValueError(
                f"`backup_dir` must be the path of a folder. Received: backup_dir={backup_dir!r}"
            )
        self.backup_dir = backup_dir
        self.save_freq = save_frequency(save_freq)
        self.double_checkpoint = double_checkpoint
        self.delete_checkpoint = delete_checkpoint
        path = Path(backup_dir)
        self._path = path if path.suffix == ".h5" else path / _FILE
        self._previous = self._path.with_suffix(".previous.h5")
        self._training: checkpoint.Training | None = None
        self._saved: checkpoint.SavedTraining | None = None
        self._steps_since_save = 0

    def follow(self, training: checkpoint.Training) -> None:
        """Receives the training whose state it saves; `fit` calls it."""
        self._training = training

    # --- Continuing -----------------------------------------------------------------------------

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Reads the saved state, and continues from there unless that is inside an epoch."""
        self._steps_since_save = 0
        self._saved = self._read()
        # A state from inside an epoch must wait until `on_epoch_begin`: other callbacks reset
        # their counts there, and would reset what was restored.
        if self._saved is not None and not self._saved.is_inside_epoch:
            self._restore()
        elif self._saved is not None:
            self._enter(self._saved)

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Continues inside the epoch, after the other callbacks have run their hooks for its beginning."""
        if self._saved is not None:
            self._restore()

    def _enter(self, saved: checkpoint.SavedTraining) -> None:
        epochs = (self.params or {})["epochs"]
        if saved.epoch >= epochs:
            raise ValueError(
                f"The training that was saved in {self._path} is in its epoch {saved.epoch + 1}: it cannot "
                f"continue from there to `epochs={epochs}`. Pass more epochs, or remove the file."
            )
        assert self._training is not None
        # `fit` begins with this epoch; weights and everything else follow in `on_epoch_begin`.
        self._training.epoch = saved.epoch

    def _restore(self) -> None:
        assert self._saved is not None
        self._saved.restore()
        self._saved = None

    def _read(self) -> checkpoint.SavedTraining | None:
        if self._training is None:
            raise RuntimeError("BackupAndRestore works in `model.fit()` only.")
        first_error = None
        # The latest first; the state before it is used only if the latest is damaged.
        for path in (self._path, self._previous):
            if path.exists():
                try:
                    saved = checkpoint.SavedTraining(path, self._training)
                except LoadError as error:
                    first_error = first_error or error
                    continue
                if first_error is not None:
                    warn(
                        f"Training continues from {path}, the state before the last. {first_error}"
                    )
                return saved
        if first_error is not None:
            raise first_error
        return None

    # --- Saving ---------------------------------------------------------------------------------

    def chunk_limit(self, next_batch_index: int) -> int | None:
        """Returns the number of steps up to the next save."""
        if isinstance(self.save_freq, int):
            # At least 1: a save that was skipped, since a callback ends the epoch, leaves the
            # count at its limit.
            return max(1, self.save_freq - self._steps_since_save)
        return None

    def wants_logs(self, num_steps: int) -> bool:
        """Returns `False`: the saved state contains the logs."""
        return False

    def on_train_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Saves if enough batches have passed, unless a callback ends the epoch here."""
        self._steps_since_save += num_steps
        due = isinstance(self.save_freq, int) and self._steps_since_save >= self.save_freq
        # A stop ends the epoch here: from a state inside this epoch, a resumed training would run
        # past the stop.
        if due and not self.model.stop_training:
            self.save()

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Saves."""
        if self.save_freq == "epoch":
            self.save()

    def save(self) -> None:
        """Saves the present state; `fit` calls it between two programs of steps, after SIGTERM."""
        assert self._training is not None
        self._steps_since_save = 0
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self.double_checkpoint and self._path.exists():
            # Before the new state is written: there is a complete file at any time.
            keep_as(self._path, self._previous)
        checkpoint.save(self._path, self._training)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Removes the saved state, if requested, and its folder, unless it contains other files."""
        if self.delete_checkpoint and not is_discarding():
            for path in (self._path, self._previous):
                path.unlink(missing_ok=True)
            folder = self._path.parent
            # A folder is removed only if this callback chose the name of the file in it, and so
            # may have made the folder.
            if self._path.name == _FILE:
                with contextlib.suppress(OSError):  # The folder contains other files.
                    folder.rmdir()
