"""`History`: the object that `fit` returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from tfkit.src.base.names import did_you_mean
from tfkit.src.training.callbacks import history_views
from tfkit.src.training.callbacks.callback import Callback, Logs

if TYPE_CHECKING:
    from tfkit.src.training.models.model import Model


class Results(dict[str, list[Any]]):
    """The values of each result, one for each epoch, by name."""

    def __missing__(self, name: Any) -> NoReturn:
        known = ", ".join(map(repr, self)) or "none: no epoch was trained"
        raise KeyError(
            f"The training has no result {name!r}.{did_you_mean(name, self)} Results: {known}"
        )


class History(Callback):
    """Records the results of every epoch; `fit` makes one and returns it.

    Its attribute `history` is a dict from the name of a result to the list of its values, one for
    each epoch, and `history["loss"]` is short for `history.history["loss"]`; `epoch` is the list of the
    indices of the epochs of the last `fit`. Printed, and in a notebook, it is a table.

    Example:
        ```python
        history = model.fit(x, y, epochs=3)
        history["loss"]  # a list of three numbers
        history.plot()
        ```
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = Results()
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
        self.history, self.epoch = Results(state["history"]), state["epoch"]

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Appends the results."""
        self.model.history = self  # A callback that called `fit` has left its history there.
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)

    def __getitem__(self, name: str) -> list[Any]:
        return self.history[name]

    def __repr__(self) -> str:
        return history_views.text(self.history)

    def _repr_html_(self) -> str:
        return history_views.html(self.history)

    def plot(self, names: str | Iterable[str] | None = None) -> list[Any]:
        """Draws the curves of the results over the epochs with matplotlib.

        Args:
            names: the results to draw, with those of the validation. Default: all.

        Returns:
            The axes, one for each result. `axes[0].figure.savefig("curves.png")` writes the picture; a
            notebook shows it.

        Raises:
            KeyError: if there is no result of such a name; the message lists the names.
            ImportError: without matplotlib.

        Example:
            ```python
            axes = model.fit(x, y, epochs=10, validation_split=0.1).plot("loss")
            axes[0].set_yscale("log")
            ```
        """
        return history_views.plot(self.history, names)
