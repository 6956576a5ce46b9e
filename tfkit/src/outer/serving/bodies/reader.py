"""The loop of the process that reads bodies: one job after the other, until the server has ended."""

from __future__ import annotations

import gc
import resource
import signal
import socket
import sys

from .errors import Code, RequestError
from .jobs import JOBS
from .wire import receive, send


def main(descriptor: int, max_memory: int) -> None:
    """Runs jobs.

    Args:
        descriptor: of the socket to the server.
        max_memory: bytes of address space; requests that need more are refused.
    """
    # Ctrl-C reaches all processes of a terminal: the server ends this one after its last response.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))
    connection = socket.socket(fileno=descriptor)
    # A body can be 16 million lists, which take longer to be traversed repeatedly than to be read.
    gc.disable()
    while True:
        try:
            (name, value), arrays = receive(connection)
        except (EOFError, OSError):
            return
        try:
            answer, results = JOBS[name](value, arrays)
        except RequestError as error:
            answer, results = error, {}
        except MemoryError:
            text = "The request is too large: reading it took more memory than a request may."
            answer, results = RequestError(Code.RESOURCE_EXHAUSTED, text), {}
        failed = isinstance(answer, RequestError)
        # The server knows the class of the code under a different name.
        value = (int(answer.code), answer.message) if failed else answer
        send(connection, (failed, value), results)
        del arrays, results, answer, value  # before it waits
        gc.collect()  # The rest is small.


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
