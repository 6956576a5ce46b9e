"""`EarlyStopping`: ends training that no longer improves."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.training.callbacks.callback import Logs
from tfkit.src.training.callbacks.monitor_callback import MonitorCallback
from tfkit.src.training.progress import print_message


class EarlyStopping(MonitorCallback):
    """Ends training when a result has not improved for some epochs.

    Args:
        monitor: name of a result, such as `"val_loss"` or `"accuracy"`. Default: `"val_loss"`.
        min_delta: smallest change that counts as an improvement. Default: `0`.
        patience: number of epochs without improvement after which training ends. Default: `0`.
        verbose: 0 for no output, 1 for a line when the callback acts. Default: `0`.
        mode: `"min"` if less is better, `"max"` if more is, or `"auto"`: less for losses, and what
            a metric itself defines. Default: `"auto"`.
        baseline: value that must be beaten, too, for the patience to start again; `None` for none.
        restore_best_weights: whether the model gets the weights of its best epoch at the end.
            Default: `False`.
        start_from_epoch: number of initial epochs that are not considered. Default: `0`.

    Raises:
        ValueError: in training, with `mode="auto"`, if the result is neither a loss nor a metric
            that defines which direction is better.

    Example:
        ```python
        stopping = EarlyStopping("val_loss", patience=3, restore_best_weights=True)
        model.fit(x, y, epochs=100, validation_split=0.2, callbacks=[stopping])
        ```
    """

    _tfkit_state = ("best", "wait", "stopped_epoch", "best_epoch", "best_weights")

    @with_checked_values
    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: float = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: float = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta=min_delta)
        if patience < 0:
            raise ValueError(f"`patience` must be 0 or above. Received: patience={patience!r}")
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.start_from_epoch = start_from_epoch
        self.wait = 0
        self.stopped_epoch = 0
        self.best_epoch = 0
        self.best_weights: Any = None

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Resets the state of an earlier `fit`."""
        self.wait = 0
        self.stopped_epoch = 0
        self.best_epoch = 0
        self.best = None
        self.best_weights = None

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Compares the result with the best, and stops training after too many epochs without improvement."""
        self._check_direction()
        current = self.get_monitor_value(logs)
        if current is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self._remember(epoch)

        self.wait += 1
        if self._is_improvement(current, self.best):
            self.best = current
            self._remember(epoch)
            # As in Keras: an improvement that is still below the baseline does not reset the
            # patience.
            if self._is_improvement(current, self.baseline):
                self.wait = 0
        elif self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Restores the weights of the best epoch."""
        if self.stopped_epoch > 0 and self.verbose > 0:
            print_message(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.best_weights is not None:
            if self.verbose > 0:
                print_message(f"Restoring the weights of epoch {self.best_epoch + 1}, the best.")
            self.model.set_weights(self.best_weights)

    def get_monitor_value(self, logs: Logs | None) -> Any:
        """Returns the monitored result; `None`, with a warning, if it is missing."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            warn(
                f"EarlyStopping watches {self.monitor!r}, which is not among the results: "
                f"{', '.join(logs or {})}"
            )
        return value

    def _remember(self, epoch: int) -> None:
        self.best_epoch = epoch
        if self.restore_best_weights:
            self.best_weights = self.model.get_weights()
