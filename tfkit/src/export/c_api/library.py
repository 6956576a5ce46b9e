"""Loads TensorFlow's C library: its location, its functions, its errors.

Reference: tensorflow/c/c_api.h
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Pointer, _int, _size, Text = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
_int64_array = ctypes.POINTER(ctypes.c_int64)
_pointer_array = ctypes.POINTER(Pointer)


class _Buffer(ctypes.Structure):
    _fields_ = [("data", Pointer), ("length", _size), ("deallocator", Pointer)]


class Port(ctypes.Structure):
    """TF_Output: one output of an operation."""

    _fields_ = [("operation", Pointer), ("index", _int)]


_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "TF_NewStatus": (Pointer, []),
    "TF_DeleteStatus": (None, [Pointer]),
    "TF_GetCode": (_int, [Pointer]),
    "TF_Message": (Text, [Pointer]),
    "TF_NewBuffer": (ctypes.POINTER(_Buffer), []),
    "TF_DeleteBuffer": (None, [ctypes.POINTER(_Buffer)]),
    "TF_NewGraph": (Pointer, []),
    "TF_DeleteGraph": (None, [Pointer]),
    "TF_GraphOperationByName": (Pointer, [Pointer, Text]),
    "TF_NewSessionOptions": (Pointer, []),
    "TF_DeleteSessionOptions": (None, [Pointer]),
    "TF_LoadSessionFromSavedModel": (
        Pointer,
        [Pointer, Pointer, Text, ctypes.POINTER(Text), _int, Pointer,
         ctypes.POINTER(_Buffer), Pointer],
    ),
    "TF_SessionRun": (
        None,
        [Pointer, Pointer, ctypes.POINTER(Port), _pointer_array, _int,
         ctypes.POINTER(Port), _pointer_array, _int, Pointer, _int, Pointer, Pointer],
    ),
    "TF_CloseSession": (None, [Pointer, Pointer]),
    "TF_DeleteSession": (None, [Pointer, Pointer]),
    "TF_AllocateTensor": (Pointer, [_int, _int64_array, _int, _size]),
    "TF_DeleteTensor": (None, [Pointer]),
    "TF_TensorType": (_int, [Pointer]),
    "TF_NumDims": (_int, [Pointer]),
    "TF_Dim": (ctypes.c_int64, [Pointer, _int]),
    "TF_TensorData": (Pointer, [Pointer]),
    "TF_TensorByteSize": (_size, [Pointer]),
    "TF_StringInit": (None, [Pointer]),
    "TF_StringCopy": (None, [Pointer, Text, _size]),
    "TF_StringGetDataPointer": (Pointer, [Pointer]),
    "TF_StringGetSize": (_size, [Pointer]),
    "TF_StringDealloc": (None, [Pointer]),
}  # fmt: skip


def find_library(folder: str | os.PathLike[str] | None = None) -> Path:
    """Returns the path of the file with TensorFlow's C API.

    Args:
        folder: the folder to search; the folder of the installed `tensorflow` package unless given.

    Raises:
        FileNotFoundError: if there is none.
    """
    if folder is None:
        # PathFinder only searches folders: it neither imports the package nor runs import hooks.
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


def load_library(library: str | os.PathLike[str] | None = None) -> ctypes.CDLL:
    """Returns the library, with the types of its functions set.

    Args:
        library: the file, or the folder that it is in; the one of the installed `tensorflow` unless given.

    Raises:
        FileNotFoundError: if there is none.
    """
    file = Path(library) if library is not None else None
    path = file if file and file.is_file() else find_library(file)
    loaded = ctypes.CDLL(os.fspath(path))
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


class StatusError(RuntimeError):
    """An error of TensorFlow: its message, and its code, a number of TF_Code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@contextlib.contextmanager
def status_of(library: ctypes.CDLL) -> Iterator[int]:
    """Context manager for the TF_Status of one call, whose error, if it has one, is raised at the end.

    Raises:
        StatusError: if the library reports an error.
    """
    status = library.TF_NewStatus()
    try:
        yield status
        if code := library.TF_GetCode(status):
            raise StatusError(code, library.TF_Message(status).decode(errors="replace"))
    finally:
        library.TF_DeleteStatus(status)
