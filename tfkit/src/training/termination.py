"""SIGTERM in a training run: its state is saved, and all its processes end at the same step."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tfkit.src.base.context import is_main

STATUS = 128 + signal.SIGTERM  # The status that shells report for a process that SIGTERM has ended.


class Termination:
    """The request to end that a machine sends before it kills a process.

    The process that receives it finishes the program of steps in progress. Then all processes save and
    end, including those that received nothing.

    Args:
        save: saves the state of the training.

    Attributes:
        is_asked: whether this process has received the signal.
    """

    def __init__(self, save: Callable[[], None]) -> None:
        self.is_asked = False
        self._save = save

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Context manager in which the signal is noted, unless the program handles it itself.

        Python runs handlers in its main thread, and only there they can be set.
        """
        # `None` is a handler that C code has set: the one of TensorFlow's cluster, which ends nothing.
        if not is_main() or signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, None):
            yield
            return
        signal.signal(signal.SIGTERM, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _note(self, *_: object) -> None:
        self.is_asked = True

    def end(self) -> NoReturn:
        """Saves, and ends the process.

        Raises:
            SystemExit: with the status 143.
        """
        self._save()
        raise SystemExit(STATUS)
