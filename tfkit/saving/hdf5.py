"""The HDF5 file: weights as one contiguous dataset each, at its attribute path; text as JSON datasets."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NoReturn

import h5py
import numpy as np
import tensorflow as tf

from tfkit.saving.errors import DamagedFileError, LoadError

FORMAT = "tfkit"
FORMAT_VERSION = 1
_LONGEST_JSON = 1 << 28
_DEEPEST = 200
# HDF5 has no bfloat16: its bits are stored as 16-bit integers, and the attribute says what they are.
_BITS = {"bfloat16": np.uint16}
DTYPES = frozenset(
    ("float16", "float32", "float64", "bool", "uint8", "uint16", "uint32", "uint64")
    + ("int8", "int16", "int32", "int64", "bfloat16", "complex64", "complex128")
)


def write(path: Path, texts: dict[str, Any], weights: dict[str, dict[str, Any]]) -> None:
    """Writes a file.

    Args:
        path: where to.
        texts: JSON documents by name.
        weights: groups of variables and arrays; each group is a dict from attribute path to value.
    """
    with h5py.File(path, "w", libver="latest") as file:
        file.attrs["format"] = FORMAT
        file.attrs["format_version"] = FORMAT_VERSION
        for name, document in texts.items():
            data = json.dumps(document, allow_nan=True).encode()
            _dataset(file, name, np.frombuffer(data, np.uint8), "json")
        for group_name, variables in weights.items():
            group = file.create_group(group_name, track_order=True)
            for variable_path, variable in variables.items():
                value = np.asarray(variable, order="C")
                _dataset(group, variable_path, value, value.dtype.name)


def _dataset(group: Any, path: str, value: np.ndarray, dtype: str) -> None:
    stored = value.view(_BITS[dtype]) if dtype in _BITS else value
    dataset = group.create_dataset(path, data=stored)
    dataset.attrs["dtype"] = dtype
    dataset.attrs["crc32"] = np.uint32(_checksum(stored))


def _checksum(value: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)


class Reader:
    """A file that is open for reading; everything in it is checked before it is believed.

    Args:
        path: the file.

    Raises:
        LoadError: where it is no file of this format.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise FileNotFoundError(f"There is no model file at {path}.")
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            raise DamagedFileError(
                f"File {path} cannot be read: it is damaged or truncated, or no HDF5 file ({error}). "
                "Expected a file that `model.save()` or `model.save_weights()` wrote."
            ) from None
        found = self._file.attrs.get("format")
        version = self._file.attrs.get("format_version", -1)
        if found != FORMAT or version != FORMAT_VERSION:
            self.close()
            raise LoadError(
                f"File {path} is an HDF5 file, but not of tfkit's format {FORMAT_VERSION}. "
                f"Found: format={found!r}, version={version!r}."
            )
        try:
            self._check_tree()
        except BaseException:
            self.close()
            raise

    def _check_tree(self) -> None:
        """Refuses what tfkit never writes, in all of the file, before any of it is read.

        Links lead to other files; an object with two names, or storage that is compressed, virtual, external
        or never written, lets a small file ask for any amount of memory.
        """
        left = self.path.stat().st_size
        seen = {h5py.h5o.get_info(self._file.id).addr}
        groups = [(self._file, 0)]
        while groups:
            group, depth = groups.pop()
            for name in group:
                path = f"{group.name.rstrip('/')}/{name}"
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    self._refuse(path, "is a link, which could lead to another file")
                item = group[name]
                address = h5py.h5o.get_info(item.id).addr
                if address in seen:
                    self._refuse(path, "is another name of something in the file")
                seen.add(address)
                if isinstance(item, h5py.Group):
                    if depth > _DEEPEST:
                        self._refuse(path, f"lies more than {_DEEPEST} groups deep")
                    groups.append((item, depth + 1))
                elif isinstance(item, h5py.Dataset):
                    left -= self._stored_size(item, path)
                    if left < 0:
                        self._refuse(path, "declares more data than there is in the file")
                else:
                    self._refuse(path, "is neither group nor dataset")

    def _stored_size(self, dataset: Any, path: str) -> int:
        """Bytes of a dataset that is stored as it should be."""
        plain = (
            dataset.chunks is None
            and not dataset.is_virtual
            and dataset.external is None
            and dataset.compression is None
        )
        size = dataset.size * dataset.dtype.itemsize if dataset.shape is not None else -1
        if not plain or dataset.id.get_storage_size() != size:
            self._refuse(
                path,
                "is not stored as plain, contiguous data of its declared size, which is all that tfkit "
                "writes and reads",
            )
        return size

    def _refuse(self, path: str, why: str) -> NoReturn:
        raise LoadError(f"File {self.path}: `{path}` {why}. It is refused.")

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def text(self, name: str) -> Any:
        """The JSON document of this name, `None` where there is none."""
        if name not in self._file:
            return None
        dataset = self._file[name]
        if not isinstance(dataset, h5py.Dataset) or dataset.size > _LONGEST_JSON:
            self._refuse(name, f"is no JSON of at most {_LONGEST_JSON:,} bytes")
        value = self._value(self._file, name, None)
        try:
            return json.loads(value.tobytes().decode())
        except (ValueError, RecursionError) as error:
            raise LoadError(f"File {self.path}: `{name}` is no valid JSON: {error}") from None

    def shapes(self, group_name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and dtype of each dataset of a group, by path; nothing is read yet."""
        if group_name not in self._file:
            return {}
        group = self._file[group_name]
        if not isinstance(group, h5py.Group):
            self._refuse(group_name, "is no group")
        found: dict[str, tuple[tuple[int, ...], str]] = {}

        def note(path: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[path] = (item.shape, self._dtype(item, path))

        group.visititems(note)
        return found

    def _dtype(self, dataset: Any, path: str) -> str:
        dtype = dataset.attrs.get("dtype")
        expected = np.dtype(_BITS.get(dtype, dtype)) if dtype in DTYPES else np.dtype(np.uint8)
        if (dtype not in DTYPES and dtype != "json") or dataset.dtype != expected:
            raise LoadError(
                f"File {self.path}: `{path}` has the dtype {dataset.dtype}, and says {dtype!r}. Expected "
                f"one of {sorted(DTYPES)}."
            )
        return str(dtype)

    def value(self, group_name: str, path: str) -> np.ndarray:
        """The numbers of one dataset, with their checksum compared."""
        return self._value(self._file[group_name], path, group_name)

    def _value(self, group: Any, path: str, group_name: str | None) -> np.ndarray:
        dataset = group[path]
        dtype = self._dtype(dataset, path)
        full = f"{group_name}/{path}" if group_name else path
        try:
            stored = dataset[()]
        except OSError as error:
            raise LoadError(f"File {self.path}: `{full}` cannot be read: {error}") from None
        stored = np.asarray(stored)
        if int(dataset.attrs.get("crc32", -1)) != _checksum(stored):
            raise LoadError(
                f"File {self.path}: `{full}` is damaged: its checksum is not the stored one. Load another "
                "copy of the file."
            )
        if dtype == "bfloat16":
            return stored.view(tf.bfloat16.as_numpy_dtype)
        return stored
