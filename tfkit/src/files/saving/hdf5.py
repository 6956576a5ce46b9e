"""Reads HDF5 files of tfkit: weights as contiguous datasets by attribute path, and JSON as datasets."""

from __future__ import annotations

import dataclasses
import math
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import limits
from tfkit.src.base.memory import BFLOAT16, aligned_empty
from tfkit.src.base.quoting import quoted, shown
from tfkit.src.files.saving import hdf5_tree, json_nest, seal
from tfkit.src.files.saving.errors import DamagedFileError, LoadError, check_exists, check_whole
from tfkit.src.files.saving.opened import Opened

FORMAT = "tfkit"
FORMAT_VERSION = 1
# HDF5 has no bfloat16: its bits are stored as 16-bit integers, and the attribute gives the dtype.
BITS = {"bfloat16": np.uint16}
DTYPES = frozenset(
    ("float16", "float32", "float64", "bool", "uint8", "uint16", "uint32", "uint64")
    + ("int8", "int16", "int32", "int64", "bfloat16", "complex64", "complex128")
)


def bytes_of(value: np.ndarray) -> memoryview:
    """Returns the memory of an array, or of a contiguous copy."""
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8).data


@dataclasses.dataclass(frozen=True)
class _Entry:
    """One dataset: its attributes, and the position of its bytes in the file."""

    shape: tuple[int, ...]
    dtype: str
    stored: np.dtype
    offset: int
    size: int
    crc32: int


class Reader(Opened):
    """A file that is open for reading; its contents are checked before they are used.

    Args:
        path: the file.

    Attributes:
        tfkit_version: what the file says of the version that wrote it, `None` for nothing.

    Raises:
        LoadError: if it is not a file of this format, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tfkit_version: Any = None
        self._entries: dict[str, _Entry] = {}
        self._groups: set[str] = set()
        check_exists(path)
        self._raw = open(path, "rb", buffering=0)  # noqa: SIM115
        try:
            check_whole(path, self._raw.fileno())
            self.seal = seal.check(self._raw, path)
            self._read_tree()
        except LoadError:
            self.close()
            raise
        except (OSError, hdf5_tree.TreeError) as error:
            self.close()
            raise DamagedFileError(
                f"File {path} cannot be read: {error}. Expected a file that `model.save()` or "
                "`model.save_weights()` wrote."
            ) from None

    def _check_format(self, attributes: dict[str, hdf5_tree.Attribute]) -> None:
        found, version = attributes.get("format"), attributes.get("format_version")
        if found != FORMAT or version != FORMAT_VERSION:
            raise LoadError(
                f"File {self.path} is an HDF5 file, but not of tfkit's format {FORMAT_VERSION}. "
                f"Found: format={quoted(found)}, version={quoted(version)}."
            )
        self.tfkit_version = attributes.get("tfkit_version")

    def _read_tree(self) -> None:
        """Reads the list of datasets, and refuses anything that tfkit never writes."""
        length = os.fstat(self._raw.fileno()).st_size
        tree = hdf5_tree.Tree(self._raw, seal.BLOCK, length)
        for item in hdf5_tree.checked_items(tree, length, self._refuse):
            if not item.path:
                self._check_format(item.attributes)
            elif item.dataset is None:
                self._groups.add(item.path)
            else:
                self._entries[item.path] = self._entry(item, item.dataset)

    def _entry(self, item: hdf5_tree.Item, dataset: hdf5_tree.Dataset) -> _Entry:
        """Returns the entry of a dataset, after a check of the way it is stored."""
        path, dtype = item.path, str(item.attributes.get("dtype"))
        known = dtype in DTYPES or dtype == "json"
        stored = (
            np.dtype(np.uint8 if dtype == "json" else BITS.get(dtype, dtype)) if known else None
        )
        if stored is None or dataset.dtype != stored.name:
            raise LoadError(
                f"File {self.path}: `{shown(path)}` has the dtype {dataset.dtype}, and says {quoted(dtype)}. "
                f"Expected one of {sorted(DTYPES)}."
            )
        shape = dataset.shape
        if shape is None or dataset.size != math.prod(shape) * stored.itemsize:
            self._refuse(
                path,
                "is not stored as plain, contiguous data of its declared size, which is all that tfkit "
                "writes and reads",
            )
        crc32 = item.attributes.get("crc32")
        if not isinstance(crc32, int):
            self._refuse(path, "has no checksum")
        return _Entry(shape, dtype, stored, dataset.offset, dataset.size, crc32)

    def text(self, name: str) -> Any:
        """Returns the JSON document of this name; `None` if there is none."""
        entry = self._entries.get(name)
        if entry is None and name not in self._groups:
            return None
        if entry is None or entry.dtype != "json" or entry.size > limits.TEXT.most:
            self._refuse(name, f"is not JSON of at most {limits.TEXT.most:,} bytes")
        try:
            return json_nest.parse(self._read(name).tobytes())
        except ValueError as error:
            raise LoadError(f"File {self.path}: `{name}` is not valid JSON: {error}") from None

    def shapes(self, group_name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Returns shape and dtype of each dataset of a group, by path; `""` is the root. No data is read."""
        if group_name in self._entries:
            self._refuse(group_name, "is not a group")
        prefix = f"{group_name}/" if group_name else ""
        return {
            path.removeprefix(prefix): (entry.shape, entry.dtype)
            for path, entry in self._entries.items()
            if path.startswith(prefix)
        }

    def stored_bytes(self, group_name: str) -> int:
        """Returns the number of bytes of all datasets of a group together."""
        entries = self._entries.items()
        return sum(entry.size for path, entry in entries if path.startswith(f"{group_name}/"))

    def check(self, group_name: str, path: str) -> None:
        """Compares the checksum of one dataset, of any size, without storing its bytes."""
        full = f"{group_name}/{path}"
        entry = self._entries[full]
        checksum = 0
        for chunk in seal.chunks(self._raw, entry.offset, entry.size):
            checksum = zlib.crc32(chunk, checksum)
        self._compare(full, entry, checksum)

    def value(self, group_name: str, path: str) -> np.ndarray:
        """Returns the values of one dataset, after a comparison of their checksum."""
        full = f"{group_name}/{path}"
        value = self._read(full)
        return value.view(BFLOAT16) if self._entries[full].dtype in BITS else value

    def _read(self, path: str) -> np.ndarray:
        entry = self._entries[path]
        value = aligned_empty(entry.shape, entry.stored)
        checksum = 0
        for part in seal.filled(self._raw, entry.offset, bytes_of(value)):
            checksum = zlib.crc32(part, checksum)
        self._compare(path, entry, checksum)
        return value

    def _compare(self, path: str, entry: _Entry, checksum: int) -> None:
        if checksum != entry.crc32:
            self._refuse_sum(path, checksum, f"{entry.crc32:08x}")
