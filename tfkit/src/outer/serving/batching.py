"""Runs requests that arrive while the models are busy together.

No request waits in order to be joined: if a thread is free, it runs at once. A request that has to wait for a
thread is joined with others that wait, if they use the same signature of the same version with rows of the
same shape. This requires that the rows of a model do not depend on each other, as in TF Serving's batching.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tfkit.src.outer.serving.bodies.errors import RequestError
from tfkit.src.outer.serving.metrics import Metrics
from tfkit.src.outer.serving.servable import Servable

Arrays = dict[str, np.ndarray]


@dataclasses.dataclass(eq=False)
class _Batch:
    """Requests that run together."""

    servable: Servable
    name: str
    key: Any  # the key of requests that may be joined with it; `None` for none
    inputs: list[Arrays] = dataclasses.field(default_factory=list)
    answers: list[asyncio.Future[Arrays]] = dataclasses.field(default_factory=list)
    rows: list[int] = dataclasses.field(default_factory=list)
    num_rows: int = 0
    # while it waits for others, whether or not a thread is free
    held: asyncio.TimerHandle | None = None


class Batcher:
    """Runs requests in threads, joined with others if they have to wait.

    Args:
        window: seconds that the first of several requests waits for others although a thread is free.
        max_rows: rows at which nothing more is joined; with 1 nothing ever is.
        threads: how many runs there are at once.
        metrics: where runs are counted.
    """

    def __init__(
        self,
        window: float = 0.0,
        max_rows: int = 64,
        threads: int = 2,
        metrics: Metrics | None = None,
    ) -> None:
        self._metrics = metrics or Metrics()
        self._window = window
        self._max_rows = max_rows
        self._threads = ThreadPoolExecutor(threads, "tfkit-serving")
        self._free = threads
        self._waiting: deque[_Batch] = deque()  # waiting for a thread, in order
        self._open: dict[Any, _Batch] = {}  # that others may still join
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, servable: Servable, name: str, inputs: Arrays) -> Arrays:
        """Returns the outputs of a signature of `servable` for `inputs`.

        Raises:
            RequestError: for inputs that do not fit, and for errors of the model.
        """
        rows = self._joinable_rows(servable, name, inputs)
        key = None
        if rows is not None:
            shapes = [(each, array.dtype, array.shape[1:]) for each, array in inputs.items()]
            key = (
                # Sorted, because clients may send the inputs in any order.
                (servable, name, *sorted(shapes)) if len(shapes) > 1 else (servable, name, *shapes)
            )
        # With the key `None` there is no open batch: such a request runs alone.
        batch = self._open.get(key)
        # A request is never divided: one that does not fit begins the next batch.
        if batch is not None and batch.num_rows + (rows or 0) > self._max_rows:
            self._close(batch)
            batch = None
        if batch is None:
            batch = self._opened(servable, name, key)
        answer: asyncio.Future[Arrays] = asyncio.get_running_loop().create_future()
        batch.inputs.append(inputs)
        batch.answers.append(answer)
        batch.rows.append(rows or 0)
        batch.num_rows += rows or 0
        if batch.num_rows >= self._max_rows:
            self._close(batch)
        self._start()
        return await answer

    async def close(self) -> None:
        """Ends the threads after their last requests."""
        for batch in list(self._open.values()):
            self._close(batch)
        self._start()
        # The end of a batch may start the next one.
        while self._running:
            ended = set(self._running)
            await asyncio.gather(*ended)
            # From Python 3.12 on, `gather` of tasks that have ended does not wait for their callbacks.
            self._running -= ended
        await asyncio.to_thread(self._threads.shutdown)

    def _joinable_rows(self, servable: Servable, name: str, inputs: Arrays) -> int | None:
        """Returns the number of rows of the inputs; `None` if they cannot be joined with others."""
        if self._max_rows < 2 or not servable.has_rows(name):
            return None
        # Scalars, of shape (), have no rows.
        sizes = {array.shape[:1] for array in inputs.values()}
        rows = next(iter(sizes))[0] if len(sizes) == 1 and sizes != {()} else None
        return None if rows is None or rows >= self._max_rows else rows

    def _opened(self, servable: Servable, name: str, key: Any) -> _Batch:
        """Returns a new batch, which keeps the version in memory until it is finished."""
        # A version that is replaced meanwhile stays loaded until its requests are answered.
        servable.acquire()
        batch = _Batch(servable, name, key)
        if key is not None:
            self._open[key] = batch
        if key is not None and self._window:
            loop = asyncio.get_running_loop()
            batch.held = loop.call_later(self._window, self._let_go, batch)
        else:
            self._waiting.append(batch)
        return batch

    def _let_go(self, batch: _Batch) -> None:
        """Ends the window of a batch, which then waits for a thread."""
        batch.held = None
        self._waiting.append(batch)
        self._start()

    def _close(self, batch: _Batch) -> None:
        """Closes a batch, so that no request can join it."""
        if self._open.get(batch.key) is batch:
            del self._open[batch.key]
        if batch.held is not None:
            batch.held.cancel()
            self._let_go(batch)

    def _start(self) -> None:
        """Assigns the free threads to the batches that have waited longest."""
        while self._free and self._waiting:
            batch = self._waiting.popleft()
            self._close(batch)
            self._free -= 1
            task = asyncio.create_task(self._answer(batch))
            # `asyncio` keeps only weak references to tasks: without a strong reference it could vanish.
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _answer(self, batch: _Batch) -> None:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, _outcomes, batch, self._metrics)
        except Exception as error:  # an error of the server, which reports it
            found = [error] * len(batch.answers)
        finally:
            batch.servable.release()
            self._free += 1
            self._start()
        for answer, outcome in zip(batch.answers, found, strict=True):
            if answer.done():  # The caller has disconnected.
                continue
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)


def _outcomes(batch: _Batch, metrics: Metrics) -> list[Arrays | Exception]:
    """Returns the outputs for each request, or its error; runs in a thread."""
    if len(batch.inputs) > 1:
        metrics.runs.add()
        joined = _joined(batch)
        if joined is not None:
            metrics.batch_sizes.add("tfkit-serving", value=batch.num_rows)
            return joined
    found: list[Arrays | Exception] = []
    for inputs, rows in zip(batch.inputs, batch.rows, strict=True):
        metrics.runs.add()
        metrics.batch_sizes.add("tfkit-serving", value=rows)
        try:
            found.append(batch.servable.run(batch.name, inputs))
        except Exception as error:
            found.append(error)
    return found


def _joined(batch: _Batch) -> list[Arrays | Exception] | None:
    """Returns the outputs of one run for all; `None` if the requests have to run separately.

    That is where an output does not have as many rows as the inputs, and after an error, which only the
    request that causes it shall get.
    """
    parts = batch.inputs
    try:
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        outputs = batch.servable.run(batch.name, whole)
    # One bad request must not fail the others: each runs alone then, and gets its own error.
    except (MemoryError, RequestError):
        return None
    # An output without a row for each input row cannot be divided among the requests.
    if any(array.shape[:1] != (batch.num_rows,) for array in outputs.values()):
        return None
    found: list[Arrays | Exception] = []
    start = 0
    for rows in batch.rows:
        found.append({name: array[start : start + rows] for name, array in outputs.items()})
        start += rows
    return found
