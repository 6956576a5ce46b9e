"""Runs a SavedModel through TensorFlow's C library, without TensorFlow's Python.

This is the loader that TF Serving uses, so what runs here runs there. The file needs numpy and the
shared library of a TensorFlow wheel, nothing else: it imports neither `tensorflow` nor `tfkit`, and
may be copied away. A SavedModel is a program: run only those that you trust.

    python -P c_api.py MODEL_DIR --list
    python -P c_api.py MODEL_DIR --signature serving_default --inputs in.npz --outputs out.npz

Reference: tensorflow/c/c_api.h and tensorflow/core/protobuf/meta_graph.proto.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import dataclasses
import importlib.machinery
import os
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:  # bfloat16 is then refused with an error, and all else works
    ml_dtypes = None  # type: ignore[assignment,unused-ignore]

# --- Data types: the numbers of TF_DataType -------------------------------------------------------

_DTYPE_NAMES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
_DTYPE_NUMBERS = {name: number for number, name in _DTYPE_NAMES.items()}
_STRING = _DTYPE_NUMBERS["string"]


def _numpy_dtype(name: str) -> np.dtype[Any]:
    if name not in _DTYPE_NUMBERS:
        raise ValueError(f"Data type {name} is not supported. Supported: {sorted(_DTYPE_NUMBERS)}.")
    if name == "string":
        return np.dtype(object)
    if name == "bfloat16":
        if ml_dtypes is None:
            raise ValueError("A bfloat16 tensor needs the package ml_dtypes: install it.")
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


# --- Signatures, read from the bytes of a MetaGraphDef --------------------------------------------


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One input or output: its dtype's name, its shape and the graph tensor that it stands for.

    Unknown dimensions are `None`; `shape` is `None` where not even the rank is known.
    """

    dtype: str
    shape: tuple[int | None, ...] | None
    tensor: str


@dataclasses.dataclass(frozen=True)
class Signature:
    """Inputs and outputs of one signature, by name."""

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Field number and value (an int or bytes) of each field of a protobuf message, in order."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire_type == 2:
            size, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}[wire_type]
        yield number, data[at : at + size]
        at += size


def _map(data: memoryview, number: int) -> Iterator[tuple[str, memoryview]]:
    """Keys and values of the `map<string, message>` in field `number`, sorted by key."""
    entries = {}
    for field, entry in _fields(data):
        if field == number:
            pair = dict(_fields(entry))
            entries[bytes(pair.get(1, b"")).decode()] = pair.get(2, memoryview(b""))
    yield from sorted(entries.items())


def _dimension(data: memoryview) -> int | None:
    size = dict(_fields(data)).get(1, 0)
    return None if size >= 2**63 else size  # -1, written as an unsigned number


def _tensor_spec(data: memoryview) -> TensorSpec:
    info = dict(_fields(data))
    number = info.get(2, 0)
    shape = list(_fields(info.get(3, memoryview(b""))))
    unknown_rank = any(field == 3 and value for field, value in shape)
    return TensorSpec(
        dtype=_DTYPE_NAMES.get(number, f"TF_DataType({number})"),
        shape=None
        if unknown_rank
        else tuple(_dimension(dim) for field, dim in shape if field == 2),
        tensor=bytes(info.get(1, b"")).decode(),  # empty for sparse and composite tensors
    )


def _signatures(meta_graph: memoryview) -> dict[str, Signature]:
    return {
        name: Signature(
            inputs={key: _tensor_spec(info) for key, info in _map(signature, 1)},
            outputs={key: _tensor_spec(info) for key, info in _map(signature, 2)},
        )
        for name, signature in _map(meta_graph, 5)
        if not name.startswith("__saved_model_")  # the initializer, which the loader runs by itself
    }


# --- The C library --------------------------------------------------------------------------------

_pointer, _int, _size, _text = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
_int64_array = ctypes.POINTER(ctypes.c_int64)
_pointer_array = ctypes.POINTER(_pointer)
_TSTRING_SIZE = 24  # sizeof(TF_TString) where pointers have 64 bits


class _Buffer(ctypes.Structure):
    _fields_ = [("data", _pointer), ("length", _size), ("deallocator", _pointer)]


class _Port(ctypes.Structure):  # TF_Output: one output of an operation
    _fields_ = [("operation", _pointer), ("index", _int)]


