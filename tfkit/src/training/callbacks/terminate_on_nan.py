"""`TerminateOnNaN`: ends training when the loss is no longer a finite number."""

from __future__ import annotations

import math

from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.training.callbacks.callback import Logs
from tfkit.src.training.callbacks.sparse_callback import SparseCallback
from tfkit.src.training.progress import print_message


class TerminateOnNaN(SparseCallback):
    """Ends training when the loss is NaN or infinite.

    It reads the running loss whenever training returns to Python, at least once an epoch. The
    running loss is a mean, so it stays NaN or infinite after one such step.

    Args:
        raise_error: whether to raise `RuntimeError` instead of only stopping the training. Default:
            `False`.

    Raises:
        RuntimeError: in training, with `raise_error`, if the loss is NaN or infinite.

    Example:
        ```python
        model.fit(x, y, callbacks=[TerminateOnNaN()])
        ```
    """

    @with_checked_values
    def __init__(self, raise_error: bool = False) -> None:
        super().__init__()
        self.raise_error = raise_error

    def on_train_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Checks the running loss.

        Raises:
            RuntimeError: with `raise_error`, where the loss is NaN or infinite.
        """
        loss = (logs or {}).get("loss")
        if loss is None or math.isfinite(loss):
            return
        message = f"The loss is {loss} at batch {last_batch_index}: training ends."
        if self.raise_error:
            raise RuntimeError(message)
        print_message(message)
        self.model.stop_training = True
