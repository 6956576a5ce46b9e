"""Runs a SavedModel in a session of TensorFlow's C library."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .inputs import checked
from .library import Pointer, Port, Text, load_library, status_of
from .signatures import Signature, TensorSpec, signatures_of
from .tensors import array_of, tensor_of


class SavedModel:
    """A loaded SavedModel, ready to run.

    Args:
        path: the folder with `saved_model.pb`.
        tags: the tags of the wanted graph in it.
        library: the folder of TensorFlow's C library, or the file itself; found in the installed
            `tensorflow` package unless given.

    Raises:
        StatusError: a RuntimeError, with TensorFlow's own message, when it cannot load the model.

    Use it in a `with` block, or call `close()` when done.
    """

    signatures: dict[str, Signature]

    def __init__(
        self,
        path: str | os.PathLike[str],
        tags: Sequence[str] = ("serve",),
        library: str | os.PathLike[str] | None = None,
    ) -> None:
        self._session = self._graph = None
        self._c = load_library(library)
        self._graph = self._c.TF_NewGraph()
        self._ports: dict[str, Port] = {}
        encoded = [tag.encode() for tag in tags]
        options = self._c.TF_NewSessionOptions()
        meta_graph = self._c.TF_NewBuffer()
        try:
            with status_of(self._c) as status:
                self._session = self._c.TF_LoadSessionFromSavedModel(
                    options, None, os.fsencode(path), (Text * len(encoded))(*encoded),
                    len(encoded), self._graph, meta_graph, status,
                )  # fmt: skip
            data, length = meta_graph.contents.data, meta_graph.contents.length
            self.signatures = signatures_of(memoryview(ctypes.string_at(data, length)))
        except BaseException:
            self.close()
            raise
        finally:
            self._c.TF_DeleteBuffer(meta_graph)
            self._c.TF_DeleteSessionOptions(options)

    def run(self, signature: str = "serving_default", /, **inputs: Any) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature, by name.

        Args:
            signature: one of `signatures`.
            **inputs: one array for each input, of exactly its dtype: nothing is cast. Strings are given
                as arrays of `bytes` or `str`, and returned as object arrays of `bytes`.

        Raises:
            ValueError: for an unknown signature and for inputs that do not fit it.
            StatusError: a RuntimeError, with TensorFlow's own message, when the run fails.
            RuntimeError: for a model that is closed.
        """
        if self._session is None:
            raise RuntimeError("The model is closed: make a new SavedModel to run it.")
        if signature not in self.signatures:
            raise ValueError(
                f"Unknown signature. Expected one of {sorted(self.signatures)}. Received: {signature!r}"
            )
        specs = self.signatures[signature]
        if inputs.keys() != specs.inputs.keys():
            raise ValueError(
                f"Signature {signature!r} takes the inputs {sorted(specs.inputs)}. Received: {sorted(inputs)}"
            )
        arrays = {name: checked(name, inputs[name], spec) for name, spec in specs.inputs.items()}
        sources = [self._port(name, spec) for name, spec in specs.inputs.items()]
        targets = [self._port(name, spec) for name, spec in specs.outputs.items()]

        results = (Pointer * len(targets))()
        with contextlib.ExitStack() as stack:
            tensors = [stack.enter_context(tensor_of(self._c, array)) for array in arrays.values()]
            with status_of(self._c) as status:
                self._c.TF_SessionRun(
                    self._session, None,
                    (Port * len(sources))(*sources), (Pointer * len(tensors))(*tensors),
                    len(sources), (Port * len(targets))(*targets), results, len(targets),
                    None, 0, None, status,
                )  # fmt: skip
            for result in results:
                stack.callback(self._c.TF_DeleteTensor, result)
            return {
                name: array_of(self._c, result)
                for name, result in zip(specs.outputs, results, strict=True)
            }

    def close(self) -> None:
        """Frees the memory. The model cannot run afterwards."""
        if self._session is not None:
            session, self._session = self._session, None
            with status_of(self._c) as status:
                self._c.TF_CloseSession(session, status)
            with status_of(self._c) as status:
                self._c.TF_DeleteSession(session, status)
        if self._graph is not None:
            graph, self._graph = self._graph, None
            self._c.TF_DeleteGraph(graph)

    def __enter__(self) -> SavedModel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _port(self, name: str, spec: TensorSpec) -> Port:
        """Returns the graph output that a spec names, as in `serving_default_x:0`."""
        if spec.tensor not in self._ports:
            operation, _, index = spec.tensor.partition(":")
            if not operation:
                raise ValueError(f"{name!r} is a sparse or composite tensor: only dense ones work.")
            found = self._c.TF_GraphOperationByName(self._graph, operation.encode())
            if not found:
                raise ValueError(f"{name!r} names {spec.tensor!r}, which is not in the graph.")
            self._ports[spec.tensor] = Port(found, int(index or 0))
        return self._ports[spec.tensor]