_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "TF_NewStatus": (_pointer, []),
    "TF_DeleteStatus": (None, [_pointer]),
    "TF_GetCode": (_int, [_pointer]),
    "TF_Message": (_text, [_pointer]),
    "TF_NewBuffer": (ctypes.POINTER(_Buffer), []),
    "TF_DeleteBuffer": (None, [ctypes.POINTER(_Buffer)]),
    "TF_NewGraph": (_pointer, []),
    "TF_DeleteGraph": (None, [_pointer]),
    "TF_GraphOperationByName": (_pointer, [_pointer, _text]),
    "TF_NewSessionOptions": (_pointer, []),
    "TF_DeleteSessionOptions": (None, [_pointer]),
    "TF_LoadSessionFromSavedModel": (
        _pointer,
        [_pointer, _pointer, _text, ctypes.POINTER(_text), _int, _pointer,
         ctypes.POINTER(_Buffer), _pointer],
    ),
    "TF_SessionRun": (
        None,
        [_pointer, _pointer, ctypes.POINTER(_Port), _pointer_array, _int,
         ctypes.POINTER(_Port), _pointer_array, _int, _pointer, _int, _pointer, _pointer],
    ),
    "TF_CloseSession": (None, [_pointer, _pointer]),
    "TF_DeleteSession": (None, [_pointer, _pointer]),
    "TF_AllocateTensor": (_pointer, [_int, _int64_array, _int, _size]),
    "TF_DeleteTensor": (None, [_pointer]),
    "TF_TensorType": (_int, [_pointer]),
    "TF_NumDims": (_int, [_pointer]),
    "TF_Dim": (ctypes.c_int64, [_pointer, _int]),
    "TF_TensorData": (_pointer, [_pointer]),
    "TF_TensorByteSize": (_size, [_pointer]),
    "TF_StringInit": (None, [_pointer]),
    "TF_StringCopy": (None, [_pointer, _text, _size]),
    "TF_StringGetDataPointer": (_pointer, [_pointer]),
    "TF_StringGetSize": (_size, [_pointer]),
    "TF_StringDealloc": (None, [_pointer]),
}  # fmt: skip


def find_library(folder: str | os.PathLike[str] | None = None) -> Path:
    """The file with TensorFlow's C API.

    Args:
        folder: where to look; the folder of the installed `tensorflow` package unless given.

    Raises:
        FileNotFoundError: where there is none.
    """
    if folder is None:
        # PathFinder only looks at folders: it neither imports the package nor asks import hooks.
        spec = importlib.machinery.PathFinder.find_spec("tensorflow")
        if spec is None or not spec.submodule_search_locations:
            raise FileNotFoundError(
                "No TensorFlow is installed for this Python. Install the tensorflow wheel, or name "
                "the folder of the library with `library=`."
            )
        folder = next(iter(spec.submodule_search_locations))
    names = ("libtensorflow_cc.so.2", "libtensorflow_cc.2.dylib", "libtensorflow.so.2")
    for name in names:
        if (found := Path(folder, name)).exists():
            return found
    raise FileNotFoundError(f"Expected one of {names} in a folder. Received: {os.fspath(folder)!r}")


