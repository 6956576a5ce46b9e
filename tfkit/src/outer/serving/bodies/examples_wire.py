"""The wire format of `tf.train.Example`, without TensorFlow.

Reference: tensorflow/core/example/example.proto, feature.proto
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tfkit.src.base.protobuf import field, varint


def example(features: Mapping[str, bytes]) -> bytes:
    """Returns a serialized `tf.train.Example` with features by name, made by the functions below.

    `b""` is a feature without a value.
    """
    entries = [
        field(1, field(1, name.encode()) + field(2, feature)) for name, feature in features.items()
    ]
    return field(1, b"".join(entries))


def bytes_list(values: Iterable[bytes]) -> bytes:
    """Returns a feature of strings."""
    return field(1, b"".join(field(1, value) for value in values))


def float_list(values: np.ndarray) -> bytes:
    """Returns a feature of float32 values."""
    return field(2, field(1, values.astype("<f4").tobytes()))


def int64_list(values: Iterable[int]) -> bytes:
    """Returns a feature of integers. Negative ones are written modulo 2**64."""
    return field(3, field(1, b"".join(varint(int(value) % 2**64) for value in values)))
