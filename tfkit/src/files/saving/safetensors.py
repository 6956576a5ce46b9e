"""Writes and reads safetensors files: the weights alone, by path, in the format that PyTorch and JAX share.

A file is the length of a header (8 bytes, little-endian), the header (JSON: dtype, shape and position of each
array), and the bytes of the arrays without gaps. Nothing in it can run, so no other package is needed to read
it safely: https://huggingface.co/docs/safetensors
"""

from __future__ import annotations

import json
import math
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import limits
from tfkit.src.base.memory import aligned_empty, dtype_named
from tfkit.src.base.quoting import quoted
from tfkit.src.base.version import __version__
from tfkit.src.files.saving import entries, json_nest, seal
from tfkit.src.files.saving.errors import DamagedFileError, LoadError, check_exists, check_whole
from tfkit.src.files.saving.hdf5 import bytes_of
from tfkit.src.files.saving.opened import Opened

SUFFIX = ".safetensors"
FORMAT, FORMAT_VERSION = "tfkit", "1"
_METADATA = "__metadata__"
_TEXTS = {entries.NAMES: "layer_names", entries.LORA: "lora"}  # Their names in the metadata.
_LENGTH = 8
_CODES = {
    "bool": "BOOL", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64",
}  # fmt: skip
_NAMES = {code: name for name, code in _CODES.items()}
_DTYPES = {code: dtype_named(name) for name, code in _CODES.items()}


# --- Writing ----------------------------------------------------------------------------------------------


def write(path: Path, texts: dict[str, dict[str, Any]], weights: dict[str, Any]) -> None:
    """Writes weights into a file.

    The steps of a path are separated by dots, as in PyTorch's names, or by slashes if any step contains a
    dot.

    Args:
        path: the file.
        texts: JSON documents about the layers, by name; see `contents.texts`.
        weights: variables and arrays by path.

    Raises:
        ValueError: for a dtype that the format does not have; then nothing is written.
        OSError: if the disk is full.
    """
    separator = "/" if any("." in weight for weight in weights) else "."
    # Arrays of larger elements first, so that each begins at a multiple of its element's size.
    ordered = sorted(weights, key=lambda weight: -_dtype(weight, weights[weight]).itemsize)
    header: dict[str, Any] = {}
    end = 0
    for weight in ordered:
        shape, dtype = tuple(weights[weight].shape), _dtype(weight, weights[weight])
        begin, end = end, end + math.prod(shape) * dtype.itemsize
        header[weight.replace("/", separator)] = {
            "dtype": _CODES[dtype.name],
            "shape": list(shape),
            "data_offsets": [begin, end],
        }
    checksums = dict.fromkeys(ordered, 0)
    # The header comes first, and has checksums of what follows. With zeros instead it has the same length,
    # and it is written again at the end, so that no array is read twice.
    first = _header(header, texts, separator, checksums)
    with open(path, "wb") as file:
        file.write(first)
        for weight in ordered:
            # Flattened, because a scalar cannot be viewed as bytes.
            data = bytes_of(weights[weight])
            checksums[weight] = zlib.crc32(data)
            file.write(data)
        file.seek(0)
        file.write(_header(header, texts, separator, checksums))


def _dtype(path: str, value: Any) -> np.dtype:
    dtype = np.dtype(getattr(value.dtype, "as_numpy_dtype", value.dtype))
    if dtype.name not in _CODES:
        raise ValueError(
            f"`{path}` has the dtype {dtype.name}, which a `.safetensors` file cannot hold. Expected one of "
            f"{sorted(_CODES)}. Save to a `.weights.h5` file."
        )
    return dtype


