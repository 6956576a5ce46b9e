"""Reading and writing of large messages away from the event loop, which answers others meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

LARGE = 64 * 2**10  # bytes; below, a thread costs more than it saves

_T = TypeVar("_T")


def num_bytes(arrays: dict[str, np.ndarray]) -> int:
    """What arrays take, with the strings in them."""
    return sum(
        sum(map(len, array.flat)) if array.dtype == object else array.nbytes
        for array in arrays.values()
    )


class Worker:
    """One thread for all large messages: several would only share Python's lock, and fill more memory."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tfkit-serving-messages")

    async def run(self, size: int, function: Callable[[], _T]) -> _T:
        """What `function` gives; it runs in the thread if it is about many bytes.

        Args:
            size: how many.
            function: reads or writes a message.
        """
        if size <= LARGE:
            return function()
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def close(self) -> None:
        """Ends the thread, when it has done what was asked of it."""
        await asyncio.to_thread(self._thread.shutdown)
