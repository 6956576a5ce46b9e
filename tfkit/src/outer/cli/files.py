"""Files of models and weights, tfkit's and Keras's, for the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.files.interop import keras as keras_files
from tfkit.src.files.saving import model_file, weights
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
        self.config = reader.text(model_file.CONFIG)
        self.compiled = reader.text(model_file.COMPILE)

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
        """Compares all checksums, and returns how many there are."""
        for path in self._contents:
            group, _, rest = path.partition("/")
            if rest:
                self._reader.check(group, rest)
            else:
                self._reader.text(group)
        return f"{len(self._contents):,} checksums compared"


class KerasFile(File):
    """A file of Keras with the interface of `File`."""

    format = "a file of Keras"

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.arrays = {path: (it.shape, it.dtype) for path, it in reader.datasets.items()}
        self.config, self.compiled = reader.documents()

    def value(self, path: str) -> np.ndarray:
        """Returns the values of an array."""
        value: np.ndarray = self._reader.read(path)
        return value

    def verify(self) -> str:
        """Reads all arrays, and returns how many there are."""
        for path in self.arrays:
            self._reader.read(path)
        return f"{len(self.arrays):,} arrays read; Keras's HDF5 has no checksums"


def open_file(path: Path) -> File:
    """Returns an open file of the kind that its content shows."""
    if keras_files.is_keras_file(path):
        return KerasFile(keras_files.open_file(path))
    return File(weights.open_file(path))


def sort_key(path: str) -> list[tuple[int, str]]:
    """Returns a key that sorts numbers by value, and names alphabetically."""
    # 10 comes after 9.
    return [(int(part) if part.isdecimal() else -1, part) for part in path.split("/")]
