"""HDF5 files of Keras: plain, contiguous datasets at the paths that Keras gives them."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any, NoReturn

import h5py
import numpy as np
import tensorflow as tf

from tfkit.saving.errors import DamagedFileError, LoadError

_DEEPEST = 200
_BFLOAT16 = tf.bfloat16.as_numpy_dtype
# What h5py raises for a file that is damaged inside.
H5PY_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError)


@dataclasses.dataclass(frozen=True)
class Stored:
    """What a dataset says of itself."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.shape} {self.dtype}"

    @property
    def num_bytes(self) -> int:
        """The bytes that it has in the file."""
        return math.prod(self.shape) * tf.as_dtype(self.dtype).size


class KerasReader:
    """An HDF5 file of Keras that is open for reading; all links and sizes in it are checked first.

    Args:
        path: the file.
        stream: where to read instead: the part of `path` that is the HDF5 file.

    Raises:
        LoadError: for what Keras never writes: links, second names, storage that is not plain.
    """

    def __init__(self, path: Path, stream: Any = None) -> None:
        self.path = path
        self.datasets: dict[str, Stored] = {}
        self._groups: set[str] = {""}
        # Not by its name: HDF5 would ask for a lock, and the sizes must be those of the file that is open.
        self._stream = stream or open(path, "rb", buffering=0)  # noqa: SIM115
        self._size = self._stream.seek(0, os.SEEK_END)
        try:
            self._file = h5py.File(self._stream, "r")
        except OSError as error:
            self._stream.close()
            raise DamagedFileError(
                f"File {path} cannot be read: it is damaged or truncated, or no HDF5 file ({error})."
            ) from None
        try:
            self._read_tree()
        except LoadError:
            self.close()
            raise
        except H5PY_ERRORS as error:
            self.close()
            raise DamagedFileError(f"File {path} is damaged: {error}.") from None

    def __enter__(self) -> KerasReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        self._stream.close()

    # --- What must hold before anything is read -------------------------------------------------------

    def _read_tree(self) -> None:
        """Notes all groups and datasets.

        Links lead to other files; an object with two names, or storage that is compressed, virtual, external
        or never written, lets a small file demand any amount of memory.
        """
        left = self._size
        seen = {h5py.h5o.get_info(self._file.id).addr}
        pending: list[tuple[str, Any, int]] = [("", self._file, 0)]
        while pending:
            prefix, group, depth = pending.pop()
            for name in group:
                path = f"{prefix}{name}"
                link = group.get(name, getlink=True)
                if not isinstance(link, h5py.HardLink):
                    kind = type(link).__name__
                    self._refuse(path, f"is a link ({kind}), which could lead to another file")
                item = group[name]
                address = h5py.h5o.get_info(item.id).addr
                if address in seen:
                    self._refuse(path, "is another name of something in the file")
                seen.add(address)
                if isinstance(item, h5py.Group):
                    if depth > _DEEPEST:
                        self._refuse(path, f"lies more than {_DEEPEST} groups deep")
                    self._groups.add(path)
                    pending.append((f"{path}/", item, depth + 1))
                elif isinstance(item, h5py.Dataset):
                    stored = self.datasets[path] = self._stored(item, path)
                    left -= stored.num_bytes
                    if left < 0:
                        self._refuse(path, "declares more data than there is in the file")
                else:
                    self._refuse(path, "is neither group nor dataset")

    def _stored(self, dataset: Any, path: str) -> Stored:
        """Shape and dtype of a dataset that is stored as it should be."""
        plain = (
            dataset.shape is not None
            and dataset.chunks is None
            and not dataset.is_virtual
            and dataset.external is None
            and dataset.compression is None
        )
        size = dataset.size * dataset.dtype.itemsize if plain else -1
        if dataset.id.get_storage_size() != size:
            self._refuse(
                path,
                "is not stored as plain, contiguous data of its declared size, which is all that Keras "
                "writes",
            )
        dtype = dataset.dtype
        if dtype == np.dtype("V2") and dataset.attrs.get("dtype") == "bfloat16":
            return Stored(dataset.shape, "bfloat16")
        if dtype.kind not in "fiubc" or dtype.name in ("float128", "complex256"):
            self._refuse(path, f"has the dtype {dtype}, and not one of numbers")
        return Stored(dataset.shape, str(dtype.name))

    def _refuse(self, path: str, why: str) -> NoReturn:
        raise LoadError(f"File {self.path}: `{path}` {why}. It is refused.")

    # --- Reading ----------------------------------------------------------------------------------------

    def below(self, group: str) -> dict[str, Stored]:
        """The datasets below a group, the root where it is empty, by path from the root."""
        prefix = f"{group}/" if group else ""
        return {path: it for path, it in self.datasets.items() if path.startswith(prefix)}

    def read(self, path: str) -> np.ndarray:
        """The numbers of one dataset, in this machine's order of bytes."""
        try:
            value = np.asarray(self._file[path][()])
        except H5PY_ERRORS as error:
            raise LoadError(f"File {self.path}: `{path}` cannot be read: {error}") from None
        if self.datasets[path].dtype == "bfloat16":
            return value.view(_BFLOAT16)
        return value.astype(value.dtype.newbyteorder("="), copy=False)

    def name_of(self, path: str) -> str | None:
        """The name of the layer whose variables stand in a group, where the file has it."""
        name = self.attribute(f"{path}/vars".lstrip("/"), "name")
        return name if isinstance(name, str) else None

    def attribute(self, group: str, name: str) -> Any:
        """An attribute of a group, bytes as text; `None` where there is none."""
        if group not in self._groups:
            return None
        try:
            attributes = self._file[group or "/"].attrs
            if name not in attributes:
                return None
            stored = attributes.get_id(name)
            if math.prod(stored.shape) * stored.dtype.itemsize > self._size:
                self._refuse(
                    group, f"has an attribute {name!r} that declares more than the file has"
                )
            value = attributes[name]
        except (OSError, RuntimeError, TypeError) as error:
            raise LoadError(
                f"File {self.path}: the attribute {name!r} of `{group or '/'}` cannot be read: {error}"
            ) from None
        return value.decode() if isinstance(value, bytes) else value

    def names(self, group: str, name: str) -> list[str]:
        """A list of names that stands in an attribute of a group, or in several numbered ones."""
        value = self.attribute(group, name)
        parts = [] if value is None else [value]
        while value is None and (part := self.attribute(group, f"{name}{len(parts)}")) is not None:
            parts.append(part)
        found = [item for part in parts for item in np.asarray(part).reshape(-1).tolist()]
        return [item.decode() if isinstance(item, bytes) else str(item) for item in found]

    def documents(self) -> tuple[Any, Any]:
        """The configurations of the model and of `compile`, `None` where there are none."""
        return self.document("model_config"), self.document("training_config")

    def document(self, name: str) -> Any:
        """The JSON document in an attribute of the root, `None` where there is none."""
        value = self.attribute("", name)
        return None if value is None else parse(self.path, name, value)


def parse(path: Path, name: str, text: Any) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        LoadError: for anything else.
    """
    try:
        document = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise LoadError(f"File {path}: `{name}` is no valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise LoadError(
            f"File {path}: `{name}` is no JSON object. Found: {type(document).__name__}"
        )
    return document


def write(target: Any, names: dict[str, str], values: dict[str, Any]) -> None:
    """Writes a file as Keras does.

    Args:
        target: an open file.
        names: names of layers by the path of their group.
        values: variables and arrays by path.
    """
    with h5py.File(target, "w") as file:
        for group, name in names.items():
            file.create_group(f"{group}/vars".lstrip("/")).attrs["name"] = name
        for path, variable in values.items():
            value = np.asarray(variable, order="C")
            dataset = file.create_dataset(path, data=value)
            if value.dtype == _BFLOAT16:
                dataset.attrs["dtype"] = "bfloat16"
