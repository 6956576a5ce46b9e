"""`ModelCheckpoint`: saves the model while it trains."""

from __future__ import annotations

import os

import numpy as np

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.training.callbacks.callback import Logs
from tfkit.src.training.callbacks.monitor_callback import MonitorCallback
from tfkit.src.training.callbacks.sparse_callback import SparseCallback, save_frequency
from tfkit.src.training.progress import print_message

_MODEL_SUFFIXES = (".keras", ".h5", ".hdf5")
_WEIGHTS_SUFFIX = ".weights.h5"


class ModelCheckpoint(MonitorCallback, SparseCallback):
    """Saves the model, or its weights, after every epoch or after a number of batches.

    Args:
        filepath: path of the file. It may contain `{epoch}` and `{batch}`, which count from 1, and
            any result, with a format: `"{epoch:02d}-{val_loss:.2f}.keras"`. It ends in `.keras`,
            `.h5` or `.hdf5` for a model, in `.weights.h5` for weights. Missing folders are made.
        monitor: name of the result by which models are compared. Default: `"val_loss"`.
        verbose: 0 for no output, 1 for a line when the callback acts. Default: `0`.
        save_best_only: whether only a model that is better than those before is saved. Default:
            `False`.
        save_weights_only: whether only the weights are saved. Default: `False`.
        mode: `"min"` if less is better, `"max"` if more is, or `"auto"`: less for losses, and what
            a metric itself defines. Default: `"auto"`.
        save_freq: `"epoch"`, or a number of batches. Default: `"epoch"`.
        initial_value_threshold: value that the first model must beat to be saved, with
            `save_best_only`; `None` for none.

    Raises:
        ValueError: if `filepath` has a wrong extension or `save_freq` a wrong value; in training, with
            `mode="auto"`, if the result is neither a loss nor a metric that defines which direction is
            better.
        KeyError: in training, if `filepath` names a result that does not exist.

    Example:
        ```python
        best = ModelCheckpoint(
            "best.keras", monitor="val_accuracy", mode="max", save_best_only=True
        )
        model.fit(x, y, validation_data=(x_val, y_val), callbacks=[best])
        ```
    """

    _tfkit_state = ("best", "_steps_since_save", "_last_batch")

    @with_checked_values
    def __init__(
        self,
        filepath: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__(monitor, mode, initial_value_threshold)
        self.filepath = os.fspath(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.save_freq = save_frequency(save_freq)
        # The extension chooses the format of the file when it is saved. A wrong one should not be
        # noticed after an epoch of hours.
        suffixes = (_WEIGHTS_SUFFIX,) if save_weights_only else _MODEL_SUFFIXES
        if not self.filepath.endswith(suffixes):
            raise ValueError(
                f"With save_weights_only={save_weights_only} `filepath` must end in one of "
                f"{suffixes}. Received: filepath={self.filepath!r}"
            )
        self._current_epoch = 0
        self._steps_since_save = 0
        self._last_batch = -1

    def chunk_limit(self, next_batch_index: int) -> int | None:
        """Returns the number of steps up to the next save."""
        if isinstance(self.save_freq, int):
            return self.save_freq - self._steps_since_save
        return None

    def wants_logs(self, num_steps: int) -> bool:
        """Returns whether it saves then."""
        limit = self.chunk_limit(0)
        return limit is not None and num_steps >= limit

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Stores the number of the epoch."""
        self._current_epoch = epoch
        self._last_batch = -1

    def on_train_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Saves if enough batches have passed."""
        if self._should_save_on_batch(last_batch_index):
            self._save_model(epoch=self._current_epoch, batch=last_batch_index, logs=logs or {})

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Saves."""
        if self.save_freq == "epoch":
            self._save_model(epoch=epoch, batch=None, logs=logs or {})

    # Subclasses may call and override these four methods: they have the names and arguments of Keras's.

    def _should_save_on_batch(self, batch: int) -> bool:
        """Whether enough batches have passed up to this one since the last save."""
        if not isinstance(self.save_freq, int):
            return False
        if batch < self._last_batch:  # A loop of a user, without `on_epoch_begin`.
            self._last_batch = -1
        self._steps_since_save += batch - self._last_batch
        self._last_batch = batch
        if self._steps_since_save < self.save_freq:
            return False
        self._steps_since_save = 0
        return True

    def _save_model(self, epoch: int, batch: int | None, logs: Logs) -> None:
        """Saves the model, if it should be saved."""
        path = self._get_file_path(epoch, batch, logs)
        if os.path.isdir(path):
            raise OSError(
                f"ModelCheckpoint writes a file. Received: filepath={path!r}, which is a folder. "
                "Add the name of a file."
            )
        if not self._should_save_model(epoch, batch, logs, path):
            return
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)
        if self.verbose > 0:
            print_message(f"\nEpoch {epoch + 1}: saved to {path}")

    def _get_file_path(self, epoch: int, batch: int | None, logs: Logs) -> str:
        """Returns the path, with the epoch, the batch and the results filled in."""
        # Counted from 1 in names of files, as in Keras, and from 0 in hooks.
        fields = {"epoch": epoch + 1} | ({} if batch is None else {"batch": batch + 1}) | logs
        try:
            return self.filepath.format(**fields)
        except KeyError as error:
            raise KeyError(
                f"`filepath` names {error}, which is not among the results: {', '.join(fields)}. "
                f"Received: filepath={self.filepath!r}"
            ) from None

    def _should_save_model(self, epoch: int, batch: int | None, logs: Logs, filepath: str) -> bool:
        """Whether the model is saved: always, or with `save_best_only` if the result is the best one yet."""
        if not self.save_best_only:
            return True
        current = logs.get(self.monitor)
        # Saving too much is better than losing a training run because of a wrong name.
        if current is None or np.ndim(current) > 0:
            warn(
                f"ModelCheckpoint saves although save_best_only=True: {self.monitor!r} is not a "
                f"number among the results ({', '.join(logs)})."
            )
            return True
        better = self._is_improvement(current, self.best)
        if self.verbose > 0:
            change = "improved" if better else "did not improve"
            best = "nothing" if self.best is None else f"{self.best:.5f}"
            print_message(
                f"\nEpoch {epoch + 1}: {self.monitor} {change} from {best} ({current:.5f})"
            )
        if better:
            self.best = current
        return better
