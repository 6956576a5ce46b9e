"""What the server does, whichever way it is asked: TF Serving's prediction and model services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfkit.export.c_api import Signature
from tfkit.export.examples import CLASSIFY, REGRESS
from tfkit.serving.batching import Arrays, Batcher
from tfkit.serving.errors import Code, RequestError
from tfkit.serving.messages import metadata_response, status_response
from tfkit.serving.offload import Worker
from tfkit.serving.servable import DEFAULT, Servable
from tfkit.serving.store import Store


class Service:
    """Answers requests about the models of a store.

    Args:
        store: the models.
        batcher: what runs them.
        worker: what reads and writes large messages.

    Every method takes the name of a model and a version, the newest where that is `None`, and raises
    `RequestError` for what it cannot answer.
    """

    def __init__(self, store: Store, batcher: Batcher, worker: Worker) -> None:
        self._store = store
        self._batcher = batcher
        self.worker = worker

    async def predict(
        self,
        name: str,
        version: int | None,
        signature_name: str,
        read: Callable[[Signature], Arrays],
        size: int,
        method_name: str | None = None,
    ) -> tuple[Servable, Arrays]:
        """The version that answered, and the outputs of a signature by name.

        Args:
            name: of the model.
            version: its number.
            signature_name: `serving_default` where it is empty.
            read: gives the inputs, for the signature that they are for.
            size: bytes that it reads.
            method_name: the kind of signature that is meant; any unless given.
        """
        with self._store.find(name, version).used() as servable:
            signature_name = signature_name or DEFAULT
            signature = servable.signature(signature_name, method_name)
            inputs = await self.worker.run(size, lambda: read(signature))
            return servable, await self._batcher.run(servable, signature_name, inputs)

    async def classify(
        self, name: str, version: int | None, signature_name: str, examples: Sequence[bytes]
    ) -> tuple[Servable, list[list[tuple[str, float]]]]:
        """The version that answered, and pairs of label and score for each serialized `tf.Example`."""
        servable, outputs = await self.predict(
            name, version, signature_name, lambda _: _examples(examples), 0, CLASSIFY
        )
        scores, classes = outputs.get("scores"), outputs.get("classes")
        shape = next((each.shape for each in (scores, classes) if each is not None), ())
        if len(shape) != 2 or shape[0] != len(examples):
            raise _unexpected("'classes' and 'scores' of shape (examples, classes)", outputs)
        if scores is None:
            scores = np.zeros(shape, np.float32)
        labels = np.full(shape, b"", object) if classes is None else classes
        if labels.shape != scores.shape or labels.dtype != object or scores.dtype != np.float32:
            raise _unexpected("'classes' of strings and 'scores' of float32", outputs)
        return servable, [
            [
                (label.decode(errors="replace"), score.item())
                for label, score in zip(*row, strict=True)
            ]
            for row in zip(labels, scores, strict=True)
        ]

    async def regress(
        self, name: str, version: int | None, signature_name: str, examples: Sequence[bytes]
    ) -> tuple[Servable, np.ndarray]:
        """The version that answered, and a number for each serialized `tf.Example`."""
        servable, outputs = await self.predict(
            name, version, signature_name, lambda _: _examples(examples), 0, REGRESS
        )
        values = outputs.get("outputs")
        if values is None or values.dtype != np.float32 or values.size != len(examples):
            raise _unexpected("'outputs' of float32, one for each example", outputs)
        return servable, values.reshape(-1)

    def metadata(self, name: str, version: int | None) -> Any:
        """A `GetModelMetadataResponse`."""
        servable = self._store.find(name, version)
        return metadata_response(name, servable.version, servable.signature_defs)

    def status(self, name: str, version: int | None) -> Any:
        """A `GetModelStatusResponse`."""
        return status_response(self._store.statuses(name, version))


def _examples(examples: Sequence[bytes]) -> Arrays:
    inputs = np.empty(len(examples), object)
    inputs[:] = examples
    return {"inputs": inputs}


def _unexpected(expected: str, outputs: Arrays) -> RequestError:
    found = {name: (array.dtype.name, array.shape) for name, array in outputs.items()}
    return RequestError(
        Code.FAILED_PRECONDITION, f"Expected the outputs {expected}. The model gives {found}"
    )
