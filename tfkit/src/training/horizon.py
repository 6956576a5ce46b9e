"""The number of steps that a training will run, as far as it is known, on which the use of XLA depends."""

from __future__ import annotations

from typing import Any

_STRIDE = 512


class Horizon:
    """The number of steps that a training has, and those of the same model before it.

    It never depends on measured time: the same training runs the same programs, with the same rounding, each
    time, and so does one that continues from a saved state. If the length of an epoch is not known, the
    result changes after each 512 steps only, and no program runs beyond such a step.

    Args:
        earlier: number of steps that the model has run before, since it was compiled.

    Attributes:
        num_runs: number of times that the data is passed over, as in epochs.
        done: number of steps so far.
    """

    def __init__(self, earlier: int) -> None:
        self._earlier = earlier
        self.num_runs = 1
        self.done = 0

    def num_steps(self, in_run: int | None) -> int:
        """Returns the total number of steps, as far as it is known.

        Args:
            in_run: steps of one run; `None` if they are unknown.
        """
        if in_run is not None:
            return self._earlier + max(self.num_runs * in_run, self.done)
        return self._earlier + self.done // _STRIDE * _STRIDE

    def limit(self) -> int:
        """Returns the number of steps after which `num_steps(None)` may change."""
        return _STRIDE - self.done % _STRIDE

    def get_state(self) -> dict[str, Any]:
        """Returns the numbers of steps, as data."""
        return {"earlier": self._earlier, "done": self.done}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores the numbers of another training."""
        self._earlier, self.done = state["earlier"], state["done"]
