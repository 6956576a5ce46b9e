"""The wire format of `tf.train.Example`, without TensorFlow.

Reference: tensorflow/core/example/example.proto, feature.proto
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np


def example(features: Mapping[str, bytes]) -> bytes:
    """Returns a serialized `tf.train.Example` with features by name, made by the functions below.

    `b""` is a feature without a value.
    """
    entries = [
        _field(1, _field(1, name.encode()) + _field(2, feature))
        for name, feature in features.items()
    ]
    return _field(1, b"".join(entries))


def bytes_list(values: Iterable[bytes]) -> bytes:
    """Returns a feature of strings."""
    return _field(1, b"".join(_field(1, value) for value in values))


def float_list(values: np.ndarray) -> bytes:
    """Returns a feature of float32 values."""
    return _field(2, _field(1, values.astype("<f4").tobytes()))


def int64_list(values: Iterable[int]) -> bytes:
    """Returns a feature of integers. Negative ones are written modulo 2**64."""
    return _field(3, _field(1, b"".join(_varint(int(value) % 2**64) for value in values)))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
