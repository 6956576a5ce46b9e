"""`CSVLogger`: writes the results of every epoch as a line of a file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.files.saving.atomic import is_discarding
from tfkit.src.training.callbacks.callback import Callback, Logs


class CSVLogger(Callback):
    """Writes a line of comma-separated values after every epoch.

    The columns are those of the first epoch, with `val_` columns added if it had no validation;
    a result that is missing later reads `NA`.

    Args:
        filename: path of the file.
        separator: string between two values. Default: `","`.
        append: whether an existing file is continued instead of replaced. Default: `False`.

    Example:
        ```python
        model.fit(x, y, callbacks=[CSVLogger("training.csv")])
        ```
    """

    @with_checked_values
    def __init__(
        self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False
    ) -> None:
        super().__init__()
        self.filename = os.fspath(filename)
        self.sep = separator
        self.append = append
        self.keys: list[str] | None = None
        # The number of bytes of the file that are kept during training.
        self._kept: int | None = None

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Opens the file. Old contents that are not kept remain until the first line is written."""
        self.keys = None
        if is_discarding():
            # Of several processes, one alone writes.
            self.filename = os.devnull
        with open(self.filename, "a") as file:
            self._kept = file.tell() if self.append else 0

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Writes a line, and the header before the first."""
        if self._kept is None:
            raise RuntimeError("CSVLogger needs `on_train_begin` before `on_epoch_end`.")
        logs = logs or {}
        with open(self.filename, "a", newline="") as file:
            if self.filename != os.devnull:
                # Also after a training run that was interrupted while it wrote a line: the line is
                # written again.
                file.truncate(self._kept)
            writer = csv.writer(file, delimiter=self.sep)
            if self.keys is None:
                self.keys = sorted(logs)
                if not any(key.startswith("val_") for key in self.keys):
                    # The first validation may come later (`validation_freq`), and a header cannot
                    # be changed then.
                    self.keys += [f"val_{key}" for key in self.keys]
                if self._kept == 0:
                    writer.writerow(["epoch", *self.keys])
            writer.writerow([epoch, *(_cell(logs.get(key, "NA")) for key in self.keys)])
            self._kept = file.tell()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Ends the log."""
        self._kept = None

    def get_state(self) -> dict[str, Any]:
        """Returns the columns, and the length of the file."""
        return {"keys": self.keys, "size": self._kept}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continues after the lines that were saved; later lines belong to epochs that run again.

        Raises:
            ValueError: if the file is shorter than it was.
        """
        size = os.path.getsize(self.filename)
        if size < state["size"]:
            raise ValueError(
                f"CSVLogger cannot continue {self.filename}: it has {size} bytes, and had {state['size']} "
                "when the training was saved. Put the file back, or start the training again."
            )
        self.keys, self._kept = state["keys"], state["size"]


def _cell(value: Any) -> Any:
    if isinstance(value, str) or np.ndim(value) == 0 or not isinstance(value, Iterable):
        return value
    return f'"[{", ".join(map(str, value))}]"'