def _load_library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(os.fspath(path))
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class StatusError(RuntimeError):
    """TensorFlow's own message about what went wrong, and its code, a number of TF_Code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


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
        file = Path(library) if library is not None else None
        self._c = _load_library(file if file and file.is_file() else find_library(file))
        self._graph = self._c.TF_NewGraph()
        self._ports: dict[str, _Port] = {}
        encoded = [tag.encode() for tag in tags]
        options = self._c.TF_NewSessionOptions()
        meta_graph = self._c.TF_NewBuffer()
        try:
            with self._status() as status:
                self._session = self._c.TF_LoadSessionFromSavedModel(
                    options, None, os.fsencode(path), (_text * len(encoded))(*encoded),
                    len(encoded), self._graph, meta_graph, status,
                )  # fmt: skip
            data, length = meta_graph.contents.data, meta_graph.contents.length
            self.signatures = _signatures(memoryview(ctypes.string_at(data, length)))
        except BaseException:
            self.close()
            raise
        finally:
            self._c.TF_DeleteBuffer(meta_graph)
            self._c.TF_DeleteSessionOptions(options)

    def run(self, signature: str = "serving_default", /, **inputs: Any) -> dict[str, np.ndarray]:
        """The outputs of a signature, by name.

        Args:
            signature: one of `signatures`.
            **inputs: one array for each input, of exactly its dtype: nothing is cast. Strings come
                as arrays of `bytes` or `str`, and go out as object arrays of `bytes`.

        Raises:
            ValueError: for an unknown signature and for inputs that do not fit it.
            StatusError: a RuntimeError, with TensorFlow's own message, when the run fails.
            RuntimeError: for a model that is closed.
        """
        if self._session is None:
            raise RuntimeError("The model is closed: make a new SavedModel to run it.")
        if signature not in self.signatures:
            raise ValueError(
                f"Unknown signature. Expected one of {sorted(self.signatures)}. "
                f"Received: {signature!r}"
            )
        specs = self.signatures[signature]
        if inputs.keys() != specs.inputs.keys():
            raise ValueError(
                f"Signature {signature!r} takes the inputs {sorted(specs.inputs)}. "
                f"Received: {sorted(inputs)}"
            )
        arrays = {name: _checked(name, inputs[name], spec) for name, spec in specs.inputs.items()}
        sources = [self._port(name, spec) for name, spec in specs.inputs.items()]
        targets = [self._port(name, spec) for name, spec in specs.outputs.items()]

        results = (_pointer * len(targets))()
        with contextlib.ExitStack() as stack:
            tensors = [stack.enter_context(self._tensor(array)) for array in arrays.values()]
            with self._status() as status:
                self._c.TF_SessionRun(
                    self._session, None,
                    (_Port * len(sources))(*sources), (_pointer * len(tensors))(*tensors),
                    len(sources), (_Port * len(targets))(*targets), results, len(targets),
                    None, 0, None, status,
                )  # fmt: skip
            for result in results:
                stack.callback(self._c.TF_DeleteTensor, result)
            return {
                name: self._array(result)
                for name, result in zip(specs.outputs, results, strict=True)
            }

    def close(self) -> None:
        """Gives the memory back. The model cannot run afterwards."""
        if self._session is not None:
            session, self._session = self._session, None
            with self._status() as status:
                self._c.TF_CloseSession(session, status)
            with self._status() as status:
                self._c.TF_DeleteSession(session, status)
        if self._graph is not None:
            graph, self._graph = self._graph, None
            self._c.TF_DeleteGraph(graph)

    def __enter__(self) -> SavedModel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _status(self) -> Iterator[int]:
        """A TF_Status for one call; afterwards its error, if it has one, is raised."""
        status = self._c.TF_NewStatus()
        try:
            yield status
            if code := self._c.TF_GetCode(status):
                raise StatusError(code, self._c.TF_Message(status).decode(errors="replace"))
        finally:
            self._c.TF_DeleteStatus(status)

    def _port(self, name: str, spec: TensorSpec) -> _Port:
        """The graph output that a spec names, as in `serving_default_x:0`."""
        if spec.tensor not in self._ports:
            operation, _, index = spec.tensor.partition(":")
            if not operation:
                raise ValueError(f"{name!r} is a sparse or composite tensor: only dense ones work.")
            found = self._c.TF_GraphOperationByName(self._graph, operation.encode())
            if not found:
                raise ValueError(f"{name!r} names {spec.tensor!r}, which is not in the graph.")
            self._ports[spec.tensor] = _Port(found, int(index or 0))
        return self._ports[spec.tensor]

    @contextlib.contextmanager
    def _tensor(self, array: np.ndarray) -> Iterator[int]:
        """A TF_Tensor with a copy of the array. An object array holds `bytes`."""
        is_string = array.dtype == object
        number = _STRING if is_string else _DTYPE_NUMBERS[array.dtype.name]
        size = array.size * _TSTRING_SIZE if is_string else array.nbytes
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor = self._c.TF_AllocateTensor(number, shape, array.ndim, size)
        data = self._c.TF_TensorData(tensor)
        cells = []
        if is_string:
            cells = [data + _TSTRING_SIZE * index for index in range(array.size)]
            for cell, text in zip(cells, array.flat, strict=True):
                self._c.TF_StringInit(cell)
                self._c.TF_StringCopy(cell, text, len(text))
        elif size:
            ctypes.memmove(data, array.ctypes.data, size)
        try:
            yield tensor
        finally:
            for cell in cells:  # a tensor that we allocated does not free its strings by itself
                self._c.TF_StringDealloc(cell)
            self._c.TF_DeleteTensor(tensor)

    def _array(self, tensor: int) -> np.ndarray:
        """A copy of a TF_Tensor."""
        number = self._c.TF_TensorType(tensor)
        dtype = _numpy_dtype(_DTYPE_NAMES.get(number, f"TF_DataType({number})"))
        shape = tuple(self._c.TF_Dim(tensor, axis) for axis in range(self._c.TF_NumDims(tensor)))
        array = np.empty(shape, dtype)
        if array.size == 0:
            return array
        data = self._c.TF_TensorData(tensor)
        if number == _STRING:
            for index in range(array.size):
                cell = data + _TSTRING_SIZE * index
                text, size = self._c.TF_StringGetDataPointer(cell), self._c.TF_StringGetSize(cell)
                array.flat[index] = ctypes.string_at(text, size)
        else:
            ctypes.memmove(array.ctypes.data, data, array.nbytes)
        return array


def _checked(name: str, value: Any, spec: TensorSpec) -> np.ndarray:
    """The value as an array in C order, after a look at its dtype and shape."""
    array = np.asarray(value, order="C")
    if array.dtype.kind in "SUO" and spec.dtype == "string":
        array = _as_bytes(name, array)
    expected = _numpy_dtype(spec.dtype)
    if array.dtype != expected:
        raise ValueError(
            f"Input {name!r} expects dtype {spec.dtype}: convert the array with "
            f"`.astype({spec.dtype!r})` if that is what you mean. Received: {array.dtype}"
        )
    fits = spec.shape is None or (
        array.ndim == len(spec.shape)
        and all(want in (None, got) for want, got in zip(spec.shape, array.shape, strict=True))
    )
    if not fits:
        raise ValueError(f"Input {name!r} expects shape {spec.shape}. Received: {array.shape}")
    return array


def _as_bytes(name: str, array: np.ndarray) -> np.ndarray:
    """The array with each `str` in UTF-8."""
    result = np.empty(array.shape, object)
    for index, text in enumerate(array.flat):
        if not isinstance(text, str | bytes):
            raise ValueError(
                f"Input {name!r} expects dtype string: an array of `bytes` or `str`. "
                f"Received an element of type {type(text).__name__}"
            )
        result.flat[index] = text.encode() if isinstance(text, str) else bytes(text)
    return result


# --- Command line ---------------------------------------------------------------------------------


def _load_npz(path: str, specs: dict[str, TensorSpec]) -> dict[str, np.ndarray]:
    """Arrays of an .npz file, which keeps only the bytes of a bfloat16 array, not its dtype."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name, array in arrays.items():
        if array.dtype == np.dtype("V2") and name in specs and specs[name].dtype == "bfloat16":
            arrays[name] = array.view(_numpy_dtype("bfloat16"))
    return arrays


