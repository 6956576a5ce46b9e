"""Files of models and weights, tfkit's and Keras's, for the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.files.interop import keras_files
from tfkit.src.files.saving import entries, readers, safetensors
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.files.saving.hdf5 import FORMAT_VERSION

Contents = dict[str, tuple[tuple[int, ...], str]]


class File:
    """A file of tfkit that is open for reading.

    Args:
        reader: the file.

    Attributes:
        format: a description of the format.
        arrays: shape and dtype of each array.
        config: the configuration of the model, `None` for weights alone.
        compiled: the arguments of `compile`.
        tfkit_version: what the file says of the version of tfkit that wrote it, `None` for nothing.
    """

    format = f"tfkit format {FORMAT_VERSION}"

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._contents: Contents = reader.shapes("")
        # Arrays are in groups; only documents of JSON are outside of them.
        for path, (_, dtype) in self._contents.items():
            if dtype != "json" and "/" not in path:
                raise LoadError(
                    f"File {reader.path}: `{path}` is an array where a group is expected."
                )
        self.arrays = {path: it for path, it in self._contents.items() if it[1] != "json"}
        self.config = reader.text(entries.CONFIG)
        self.compiled = reader.text(entries.COMPILE)
        self.tfkit_version = reader.tfkit_version

    def __enter__(self) -> File:
        return self

    def __exit__(self, *exception: object) -> None:
        self._reader.close()

    def value(self, path: str) -> np.ndarray:
        """Returns the values of an array."""
        group, _, rest = path.partition("/")
        value: np.ndarray = self._reader.value(group, rest)
        return value

    def verify(self) -> str:
        """Compares all checksums, and returns the result."""
        for path in self._contents:
            group, _, rest = path.partition("/")
            if rest:
                self._reader.check(group, rest)
            else:
                self._reader.text(group)
        return f"intact, {len(self._contents):,} checksums verified"


class SafetensorsFile(File):
    """A `.safetensors` file, of tfkit or of another library, with the interface of `File`."""

    format = "safetensors"

    def verify(self) -> str:
        """Reads all arrays, compares the checksums that the file has, and returns the result."""
        super().verify()
        count = len(self._reader.checksums)
        if count:
            return f"complete; {count:,} checksums of arrays compared; names and shapes have none"
        read = f"{len(self.arrays):,} arrays read"
        return f"complete; {read}; it has no checksums that would show changed values"


class KerasFile(File):
    """A file of Keras with the interface of `File`."""

    format = "a file of Keras"

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.arrays = {path: (it.shape, it.dtype) for path, it in reader.datasets.items()}
        self.config, self.compiled = reader.documents()
        self.tfkit_version = reader.tfkit_version

    def value(self, path: str) -> np.ndarray:
        """Returns the values of an array."""
        value: np.ndarray = self._reader.read(path)
        return value

    def verify(self) -> str:
        """Reads all arrays, and returns the result."""
        for path in self.arrays:
            self._reader.read(path)
        read = f"{len(self.arrays):,} arrays read"
        if self._reader.has_checksums:
            return f"intact, {read}; checksums of configuration and weights verified"
        return f"complete; {read}; Keras's HDF5 has no checksums"


def open_file(path: Path) -> File:
    """Returns an open file of the kind that its content shows."""
    if keras_files.is_keras_file(path):
        return KerasFile(keras_files.open_file(path))
    reader = readers.open_file(path)
    return SafetensorsFile(reader) if isinstance(reader, safetensors.Reader) else File(reader)


def sort_key(path: str) -> list[tuple[int, str]]:
    """Returns a key that sorts numbers by value, and names alphabetically."""
    # 10 comes after 9.
    return [(int(part) if part.isdecimal() else -1, part) for part in path.split("/")]
