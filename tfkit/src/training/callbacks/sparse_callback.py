"""`SparseCallback`: the base class of callbacks that are called between compiled programs."""

from __future__ import annotations

import numbers
from typing import Literal

from tfkit.src.training.callbacks.callback import Callback, Logs


def save_frequency(save_freq: str | int) -> int | Literal["epoch"]:
    """Returns the argument `save_freq` of callbacks that save: `"epoch"`, or a number of batches.

    Raises:
        ValueError: for any other value.
    """
    if save_freq == "epoch":
        return "epoch"
    # `True` is an integer to Python, but a mistake here.
    if not isinstance(save_freq, numbers.Integral) or isinstance(save_freq, bool) or save_freq < 1:
        raise ValueError(
            f"`save_freq` must be 'epoch' or a positive number of batches. Received: save_freq={save_freq!r}"
        )
    return int(save_freq)


class SparseCallback(Callback):
    """The base of callbacks that follow the steps, although training does not return after each one.

    A compiled program runs a chunk of steps. After it the hooks `on_train_steps_end`,
    `on_test_steps_end` and `on_predict_steps_end` are called once for the chunk, and once for each
    batch if another callback makes training return after every step.

    Example:
        ```python
        class EveryThousandSteps(SparseCallback):
            def chunk_limit(self, next_batch_index):
                return 1000 - next_batch_index % 1000

            def on_train_steps_end(self, last_batch_index, num_steps, logs=None):
                if (last_batch_index + 1) % 1000 == 0:
                    print(last_batch_index, logs["loss"])
        ```
    """

    # The index of the last batch and the number of steps; `None` for one step.
    latest_steps: tuple[int, int] | None = None

    def chunk_limit(self, next_batch_index: int) -> int | None:
        """Returns how many training steps may run before this callback must be called; `None` for any number.

        Args:
            next_batch_index: index in its epoch of the batch that comes next.
        """
        return None

    def wants_logs(self, num_steps: int) -> bool:
        """Returns whether it needs the results after the next `num_steps` steps.

        The results are fetched from the device only if some callback returns true; if none does,
        `logs` is `None`.
        """
        return True

    def on_train_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Called by `fit` after a chunk of training steps.

        Args:
            last_batch_index: index in its epoch of the last batch of the chunk.
            num_steps: how many steps the chunk had.
            logs: results of the epoch up to here, or `None` if no callback wanted them.
        """

    def on_test_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Called by `evaluate`, and by the validation of `fit`, after a chunk of steps."""

    def on_predict_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Called by `predict` after a chunk of steps."""

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Treats the batch, or the batches of a program of `steps_per_execution` steps, as a chunk."""
        # If another callback needs every batch, or in a user's loop, steps come one by one.
        self.on_train_steps_end(*(self.latest_steps or (batch, 1)), logs)
        self.on_batch_end(batch, logs)

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Treats the batch, or the batches of a program of `steps_per_execution` steps, as a chunk."""
        self.on_test_steps_end(*(self.latest_steps or (batch, 1)), logs)

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Treats the batch, or the batches of a program of `steps_per_execution` steps, as a chunk."""
        self.on_predict_steps_end(*(self.latest_steps or (batch, 1)), logs)
