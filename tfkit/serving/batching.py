"""Requests that come at the same time, run as one.

Two requests are joined when they ask the same signature of the same version for rows of the same shape.
A model may be asked so when its rows do not depend on each other, which is what TF Serving's batching
presumes too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tfkit.export.c_api import Signature
from tfkit.serving.errors import RequestError
from tfkit.serving.servable import Servable

Arrays = dict[str, np.ndarray]


class Batcher:
    """Runs requests in threads, joined with others where a window is set.

    Args:
        window: seconds that the first of several requests waits for others; 0 joins none.
        max_rows: rows at which a joined request does not wait any longer.
        threads: how many requests run at once.
    """

    def __init__(self, window: float = 0.0, max_rows: int = 64, threads: int = 4) -> None:
        self._window = window
        self._max_rows = max_rows
        self._threads = ThreadPoolExecutor(threads, "tfkit-serving")
        self._waiting: dict[Any, _Batch] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, servable: Servable, name: str, inputs: Arrays) -> Arrays:
        """The outputs of a signature of `servable` for `inputs`.

        Raises:
            RequestError: for inputs that do not fit, and for errors of the model.
        """
        rows = _num_rows(servable.signature(name), inputs) if self._window else None
        if rows is None or rows >= self._max_rows:
            return await self._run(servable, name, inputs)
        shapes = [(key, array.dtype.str, array.shape[1:]) for key, array in sorted(inputs.items())]
        key = servable, name, tuple(shapes)
        batch = self._waiting.get(key)
        if batch is not None and batch.num_rows + rows > self._max_rows:
            batch.go()
            batch = None
        if batch is None:
            batch = self._waiting[key] = _Batch(servable, name, lambda: self._go(key))
            asyncio.get_running_loop().call_later(self._window, batch.go)
        answer = batch.add(inputs, rows)
        if batch.num_rows == self._max_rows:
            batch.go()
        return await answer

    async def close(self) -> None:
        """Ends the threads, when they have answered."""
        for batch in list(self._waiting.values()):
            batch.go()
        await asyncio.gather(*self._running)
        await asyncio.to_thread(self._threads.shutdown)

    def _go(self, key: Any) -> None:
        task = asyncio.create_task(self._answer(self._waiting.pop(key)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, batch: _Batch) -> None:
        try:
            joined = await self._joined(batch) if len(batch.requests) > 1 else None
            for index, (inputs, _, answer) in enumerate(batch.requests):
                if joined is None:
                    await self._answer_alone(batch, inputs, answer)
                elif not answer.done():  # The caller may be gone.
                    answer.set_result(joined[index])
        finally:
            batch.servable.release()

    async def _answer_alone(
        self, batch: _Batch, inputs: Arrays, answer: asyncio.Future[Arrays]
    ) -> None:
        try:
            outputs = await self._run(batch.servable, batch.name, inputs)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        else:
            if not answer.done():
                answer.set_result(outputs)

    async def _joined(self, batch: _Batch) -> list[Arrays] | None:
        """The outputs for each request; `None` where the requests have to run alone.

        That is where an output does not have as many rows as the inputs, and after an error, which only
        the request that causes it shall get.
        """
        parts = [inputs for inputs, _, _ in batch.requests]
        try:
            whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            outputs = await self._run(batch.servable, batch.name, whole)
        except (MemoryError, RequestError):
            return None
        if any(array.shape[:1] != (batch.num_rows,) for array in outputs.values()):
            return None
        ends = np.cumsum([rows for _, rows, _ in batch.requests])[:-1]
        split = {name: np.split(array, ends) for name, array in outputs.items()}
        return [{name: split[name][index] for name in outputs} for index in range(len(parts))]

    async def _run(self, servable: Servable, name: str, inputs: Arrays) -> Arrays:
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, servable.run, name, inputs)
        # Not before the thread is done: the caller may go away earlier.
        servable.acquire()
        running.add_done_callback(lambda _: servable.release())
        return await asyncio.shield(running)


class _Batch:
    """Requests that wait for each other; it keeps the version in memory until it is answered."""

    def __init__(self, servable: Servable, name: str, start: Callable[[], None]) -> None:
        self.servable = servable
        self.name = name
        servable.acquire()
        self.requests: list[tuple[Arrays, int, asyncio.Future[Arrays]]] = []
        self.num_rows = 0
        self._start: Callable[[], None] | None = start

    def add(self, inputs: Arrays, rows: int) -> asyncio.Future[Arrays]:
        """The outputs for `inputs`, some time."""
        answer: asyncio.Future[Arrays] = asyncio.get_running_loop().create_future()
        self.requests.append((inputs, rows, answer))
        self.num_rows += rows
        return answer

    def go(self) -> None:
        """Starts the run, unless it was started already."""
        if self._start is not None:
            start, self._start = self._start, None
            start()


def _num_rows(signature: Signature, inputs: Arrays) -> int | None:
    """How many rows the inputs have; `None` where they cannot be joined with others."""
    specs = [*signature.inputs.values(), *signature.outputs.values()]
    if any(not spec.shape or spec.shape[0] is not None for spec in specs):
        return None
    sizes = {array.shape[:1] for array in inputs.values()}
    return next(iter(sizes))[0] if len(sizes) == 1 and sizes != {()} else None
