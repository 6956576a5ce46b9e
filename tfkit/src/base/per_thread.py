"""Settings that the main thread makes for the process, and any other thread for itself; a lock."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from tfkit.src.base import context

T = TypeVar("T")


def is_main() -> bool:
    """Whether this is the main thread."""
    return threading.current_thread() is threading.main_thread()


class Lock:
    """A reentrant lock. A copy of its owner gets a new one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def __deepcopy__(self, memo: object) -> Lock:
        return Lock()


class ThreadSetting(Generic[T]):
    """A value of the process, and separate values of single threads, in a field of the context.

    Args:
        field: the field of `base.context.Context`.
        value: the value of the process.
        make: returns the first value of a thread other than the main one. Without it, such a
            thread has the value of the process until it sets its own.
    """

    def __init__(self, field: str, value: T, make: Callable[[], T] | None = None) -> None:
        self._field = field
        self._of_process = value
        self._make = make

    def get(self) -> T:
        """Returns the value in this thread."""
        own = vars(context.current())
        if self._field in own:
            value: T = own[self._field]
            return value
        if self._make is not None and not is_main():
            self.set(self._make())
            return self.get()
        return self._of_process

    def set(self, value: T) -> None:
        """Sets it for the process in the main thread, in any other for that thread."""
        if is_main():
            self._of_process = value
        else:
            context.put(**{self._field: value})

    def being(self, value: T) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager in which this thread has this value."""
        return context.within(**{self._field: value})
