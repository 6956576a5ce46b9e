"""The wire format of protocol buffers, for messages whose classes are not at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def _varint(value: int) -> bytes:
    """Returns an integer of 0 or more as bytes of seven bits, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def field(number: int, content: bytes) -> bytes:
    """Returns a field of kind 2: a message or a string."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields number and value of each field of a message; values are integers and bytes.

    Raises:
        ValueError: for any other kind of field.
    """
    place = 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        tag = number()
        value = number()
        if tag & 7 == 2:
            yield tag >> 3, message[place : place + value]
            place += value
        elif tag & 7 == 0:
            yield tag >> 3, value
        else:
            raise ValueError(f"a field of kind {tag & 7}")
