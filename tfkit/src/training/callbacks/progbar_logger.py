"""`ProgbarLogger`: the progress bar of `fit`, `evaluate` and `predict`."""

from __future__ import annotations

from typing import Any

from tfkit.src.training.callbacks.callback import Logs
from tfkit.src.training.callbacks.sparse_callback import SparseCallback
from tfkit.src.training.progress import Progbar, print_message

# Ten redraws a second look smooth; each one costs a fetch of the results from the device.
_REDRAW_INTERVAL = 0.1


class ProgbarLogger(SparseCallback):
    """Writes a progress bar with the running results; `fit`, `evaluate` and `predict` add one automatically.

    It reads `verbose` (0, 1, 2 or `"auto"`, which is 1), `epochs` and `steps` from `params`.

    Example:
        ```python
        model.fit(x, y, verbose=0, callbacks=[ProgbarLogger()])
        ```
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self.target: int | None = None
        self.verbose = 1
        self.epochs = 1
        self.progbar: Progbar | None = None
        self._called_in_fit = False

    def set_params(self, params: dict[str, Any]) -> None:
        """Reads `verbose`, `epochs` and `steps` from `params`."""
        super().set_params(params)
        verbose = params.get("verbose", 1)
        self.verbose = 1 if verbose == "auto" else int(verbose)
        self.epochs = params.get("epochs", 1)
        self.target = params.get("steps")

    def wants_logs(self, num_steps: int) -> bool:
        """Returns whether the bar is about to be redrawn."""
        return self._bar().due()

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Silences validation from here on."""
        self._called_in_fit = True

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Starts a bar, below a header if there are several epochs."""
        self._reset()
        if self.verbose and self.epochs > 1:
            print_message(f"Epoch {epoch + 1}/{self.epochs}")

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Starts a bar, except in `fit`."""
        if not self._called_in_fit:
            self._reset()

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Starts a bar."""
        self._reset()

    def on_train_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Advances the bar."""
        self._update(last_batch_index, logs)

    def on_test_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Advances the bar, except in `fit`."""
        if not self._called_in_fit:
            self._update(last_batch_index, logs)

    def on_predict_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Advances the bar; the outputs are not shown."""
        self._update(last_batch_index, None)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Writes the final line."""
        self._finish(logs)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Lets later calls of `evaluate` show a bar again."""
        self._called_in_fit = False

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Writes the final line, except in `fit`."""
        if not self._called_in_fit:
            self._finish(logs)

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Writes the final line."""
        self._finish(None)

    def _reset(self) -> None:
        self.seen = 0
        self.progbar = None
        self._bar()  # its clock starts here

    def _bar(self) -> Progbar:
        if self.progbar is None:
            self.progbar = Progbar(
                self.target,
                verbose=self.verbose,
                interval=_REDRAW_INTERVAL,
                stateless_metrics=(),  # the results are running means already
            )
        return self.progbar

    def _update(self, last_batch_index: int, logs: Logs | None) -> None:
        self.seen = last_batch_index + 1
        self._bar().update(self.seen, (logs or {}).items(), finalize=False)

    def _finish(self, logs: Logs | None) -> None:
        bar = self._bar()
        if self.target is None:
            # The number of steps of a generator is known after its first epoch.
            self.target = bar.target = self.seen
        # An epoch that was cut short shows how many steps it had.
        bar.update(self.seen or self.target, (logs or {}).items(), finalize=True)
