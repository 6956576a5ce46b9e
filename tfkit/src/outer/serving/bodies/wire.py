"""Sends values and arrays between the server and its reader through a socket, without copying arrays.

A frame is a short header in JSON, then the bytes of each array. They are received into their memory by one
system call after the other, which do not hold Python's lock.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Sent = Mapping[str, np.ndarray | list[bytes | bytearray]]  # a list is one array of bytes, in parts
_SIZE = struct.Struct("!Q")


def send(connection: socket.socket, value: Any, arrays: Sent) -> None:
    """Sends a value and arrays by name; object arrays are of `bytes`.

    The value is made of strings, bytes, numbers, `None`, tuples, and dicts whose keys are strings.
    """
    specs: list[Any] = []
    buffers: list[Any] = []
    for name, array in arrays.items():
        if isinstance(array, list):
            size = sum(map(len, array))
            specs.append((name, (size,), [("|u1", size)]))
            buffers += array
            continue
        is_string = array.dtype == object
        parts = _strings_apart(array) if is_string else [np.ascontiguousarray(array).reshape(-1)]
        specs.append((name, array.shape, [(part.dtype.str, part.size) for part in parts]))
        buffers += [part.view(np.uint8).data for part in parts if part.size]
    header = json.dumps(_as_json((value, specs))).encode()
    connection.sendall(_SIZE.pack(len(header)) + header)
    for buffer in buffers:
        connection.sendall(buffer)


def receive(connection: socket.socket) -> tuple[Any, Arrays]:
    """Returns the value and the arrays that `send` has sent.

    Raises:
        EOFError: if the other side has gone.
    """
    size = np.empty(_SIZE.size, np.uint8)
    _fill(connection, size)
    header = np.empty(_SIZE.unpack(size.tobytes())[0], np.uint8)
    _fill(connection, header)
    value, specs = _from_json(json.loads(header.tobytes()))
    arrays = {}
    for name, shape, parts in specs:
        received = []
        for dtype, count in parts:
            received.append(np.empty(count, dtype))
            _fill(connection, received[-1])
        flat = received[0] if len(parts) == 1 else _strings_together(*received)
        arrays[name] = flat.reshape(shape)
    return value, arrays


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"dict": {key: _as_json(item) for key, item in value.items()}}
    return [_as_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def _from_json(value: Any) -> Any:
    """Returns the argument of `_as_json`, with tuples for lists."""
    if isinstance(value, dict):
        if "bytes" in value:
            return base64.b64decode(value["bytes"])
        return {key: _from_json(item) for key, item in value["dict"].items()}
    return tuple(_from_json(item) for item in value) if isinstance(value, list) else value


def _fill(connection: socket.socket, array: np.ndarray) -> None:
    view = array.view(np.uint8).data if array.size else memoryview(b"")
    while view:
        count = connection.recv_into(view)
        if not count:
            raise EOFError("The other process has ended.")
        view = view[count:]


def _strings_apart(array: np.ndarray) -> list[np.ndarray]:
    """Returns the end of each string, and all strings concatenated."""
    strings = array.reshape(-1).tolist()
    ends = np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)))
    return [ends, np.frombuffer(b"".join(strings), np.uint8)]


def _strings_together(ends: np.ndarray, content: np.ndarray) -> np.ndarray:
    data, positions = content.tobytes(), ends.tolist()
    array = np.empty(len(positions), object)
    array[:] = [data[start:end] for start, end in zip([0, *positions], positions, strict=False)]
    return array
