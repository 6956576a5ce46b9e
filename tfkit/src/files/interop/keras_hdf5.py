"""Reads HDF5 files of Keras: plain, contiguous datasets at Keras's paths."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import limits
from tfkit.src.base.memory import aligned_empty, dtype_named
from tfkit.src.base.quoting import shown
from tfkit.src.files.saving import hdf5_tree, json_nest, seal
from tfkit.src.files.saving.errors import DamagedFileError, LoadError, check_whole
from tfkit.src.files.saving.hdf5 import bytes_of
from tfkit.src.files.saving.opened import Opened


@dataclasses.dataclass(frozen=True)
class Stored:
    """The attributes of a dataset."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.shape} {self.dtype}"

    @property
    def num_bytes(self) -> int:
        """The number of bytes in the file."""
        return math.prod(self.shape) * dtype_named(self.dtype).itemsize


class KerasReader(Opened):
    """An HDF5 file of Keras that is open for reading; all its links and sizes are checked first.

    Args:
        path: the file.
        stream: the stream to read instead: the part of `path` that is the HDF5 file.

    Attributes:
        has_checksums: whether checksums of what was read have been compared.

    Raises:
        LoadError: for structures that Keras never writes: links, second names, storage that is not plain.
    """

    has_checksums = False
    tfkit_version: Any = None

    def __init__(self, path: Path, stream: Any = None) -> None:
        self.path = path
        self.datasets: dict[str, Stored] = {}
        self._offsets: dict[str, int] = {}
        self._attributes: dict[str, dict[str, hdf5_tree.Attribute]] = {}
        self._raw = stream or open(path, "rb", buffering=0)  # noqa: SIM115
        try:
            if stream is None:
                check_whole(path, self._raw.fileno())
            self._read_tree(self._raw.seek(0, os.SEEK_END))
            self.tfkit_version = self.attribute("", "tfkit_version")
        except LoadError:
            self.close()
            raise
        except (OSError, hdf5_tree.TreeError) as error:
            self.close()
            raise DamagedFileError(
                f"File {path} cannot be read: it is damaged or truncated, or not an HDF5 file of Keras "
                f"({error})."
            ) from None

    # --- Checks before anything is read ---------------------------------------------------------------

    def _read_tree(self, size: int) -> None:
        """Reads the list of all groups and datasets."""
        tree = hdf5_tree.Tree(self._raw, 0, size, old=True)
        for item in hdf5_tree.checked_items(tree, size, self._refuse):
            if item.dataset is None:
                self._attributes[item.path] = item.attributes
            else:
                self.datasets[item.path] = self._stored(item, item.dataset)
                self._offsets[item.path] = item.dataset.offset

    def _stored(self, item: hdf5_tree.Item, dataset: hdf5_tree.Dataset) -> Stored:
        """Returns shape and dtype of a dataset, after a check of the way it is stored."""
        dtype = dataset.dtype
        # h5py writes bfloat16 as opaque bytes; Keras names the dtype in an attribute.
        if dtype == "opaque16":
            dtype = "bfloat16" if item.attributes.get("dtype") == "bfloat16" else None
        if dtype is None:
            self._refuse(item.path, "has no numeric dtype in the byte order of this machine")
        shape = dataset.shape
        if shape is None or dataset.size != math.prod(shape) * dtype_named(dtype).itemsize:
            self._refuse(
                item.path,
                "is not stored as plain, contiguous data of its declared size, which is all that Keras "
                "writes",
            )
        return Stored(shape, dtype)

    # --- Reading ----------------------------------------------------------------------------------------

    def below(self, group: str) -> dict[str, Stored]:
        """Returns the datasets below a group (empty for the root), by path from the root."""
        prefix = f"{group}/" if group else ""
        return {path: it for path, it in self.datasets.items() if path.startswith(prefix)}

    def read(self, path: str) -> np.ndarray:
        """Returns the values of one dataset."""
        stored = self.datasets[path]
        value = aligned_empty(stored.shape, dtype_named(stored.dtype))
        memory = bytes_of(value)
        self._raw.seek(self._offsets[path])
        done = 0
        while done < len(memory):
            count = self._raw.readinto(memory[done : done + seal.CHUNK])
            if not count:
                raise LoadError(f"File {self.path}: `{shown(path)}` is cut short.")
            done += count
        return value

    def name_of(self, path: str) -> str | None:
        """Returns the name of the layer whose variables a group contains, if the file has it."""
        name = self.attribute(f"{path}/vars".lstrip("/"), "name")
        return name if isinstance(name, str) else None

    def attribute(self, group: str, name: str) -> Any:
        """Returns an attribute of a group: a string, a list of strings or an integer, or `None`."""
        return self._attributes.get(group, {}).get(name)

    def names(self, group: str, name: str) -> list[str]:
        """Returns a list of names from an attribute of a group, or from several numbered ones."""
        value = self.attribute(group, name)
        parts = [] if value is None else [value]
        # HDF5 limits an attribute to 64 KB: Keras 2 splits longer lists into `name0`, `name1`, ...
        while value is None and (part := self.attribute(group, f"{name}{len(parts)}")) is not None:
            parts.append(part)
        found = [
            item for part in parts for item in (part if isinstance(part, list) else [str(part)])
        ]
        for item in found:
            if excess := limits.NAME.excess(len(item)):
                self._refuse(group, f"has a name in its {name} of {excess}")
        return found

    def documents(self) -> tuple[Any, Any]:
        """Returns the configurations of the model and of `compile`; `None` if there are none."""
        return self.document("model_config"), self.document("training_config")

    def document(self, name: str) -> Any:
        """Returns the JSON document in an attribute of the root; `None` if there is none."""
        value = self.attribute("", name)
        return None if value is None else parse(self.path, name, value)


def parse(path: Path, name: str, text: Any) -> dict[str, Any]:
    """Returns a JSON object from a file.

    Raises:
        LoadError: for anything else.
    """
    try:
        if not isinstance(text, str):
            raise ValueError("it is not a string")
        document = json_nest.parse(text)
    except ValueError as error:
        raise LoadError(f"File {path}: `{name}` is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise LoadError(
            f"File {path}: `{name}` is not a JSON object. Found: {type(document).__name__}"
        )
    return document
