"""`OrbaxCheckpoint`: saves checkpoints of the library Orbax while the model trains."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.base.settings import positive_integer
from tfkit.src.files.saving import contents, entries, model_file, orbax, weights
from tfkit.src.training.callbacks.callback import Logs
from tfkit.src.training.callbacks.monitor_callback import MonitorCallback
from tfkit.src.training.callbacks.sparse_callback import SparseCallback, save_frequency
from tfkit.src.training.progress import print_message


class OrbaxCheckpoint(MonitorCallback, SparseCallback):
    """Saves checkpoints of the library Orbax after every epoch or after a number of batches.

    It needs the package `orbax-checkpoint`: `pip install 'tfkit-dl[orbax]'`. Orbax uses JAX, which
    may take most of a GPU's memory if it is a JAX for GPUs: set the environment variable `JAX_PLATFORMS=cpu`.

    A checkpoint is a folder in `directory`, with the number of the epoch, from 0, or of the batches so far as
    its name. It holds arrays by attribute path, and JSON. `model.load_weights(directory)` and
    `tfkit.saving.load_model(directory)` read the latest; the path of a checkpoint selects another.

    Args:
        directory: folder of the checkpoints, made if it is missing.
        monitor: name of the result by which models are compared. Default: `"val_loss"`.
        verbose: 0 for no output, 1 for a line for each checkpoint. Default: `0`.
        save_best_only: whether only a model that is better than those before is saved; none where the result
            is missing, with a warning. Default: `False`.
        mode: `"min"` if less is better, `"max"` if more is, or `"auto"`: less for losses, and
            what a metric itself defines. Default: `"auto"`.
        save_freq: `"epoch"`, or a number of batches. Default: `"epoch"`.
        initial_value_threshold: value that the first model must beat to be saved, with
            `save_best_only`; `None` for none.
        max_to_keep: number of checkpoints that are kept, the latest; `None` for all. Default: `1`.
        save_on_background: whether the values are copied, and written while training continues. The end
            of training waits for it. Default: `True`.
        save_weights_only: whether only the weights are saved, without the configuration and the
            optimizer. Default: `False`.

    Raises:
        ImportError: if the package is not installed.
        ValueError: if `save_freq` or `max_to_keep` has a different value; at the beginning of training, if
            `directory` has later checkpoints than the training will write; in training, with `mode="auto"`,
            if the result is neither a loss nor a metric that defines which direction is better.

    Example:
        ```python
        checkpoints = OrbaxCheckpoint("checkpoints", max_to_keep=3)
        model.fit(x, y, epochs=10, callbacks=[checkpoints])
        model = tfkit.saving.load_model("checkpoints")
        model.load_weights("checkpoints/8")  # After the ninth epoch.
        ```
    """

    _tfkit_state = ("best", "_batches", "_steps_since_save")

    @with_checked_values
    def __init__(
        self,
        directory: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        initial_value_threshold: float | None = None,
        max_to_keep: int | None = 1,
        save_on_background: bool = True,
        save_weights_only: bool = False,
    ) -> None:
        super().__init__(monitor, mode, initial_value_threshold)
        self.save_freq = save_frequency(save_freq)
        if max_to_keep is not None:
            max_to_keep = positive_integer("max_to_keep", max_to_keep, ", or None for all")
        orbax.package()
        self.directory = directory
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.max_to_keep = max_to_keep
        self.save_on_background = save_on_background
        self.save_weights_only = save_weights_only
        self._writer: orbax.Writer | None = None
        self._steps_since_save = 0
        self._batches = 0
        self._epoch = 0
        # Whether this training has begun, or a state of it has been restored.
        self._under_way = False

    def chunk_limit(self, next_batch_index: int) -> int | None:
        """Returns the number of steps up to the next checkpoint.

        Raises:
            ValueError: at the first step, if there are later checkpoints than those to be written.
        """
        # Only now: `BackupAndRestore` restores a state after all hooks of the epoch's beginning.
        self._check_folder()
        return self._steps_left()

    def wants_logs(self, num_steps: int) -> bool:
        """Returns whether it compares results then."""
        left = self._steps_left()
        return self.save_best_only and left is not None and num_steps >= left

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Opens the folder."""
        self._close()  # After a training run that was interrupted.
        self._writer = orbax.Writer(Path(self.directory), self.max_to_keep, self.save_on_background)
        optimizer = getattr(self.model, "optimizer", None)
        if not self._under_way and optimizer is not None:
            # A second `fit` of a model continues the numbering of steps, so that its checkpoints
            # are later.
            self._batches = int(optimizer.iterations)

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Stores the number of the epoch."""
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Does what `chunk_limit` does, which is not called if another callback needs every batch."""
        self._check_folder()

    # This mark says that it does not need single batches itself.
    on_train_batch_begin._is_default = True  # type: ignore[attr-defined]

    def on_train_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Saves if enough batches have passed."""
        self._batches += num_steps
        left = self._steps_left()
        if left is not None:
            self._steps_since_save += num_steps
            if num_steps >= left:
                self._steps_since_save = 0
                self._save(self._batches, logs or {})

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Saves."""
        if self.save_freq == "epoch":
            self._save(epoch, logs or {})

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Waits until everything is written."""
        self._close()

    def wait_until_finished(self) -> None:
        """Waits until everything is written."""
        if self._writer is not None:
            self._writer.wait()

    def is_multihost_enabled(self) -> bool:
        """Returns `False`: one process writes."""
        return False

    def is_primary_host(self) -> bool:
        """Returns `True`: one process writes."""
        return True

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores a state that `get_state()` returned; later checkpoints will be replaced."""
        super().set_state(state)
        self._under_way = True

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._under_way = False
            writer.close()

    def _steps_left(self) -> int | None:
        return None if self.save_freq == "epoch" else self.save_freq - self._steps_since_save

    def _check_folder(self) -> None:
        """Raises an error if a new training finds checkpoints that are later than those to be written."""
        first = self._epoch if self.save_freq == "epoch" else self._batches
        assert self._writer is not None
        if not self._under_way and (later := self._writer.later(first)):
            self._close()
            raise ValueError(
                f"The folder {os.fspath(self.directory)!r} has checkpoints of the steps {later}, and this "
                f"training begins at {first}: they would stay the latest. Pass a new `directory`, remove "
                "them, or load the model and continue that training with `initial_epoch`."
            )
        self._under_way = True

    def _save(self, step: int, logs: Logs) -> None:
        if self.save_best_only and not self._is_best(step, logs):
            return
        if self.save_weights_only:
            weights.check_built(self.model, "saving")
            texts: dict[str, Any] = contents.texts(self.model)
            groups = {entries.WEIGHTS: contents.model_state(self.model)}
        else:
            texts, groups = model_file.parts(self.model, kind="a checkpoint of Orbax")
        assert self._writer is not None
        self._writer.write(step, texts, groups)
        if self.verbose > 0:
            print_message(f"\nStep {step}: saved to {os.fspath(self.directory)}")

    def _is_best(self, step: int, logs: Logs) -> bool:
        current = logs.get(self.monitor)
        if current is None or np.ndim(current) > 0:
            warn(
                f"OrbaxCheckpoint saves nothing at step {step}, with save_best_only=True: {self.monitor!r} "
                f"is not a number among the results ({', '.join(logs)})."
            )
            return False
        better = self._is_improvement(current, self.best)
        if better:
            self.best = current
        return better
