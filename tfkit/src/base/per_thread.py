"""Settings that the main thread makes for the process, and any other thread for itself; a lock."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


def is_main() -> bool:
    """Whether this is the main thread."""
    return threading.current_thread() is threading.main_thread()


class Lock:
    """A reentrant lock. In a copy of its owner it is a new one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def __deepcopy__(self, memo: object) -> Lock:
        return Lock()


class PerThread(Generic[T]):
    """A value of the process, and separate values of single threads.

    Args:
        name: a description, for messages.
        value: the value of the process.
        make: returns the first value of a thread other than the main one. Without it, such a
            thread has the value of the process until it sets its own.
    """

    def __init__(self, name: str, value: T, make: Callable[[], T] | None = None) -> None:
        self._of_process = value
        self._make = make
        self._own: ContextVar[list[T] | None] = ContextVar(name, default=None)

    def get(self) -> T:
        """Returns the value in this thread."""
        own = self._own.get()
        if own is not None:
            return own[0]
        if self._make is not None and not is_main():
            self.set(self._make())
            return self.get()
        return self._of_process

    def set(self, value: T) -> None:
        """Sets it for the process in the main thread, in any other for that thread."""
        if is_main():
            self._of_process = value
        else:
            self._own.set([value])

    @contextlib.contextmanager
    def being(self, value: T) -> Iterator[None]:
        """Context manager in which this thread has this value."""
        token = self._own.set([value])
        try:
            yield
        finally:
            self._own.reset(token)
