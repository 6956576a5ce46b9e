"""`History`: the object that `fit` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfkit.src.training.callbacks.callback import Callback, Logs

if TYPE_CHECKING:
    from tfkit.src.training.models.model import Model


class History(Callback):
    """Records the results of every epoch; `fit` makes one and returns it.

    Its attribute `history` is a dict from the name of a result to the list of its values, one for
    each epoch; `epoch` is the list of the indices of the epochs of the last `fit`.

    Example:
        ```python
        history = model.fit(x, y, epochs=3)
        history.history["loss"]  # a list of three numbers
        ```
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def set_model(self, model: Model) -> None:
        """Sets itself as the model's `history`."""
        # `fit` returns `model.history`.
        super().set_model(model)
        model.history = self

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Starts a new list of epochs; `history` is continued."""
        self.epoch = []

    def get_state(self) -> dict[str, Any]:
        """Returns the results so far."""
        return {"history": self.history, "epoch": self.epoch}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores a state that `get_state()` returned."""
        self.history, self.epoch = state["history"], state["epoch"]

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Appends the results."""
        self.model.history = self  # A callback that called `fit` has left its history there.
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
