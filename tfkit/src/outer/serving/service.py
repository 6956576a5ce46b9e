"""The server's functions for all interfaces: TF Serving's prediction and model services."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from tfkit.src.export.examples import CLASSIFY, REGRESS
from tfkit.src.outer.serving.batching import Arrays, Batcher
from tfkit.src.outer.serving.bodies.errors import Code, RequestError
from tfkit.src.outer.serving.messages import metadata_response, status_response
from tfkit.src.outer.serving.offload import Worker
from tfkit.src.outer.serving.servable import DEFAULT, Servable
from tfkit.src.outer.serving.store import Store

Read = Callable[[Servable], Awaitable[tuple[str, Arrays]]]


@dataclasses.dataclass(frozen=True)
class Answer:
    """Outputs by name, and their origin.

    Attributes:
        servable: the version that was used.
        signature_name: its signature.
        outputs: arrays by name.
        num_examples: how many rows the first input has; 0 where it has none.
        seconds: how long the request waited for the model and ran.
    """

    servable: Servable
    signature_name: str
    outputs: Arrays
    num_examples: int
    seconds: float


class Service:
    """Serves requests about the models of a store.

    Args:
        store: the models.
        batcher: the batcher that runs them.
        worker: the worker that reads and writes large messages.

    Every method takes the name of a model and a version, the newest if that is `None`, and raises
    `RequestError` for requests that it cannot serve.
    """

    def __init__(self, store: Store, batcher: Batcher, worker: Worker) -> None:
        self._store = store
        self._batcher = batcher
        self.worker = worker

    async def predict(
        self, name: str, version: int | None, read: Read, method_name: str | None = None
    ) -> Answer:
        """Returns the outputs of a signature by name, and the version and signature that computed them.

        Args:
            name: of the model.
            version: its number.
            read: returns the name of the signature, `serving_default` if it is empty, and the inputs, for
                the requested version.
            method_name: the required kind of signature; any unless given.
        """
        # The version stays in memory until the end, even if a newer one takes its place.
        with self._store.find(name, version).used() as servable:
            signature_name, inputs = await read(servable)
            signature_name = signature_name or DEFAULT
            servable.signature(signature_name, method_name)
            start = time.perf_counter()
            outputs = await self._batcher.run(servable, signature_name, inputs)
            seconds = time.perf_counter() - start
            first = next(iter(inputs.values()), np.zeros(()))
            rows = len(first) if first.ndim else 0
            return Answer(servable, signature_name, outputs, rows, seconds)

    async def classify(self, name: str, version: int | None, read: Read) -> Answer:
        """Returns `labels` (strings) and `scores` (float32) of each serialized `tf.Example`."""
        answer = await self.predict(name, version, read, CLASSIFY)
        scores, labels = answer.outputs.get("scores"), answer.outputs.get("classes")
        shape = next((each.shape for each in (scores, labels) if each is not None), ())
        if len(shape) != 2 or shape[0] != answer.num_examples:
            raise _unexpected("'classes' and 'scores' of shape (examples, classes)", answer)
        # A classifier may give only one of the two.
        if scores is None:
            scores = np.zeros(shape, np.float32)
        if labels is None:
            labels = np.full(shape, b"", object)
        if labels.shape != scores.shape or labels.dtype != object or scores.dtype != np.float32:
            raise _unexpected("'classes' of strings and 'scores' of float32", answer)
        return dataclasses.replace(answer, outputs={"labels": labels, "scores": scores})

    async def regress(self, name: str, version: int | None, read: Read) -> Answer:
        """Returns a number for each serialized `tf.Example`: `values`."""
        answer = await self.predict(name, version, read, REGRESS)
        values = answer.outputs.get("outputs")
        if values is None or values.dtype != np.float32 or values.size != answer.num_examples:
            raise _unexpected("'outputs' of float32, one for each example", answer)
        return dataclasses.replace(answer, outputs={"values": values.reshape(-1)})

    def is_ready(self, name: str | None = None, version: int | None = None) -> bool:
        """Whether a model is ready; any model unless one is named."""
        if name is None:
            return bool(self._store.names())
        try:
            self._store.find(name, version)
        except RequestError:
            return False
        return True

    def metadata(self, name: str, version: int | None) -> Any:
        """Returns a `GetModelMetadataResponse`."""
        servable = self._store.find(name, version)
        return metadata_response(name, servable.version, servable.signature_defs)

    def status(self, name: str, version: int | None) -> Any:
        """Returns a `GetModelStatusResponse`."""
        return status_response(self._store.statuses(name, version))


def _unexpected(expected: str, answer: Answer) -> RequestError:
    found = {name: (array.dtype.name, array.shape) for name, array in answer.outputs.items()}
    return RequestError(
        Code.FAILED_PRECONDITION, f"Expected the outputs {expected}. The model gives {found}"
    )