def _header(
    header: dict[str, Any],
    texts: dict[str, dict[str, Any]],
    separator: str,
    checksums: dict[str, int],
) -> bytes:
    """Returns the header with its length in front, which is the same for all values of the checksums."""
    metadata = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tfkit_version": __version__,
        "separator": separator,
        **{_TEXTS[name]: json.dumps(text) for name, text in texts.items()},
        "crc32": json.dumps({path: f"{value:08x}" for path, value in checksums.items()}),
    }
    text = json.dumps({_METADATA: metadata, **header}, separators=(",", ":")).encode()
    if excess := json_nest.too_large(text):
        raise ValueError(f"The names and shapes of the weights have {excess} again.")
    text += b" " * (-len(text) % _LENGTH)
    return len(text).to_bytes(_LENGTH, "little") + text


# --- Reading ----------------------------------------------------------------------------------------------


class Reader(Opened):
    """An open file, checked against the format before its contents are used; see `hdf5.Reader`.

    Paths have slashes, whatever separates the steps in the file.

    Args:
        path: the file; of tfkit, or of another library.

    Attributes:
        checksums: the checksums of arrays by path; only files of tfkit have them.

    Raises:
        LoadError: if it is not a file of this format, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_exists(path)
        self._raw = open(path, "rb", buffering=0)  # noqa: SIM115
        try:
            check_whole(path, self._raw.fileno())
            header = self._read_header()
            self._metadata = self._checked_metadata(header.pop(_METADATA, {}))
            own = self._metadata.get("format") == FORMAT
            self.tfkit_version = self._metadata.get("tfkit_version")
            self.checksums = self._json("crc32") if own else {}
            separator = self._metadata.get("separator", "/") if own else "."
            self._entries = self._checked_entries(header, separator)
        except BaseException:
            self.close()
            raise

    def _read_header(self) -> dict[str, Any]:
        """Returns the header; a length beyond the file, or the limit, is refused before anything is read."""
        size = os.fstat(self._raw.fileno()).st_size
        length = int.from_bytes(self._raw.read(_LENGTH), "little")
        if size < _LENGTH or not 2 <= length <= size - _LENGTH:
            raise DamagedFileError(
                f"File {self.path} is truncated, or not a safetensors file: its header would have "
                f"{length:,} bytes, and the file has {size:,}."
            )
        if excess := limits.TEXT.excess(length):
            raise LoadError(f"File {self.path} has a header of {excess}. It is refused.")
        self._begin = _LENGTH + length
        self._size = size - self._begin
        text = os.pread(self._raw.fileno(), length, _LENGTH)
        try:
            header = json_nest.parse(text)
        except (ValueError, UnicodeDecodeError) as error:
            raise DamagedFileError(
                f"File {self.path} is damaged, or not a safetensors file: its header is not valid JSON: "
                f"{quoted(str(error))}"
            ) from None
        if not text.startswith(b"{") or not isinstance(header, dict):
            raise DamagedFileError(
                f"File {self.path} is not a safetensors file: it has no header of arrays."
            )
        if excess := limits.ITEMS.excess(len(header)):
            raise LoadError(f"File {self.path} has {excess}. It is refused.")
        return header

    def _checked_metadata(self, metadata: Any) -> dict[str, str]:
        if not isinstance(metadata, dict) or not all(
            isinstance(value, str) for value in metadata.values()
        ):
            raise LoadError(
                f"File {self.path}: `{_METADATA}` is not a dict of strings. It is refused."
            )
        if metadata.get("format") == FORMAT and metadata.get("format_version") != FORMAT_VERSION:
            raise LoadError(
                f"File {self.path} is of tfkit's format version {quoted(metadata.get('format_version'))}. "
                f"Expected {FORMAT_VERSION!r}."
            )
        return metadata

    def _json(self, name: str) -> dict[str, Any]:
        """Returns a dict that tfkit wrote as a string into the metadata."""
        try:
            found = json_nest.parse(self._metadata.get(name, "{}"))
        except ValueError as error:
            raise LoadError(f"File {self.path}: `{name}` is not valid JSON: {error}") from None
        if not isinstance(found, dict):
            raise LoadError(f"File {self.path}: `{name}` is not a dict.")
        return found

    def _checked_entries(self, header: dict[str, Any], separator: str) -> dict[str, _Entry]:
        """Returns the arrays by path. Their bytes follow each other, and are all that the file has."""
        entries = {}
        for name, item in header.items():
            path = name.replace(separator, "/") if separator else name
            if path.count("/") >= limits.DEPTH.most:
                self._refuse(name, f"has more than {limits.DEPTH.most} steps")
            if path in entries:
                self._refuse(name, "has the same path as another array")
            entries[path] = self._entry(name, item)
        end = 0
        for path, entry in sorted(entries.items(), key=lambda each: each[1][2:]):
            if entry[2] != end:
                self._refuse(path, "overlaps with another array, or leaves a gap")
            end = entry[3]
        if end != self._size:
            raise DamagedFileError(
                f"File {self.path} is truncated, or has more than its arrays: they have {end:,} bytes, the "
                f"file {self._size:,}."
            )
        return entries

    def _entry(self, name: str, item: Any) -> _Entry:
        """Returns shape, dtype and position of an array."""
        if not isinstance(item, dict) or item.keys() != {"dtype", "shape", "data_offsets"}:
            self._refuse(name, "has entries other than `dtype`, `shape` and `data_offsets`")
        code, shape, offsets = item["dtype"], item["shape"], item["data_offsets"]
        if not isinstance(code, str) or code not in _DTYPES:
            self._refuse(name, f"has the dtype {quoted(code)}; expected one of {sorted(_DTYPES)}")
        if not _are_sizes(shape) or len(shape) > limits.AXES.most:
            self._refuse(name, f"has the shape {quoted(shape)}")
        if not _are_sizes(offsets) or len(offsets) != 2:
            self._refuse(name, f"has the offsets {quoted(offsets)}")
        size = math.prod(shape) * _DTYPES[code].itemsize
        if offsets[1] - offsets[0] != size:
            self._refuse(name, f"has a shape of other than {quoted(offsets[1] - offsets[0])} bytes")
        return tuple(shape), code, offsets[0], offsets[1]

    def text(self, name: str) -> Any:
        """Returns what the file stores about its layers, which only tfkit writes; `None` for other names."""
        own = name in _TEXTS and self._metadata.get("format") == FORMAT
        return self._json(_TEXTS[name]) if own else None

    def shapes(self, group_name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Returns shape and dtype of each array by path. The only group is `weights`; `""` is the root."""
        if group_name not in ("", entries.WEIGHTS):
            return {}
        prefix = "" if group_name else f"{entries.WEIGHTS}/"
        return {
            prefix + path: (shape, _NAMES[code])
            for path, (shape, code, _, _) in self._entries.items()
        }

    def check(self, group_name: str, path: str) -> None:
        """Compares the checksum of one array, if the file has one, as files of tfkit have."""
        _, code, begin, end = self._entries[path]
        checksum, largest = 0, 0
        for chunk in seal.chunks(self._raw, self._begin + begin, end - begin):
            checksum = zlib.crc32(chunk, checksum)
            if code == "BOOL":
                largest = max(largest, int(np.frombuffer(chunk, np.uint8).max(initial=0)))
        if largest > 1:
            self._refuse(path, f"has the byte {largest} for a bool, which is 0 or 1")
        stored = self.checksums.get(path)
        if stored is not None and stored != f"{checksum:08x}":
            self._refuse_sum(path, checksum, quoted(stored))

    def value(self, group_name: str, path: str) -> np.ndarray:
        """Returns the values of one array."""
        shape, code, begin, end = self._entries[path]
        value = aligned_empty(shape, _DTYPES[code])
        parts = seal.filled(self._raw, self._begin + begin, bytes_of(value))
        if sum(map(len, parts)) != end - begin:
            raise DamagedFileError(f"File {self.path} was cut short while it was read.")
        return value


_Entry = tuple[tuple[int, ...], str, int, int]  # Shape, code of the dtype, begin, end.


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
