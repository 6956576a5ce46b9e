"""Ctrl-C while a program is compiled or computed: a sentence says that the training waits for it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tfkit.src.base.context import is_main
from tfkit.src.training.progress import print_message

_PATIENCE = 1.0  # Seconds; programs of steps take a tenth of one, compilations up to minutes.
_ENDED = b"\0"  # No signal has the number 0.


def _raises() -> bool:
    """Whether Ctrl-C raises `KeyboardInterrupt` in this thread."""
    return is_main() and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextmanager
def acknowledged() -> Iterator[None]:
    """Context manager in which Ctrl-C is answered within a second.

    Python raises `KeyboardInterrupt` when the call in progress returns. Until then only a
    thread can answer; C code writes the number of each signal to the socket from which it reads.
    """
    if not _raises():
        yield
        return
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        previous = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        if previous != -1:  # An event loop has one.
            signal.set_wakeup_fd(previous)
            yield
            return
        thread = threading.Thread(target=_answer, args=(reader,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            writer.send(_ENDED)
            thread.join()


@contextmanager
def deferred() -> Iterator[None]:
    """Context manager at whose end Ctrl-C is raised, if it came inside."""
    if not _raises():
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if received:
            raise KeyboardInterrupt


def _answer(reader: socket.socket) -> None:
    """Reads signals up to the end; says so when one is Ctrl-C and the end does not follow soon."""
    waits = False
    while True:
        reader.settimeout(_PATIENCE if waits else None)
        try:
            received = reader.recv(64)
        except TimeoutError:
            print_message(
                "\nCtrl-C was received: it stops the training when the present program is compiled or "
                "computed. Ctrl-\\ ends the process at once, except on Windows."
            )
            waits = False
            continue
        if _ENDED in received:
            return
        waits = waits or bytes([signal.SIGINT]) in received
