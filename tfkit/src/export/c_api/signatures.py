"""Reads signatures from the bytes of a MetaGraphDef.

Reference: tensorflow/core/protobuf/meta_graph.proto
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from .dtypes import NAMES


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One input or output: its dtype's name, its shape and its tensor in the graph.

    Unknown dimensions are `None`; `shape` is `None` if not even the rank is known.
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
    """Yields field number and value (an int or bytes) of each field of a protobuf message, in order."""
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
    """Yields keys and values of the `map<string, message>` in field `number`, sorted by key."""
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
        dtype=NAMES.get(number, f"TF_DataType({number})"),
        shape=None
        if unknown_rank
        else tuple(_dimension(dim) for field, dim in shape if field == 2),
        tensor=bytes(info.get(1, b"")).decode(),  # empty for sparse and composite tensors
    )


def signatures_of(meta_graph: memoryview) -> dict[str, Signature]:
    """Returns the signatures of a serialized MetaGraphDef, by name."""
    return {
        name: Signature(
            inputs={key: _tensor_spec(info) for key, info in _map(signature, 1)},
            outputs={key: _tensor_spec(info) for key, info in _map(signature, 2)},
        )
        for name, signature in _map(meta_graph, 5)
        # the initializer, which the loader runs automatically
        if not name.startswith("__saved_model_")
    }
