"""One version of a model in memory."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.export.c_api import SavedModel, Signature, StatusError
from tfkit.src.export.warmup import FILE
from tfkit.src.outer.serving import packages
from tfkit.src.outer.serving.bodies import protos
from tfkit.src.outer.serving.bodies.errors import RequestError, invalid
from tfkit.src.outer.serving.scan import meta_graph_of

DEFAULT = "serving_default"
_log = logging.getLogger("tfkit.serving")
_LARGEST_MESSAGE = 2**31 - 1  # bytes


class Servable:
    """A loaded SavedModel, and the number of requests that use it.

    Args:
        folder: the SavedModel.
        name: of the model.
        version: its number.
        trusted: whether it may have operations on files, other machines, processes or Python.

    Attributes:
        signature_defs: the signatures as the file has them.
        dtypes: of the inputs of each signature, by name; the default one has the name "" too.

    Raises:
        LoadError: for a model that is refused, or is none.
        RuntimeError: if TensorFlow cannot load it.
        RequestError: if one of its warm-up requests fails.
    """

    def __init__(self, folder: Path, name: str, version: int, trusted: bool = False) -> None:
        self.name = name
        self.version = version
        self.signature_defs = dict(meta_graph_of(str(folder), trusted).signature_def)
        self._model = SavedModel(folder)
        signatures = self._model.signatures
        self._rows = {key for key, signature in signatures.items() if _has_rows(signature)}
        self._forms = {key: _form(signature) for key, signature in signatures.items()}
        self.dtypes = {
            key: {each: spec.dtype for each, spec in signature.inputs.items()}
            for key, signature in signatures.items()
        }
        if DEFAULT in self.dtypes:
            # A request without a signature name means the default one.
            self.dtypes[""] = self.dtypes[DEFAULT]
        self._users = 0
        self._idle = asyncio.Event()
        self._idle.set()
        try:
            # Before the version is available: the first real request is then as fast as any.
            self._warm_up(folder / FILE)
        except BaseException:
            self.close()
            raise

    def signature(self, name: str, method_name: str | None = None) -> Signature:
        """Returns a signature by its name.

        Args:
            name: the name.
            method_name: the kind of requests that it must serve; any unless given.

        Raises:
            RequestError: if there is none.
        """
        if name not in self._model.signatures:
            raise invalid(
                f'Serving signature name: "{name}" not found in signature def. Signatures of {self.name}: '
                f"{sorted(self._model.signatures)}"
            )
        found = self.signature_defs[name].method_name
        if method_name is not None and found != method_name:
            raise invalid(
                f'Signature "{name}" has the method name {found}. Expected: {method_name}'
            )
        return self._model.signatures[name]

    def has_rows(self, name: str) -> bool:
        """Whether rows of a signature's outputs seem to depend only on the same rows of its inputs."""
        return name in self._rows

    def run(self, signature: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature by name. Several threads may call it at once.

        Raises:
            RequestError: for inputs that do not fit, and for errors of the model.
        """
        try:
            return self._model.run(signature, **inputs)
        except ValueError as error:
            raise invalid(str(error)) from None
        except StatusError as error:
            raise RequestError(error.code, str(error)) from None

    def acquire(self) -> None:
        """Keeps the version in memory until `release`. Both must be called in the event loop's thread."""
        self._users += 1
        self._idle.clear()

    def release(self) -> None:
        """Reverts one `acquire`."""
        self._users -= 1
        if not self._users:
            self._idle.set()

    @contextlib.contextmanager
    def used(self) -> Iterator[Servable]:
        """Context manager that keeps the version in memory."""
        self.acquire()
        try:
            yield self
        finally:
            self.release()

    async def unused(self) -> None:
        """Waits until nothing uses the version."""
        await self._idle.wait()

    def close(self) -> None:
        """Frees the memory."""
        self._model.close()

    def _warm_up(self, file: Path) -> None:
        """Runs the recorded requests of the model, as TF Serving does."""
        if not file.exists():
            return
        for record in tf.data.TFRecordDataset(str(file)):
            log = packages.prediction_log_pb2.PredictionLog.FromString(record.numpy())
            kind = log.WhichOneof("log_type")
            if kind in ("predict_log", "classify_log", "regress_log"):
                request: Any = getattr(log, kind).request
                name, inputs = request.model_spec.signature_name or DEFAULT, _inputs(request)
                self.run(name, inputs)
                self._check_rows(self.signature(name), inputs)

    def _check_rows(self, like: Signature, inputs: dict[str, np.ndarray]) -> None:
        """Finds signatures whose rows depend on each other, among those that take the same inputs."""
        # One row shows nothing about the influence of others.
        if {array.shape[:1] for array in inputs.values()} <= {(), (0,), (1,)}:
            return
        first = {name: array[:1] for name, array in inputs.items()}
        for name in sorted(self._rows):
            if self._forms[name] == _form(like):
                whole, alone = self.run(name, inputs), self.run(name, first)
                if not all(_same(whole[each][:1], alone[each]) for each in whole):
                    self._rows.discard(name)
                    _log.warning(
                        "Model %s, version %d: a row of signature %r has different outputs in a batch "
                        "with other rows: requests are not batched",
                        self.name,
                        self.version,
                        name,
                    )


def _form(signature: Signature) -> Any:
    return {name: (spec.dtype, spec.shape) for name, spec in signature.inputs.items()}


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether arrays are equal; for floats, up to rounding."""
    if one.shape != other.shape or one.dtype == object or one.dtype.kind not in "fcV":
        return bool(np.array_equal(one, other))
    one, other = one.astype(np.complex128), other.astype(np.complex128)
    # A tolerance relative to the largest value: a matrix product of more rows may round small ones
    # differently.
    size = np.max(np.abs(one), initial=0.0, where=np.isfinite(one))
    return bool(np.allclose(one, other, rtol=1e-3, atol=1e-3 * size, equal_nan=True))


def _has_rows(signature: Signature) -> bool:
    """Whether the first dimension of all inputs and outputs is free."""
    specs = [*signature.inputs.values(), *signature.outputs.values()]
    return bool(signature.inputs) and all(spec.shape and spec.shape[0] is None for spec in specs)


def _inputs(request: Any) -> dict[str, np.ndarray]:
    if hasattr(request, "inputs"):
        (_, _, narrow), inputs = protos.predict_request(request, _LARGEST_MESSAGE)
        return with_bfloat16(inputs, narrow)
    return protos.examples_request(request)[1]


def with_bfloat16(inputs: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    """Returns the inputs of a gRPC request, with those that arrived as uint16 as bfloat16."""
    bfloat16 = tf.bfloat16.as_numpy_dtype
    return {
        name: array.view(bfloat16) if name in names else array for name, array in inputs.items()
    }
