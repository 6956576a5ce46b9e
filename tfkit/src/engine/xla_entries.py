"""Converts TensorFlow's files of compiled programs to a form that TensorFlow reads without a warning.

TensorFlow has a cache of compiled programs: a message with a key, the program before it was compiled, and the
machine code. It tries to read the text format first and complains about a binary message on standard error,
so the message is written as text. On CPUs with AVX-512 it complains a second time, about two preferences that
are not features of a CPU (https://github.com/openxla/xla/issues/44565). The folder of an entry depends on the
CPU already, so these are taken out.
"""

from __future__ import annotations

import re
from typing import Any

from tfkit.src.base import protobuf
from tfkit.src.borrowed.private import HloModuleProto

_KEY = {
    1: "signature_fingerprint",
    2: "cluster_fingerprint",
    3: "device_type",
    4: "prefix",
    5: "compiled_using_pjrt",
}
_PROGRAM = re.compile(r"tfkit_[0-9a-f]{32}")
# The features of the CPU: a list of names with signs.
_FEATURES = re.compile(rb"(?:[+-][\w.-]+,){8,}[+-][\w.-]+")


def program_of(entry: bytes) -> str | None:
    """Returns the name of tfkit's program that an entry was compiled from; `None` for any other."""
    found = _PROGRAM.match(HloModuleProto.FromString(_Entry(entry).module).name)
    return found[0] if found else None


def as_text(entry: bytes) -> bytes | None:
    """Returns an entry in the text format; `None` if it has contents that the text would lose."""
    parts = _Entry(entry)
    module = HloModuleProto.FromString(parts.module)
    # A newer TensorFlow may write fields that this class does not have, and that no text would show: then the
    # message without them is smaller.
    size = module.ByteSize()
    module.DiscardUnknownFields()
    if not parts.key.keys() <= _KEY.keys() or module.ByteSize() != size:
        return None
    key = " ".join(f"{_KEY[number]}: {_scalar(value)}" for number, value in parts.key.items())
    code = _FEATURES.sub(_without_preferences, parts.code)
    # 1.2 MB in 25 ms, where `text_format` and `text_encoding` take 160.
    return f"key {{ {key} }} hlo_module {{ {module} }} executable: {_quoted(code)}".encode()


class _Entry:
    """The fields of an entry: its key by field number, the program, the machine code."""

    # TensorFlow does not export the message's class, so its fields are read here.

    def __init__(self, entry: bytes) -> None:
        fields: dict[int, Any] = dict(protobuf.fields(entry))
        key, self.module, self.code = fields.pop(1), fields.pop(2), fields.pop(3)
        self.key = dict(protobuf.fields(key))
        if fields:
            raise ValueError(f"unknown fields {list(fields)}")


def _without_preferences(features: re.Match[bytes]) -> bytes:
    """Returns the list without preferences, and without AVX-512, from which XLA derives preferences."""
    # Signs are changed, and nothing is removed: the code is a message too, with lengths in front of its
    # parts.
    return features[0].replace(b"+avx512", b"-avx512").replace(b"+prefer-no-", b"-prefer-no-")


def _scalar(value: int | bytes) -> str:
    return str(value) if isinstance(value, int) else _quoted(value)


def _quoted(value: bytes) -> str:
    """Returns bytes as protobuf reads them in a text: as Python writes them, in single quotes."""
    # The double quote in front makes Python choose single quotes, and is cut off with the prefix `b'`.
    return "'" + repr(b'"' + value)[3:]
