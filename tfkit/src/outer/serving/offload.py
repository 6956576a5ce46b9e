"""Reads and writes large messages away from the event loop, which serves others in the meantime."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tfkit.src.outer.serving.bodies import wire
from tfkit.src.outer.serving.bodies.errors import Code, RequestError
from tfkit.src.outer.serving.bodies.jobs import JOBS, body_of

LARGE = 64 * 2**10  # bytes; below, a separate thread or process costs more than it saves
_FOLDER = Path(__file__).with_name("bodies")
_TIMEOUT = 60.0  # seconds for one body
# The worst body, deeply nested lists, needs 51 times its size in memory as Python values.
_MEMORY_PER_BYTE = 64
_MEMORY = 2**30  # address space of Python and numpy, most of which is never used

Arrays = dict[str, np.ndarray]
Body = Sequence[bytes | bytearray]
_T = TypeVar("_T")


def num_bytes(arrays: Arrays) -> int:
    """Returns the size of arrays, including the strings in them."""
    return sum(
        sum(map(len, array.flat)) if array.dtype == object else array.nbytes
        for array in arrays.values()
    )


class Worker:
    """One thread for all large messages, and the process that reads and writes large JSON.

    Several threads would only share Python's lock, and fill more memory.

    Args:
        max_body: bytes of the largest body that is read.
    """

    def __init__(self, max_body: int = 16 * 2**20) -> None:
        self._thread = ThreadPoolExecutor(1, "tfkit-serving-messages")
        self._reader = _Reader(_MEMORY + _MEMORY_PER_BYTE * max_body)

    def start(self) -> None:
        """Starts the process, so that the first large body need not wait for it."""
        self._thread.submit(self._reader.start)

    async def run(self, size: int, function: Callable[[], _T]) -> _T:
        """Returns the result of `function`, which runs in the thread if it processes many bytes.

        Args:
            size: how many.
            function: reads or writes a message.
        """
        if size <= LARGE:
            return function()
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def read(self, name: str, value: Any, body: Body) -> tuple[Any, Arrays]:
        """Returns the result of a job of `bodies/jobs.py` on a body, run in the process if that is large.

        Args:
            name: of the job.
            value: its argument other than the body.
            body: the parts of the body, as they arrived: joining large ones would delay others.

        Raises:
            RequestError: for a body that does not fit, or that needs too much memory or time.
        """
        if sum(map(len, body)) <= LARGE:
            return JOBS[name](value, body_of(b"".join(body)))
        return await self._in_process(name, value, {"body": list(body)})

    async def write(self, name: str, value: Any, outputs: Arrays) -> np.ndarray:
        """Returns a response that a job of `bodies/jobs.py` writes, in the process if it is large.

        Args:
            name: of the job.
            value: its argument other than the outputs.
            outputs: arrays by name.

        Raises:
            RequestError: for outputs that JSON cannot hold.
        """
        if num_bytes(outputs) <= LARGE:
            return JOBS[name](value, outputs)[1]["body"]
        return (await self._in_process(name, value, outputs))[1]["body"]

    async def _in_process(self, name: str, value: Any, arrays: wire.Sent) -> tuple[Any, Arrays]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._reader.run, name, value, arrays)

    async def close(self) -> None:
        """Ends thread and process after their last jobs."""
        await asyncio.to_thread(self._thread.shutdown)
        await asyncio.to_thread(self._reader.close)


class _Reader:
    """The process, started again if it has ended. All methods must be called in the one thread.

    Args:
        max_memory: bytes of its address space.
    """

    def __init__(self, max_memory: int) -> None:
        self._max_memory = max_memory
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket

    def start(self) -> None:
        """Starts the process, unless it runs."""
        if self._process is not None:
            return
        # A socket and not the standard streams, on which libraries may print.
        self._connection, other = socket.socketpair()
        with other:
            number = other.fileno()
            command = [sys.executable, "-P", os.fspath(_FOLDER / "__main__.py")]
            self._process = subprocess.Popen(
                [*command, str(number), str(self._max_memory)],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Each thread of the linear algebra takes address space, and none is used.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        # A body that takes longer to read was made to keep the server busy.
        self._connection.settimeout(_TIMEOUT)

    def run(self, name: str, value: Any, arrays: wire.Sent) -> tuple[Any, Arrays]:
        """Returns the result of a job."""
        self.start()
        try:
            wire.send(self._connection, (name, value), arrays)
            (failed, answer), results = wire.receive(self._connection)
        except TimeoutError:
            self._end()
            message = f"The request is too large: reading it took longer than {_TIMEOUT:g} seconds."
            raise RequestError(Code.RESOURCE_EXHAUSTED, message) from None
        except (EOFError, OSError):
            self._end()
            message = "The process that reads large requests has ended. It is started again."
            raise RequestError(Code.RESOURCE_EXHAUSTED, message) from None
        if failed:
            raise RequestError(*answer)
        return answer, results

    def close(self) -> None:
        """Ends the process."""
        if self._process is None:
            return
        self._connection.close()  # Then it ends without a signal.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        self._end()

    def _end(self) -> None:
        assert self._process is not None
        self._connection.close()
        self._process.kill()
        self._process.wait()
        self._process = None