def _save_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    """`np.savez` for any names: it takes an array named `file` for its own argument."""
    for name, array in arrays.items():
        if array.dtype == object and any(text.endswith(b"\0") for text in array.flat):
            raise ValueError(
                f"Output {name!r} has a string that ends in a zero byte: .npz drops it."
            )
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            plain = array.astype(bytes) if array.dtype == object else array  # no pickled objects
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, plain, allow_pickle=False)


def _describe(specs: dict[str, TensorSpec]) -> str:
    return ", ".join(f"{name}: {spec.dtype} {spec.shape}" for name, spec in specs.items()) or "none"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: lists signatures, or runs one on an .npz file."""
    parser = argparse.ArgumentParser(description="Runs a SavedModel through TensorFlow's C API.")
    parser.add_argument("model_dir", help="folder with saved_model.pb")
    parser.add_argument("--library", help="folder of TensorFlow's C library, or the file itself")
    parser.add_argument("--list", action="store_true", help="print the signatures and stop")
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--inputs", help=".npz file with one array for each input")
    parser.add_argument("--outputs", help=".npz file to write")
    options = parser.parse_args(arguments)
    if not options.list and not (options.inputs and options.outputs):
        parser.error("give --inputs and --outputs, or --list")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        with SavedModel(options.model_dir, library=options.library) as model:
            if options.list:
                for name, signature in model.signatures.items():
                    print(name)
                    print(f"  inputs   {_describe(signature.inputs)}")
                    print(f"  outputs  {_describe(signature.outputs)}")
                return
            specs = model.signatures.get(options.signature)
            inputs = _load_npz(options.inputs, specs.inputs if specs else {})
            _save_npz(options.outputs, model.run(options.signature, **inputs))
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
