"""Weights of Keras in several files, and the index that names them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted
from tfkit.src.files.interop.keras_hdf5 import KerasReader
from tfkit.src.files.saving import hdf5
from tfkit.src.files.saving.errors import LoadError, check_exists
from tfkit.src.files.saving.shards import SUFFIX, read_json

# `big.weights.json` names `big_00000.weights.h5`, and so on, which are next to it.
_SHARD = re.compile(r"_\d{5,}\.weights\.h5")


def is_index(path: Path) -> bool:
    """Whether a file is an index of Keras's: JSON that is not tfkit's own."""
    if not path.name.endswith(SUFFIX) or not path.is_file():
        return False
    try:
        index = _read(path)
    except LoadError:
        return False
    return "weight_map" in index and index.get("format") != hdf5.FORMAT


class ShardedReader(KerasReader):
    """Several files as if they were one.

    Args:
        path: the index.

    Raises:
        LoadError: if it is not an index, if it names a file that does not belong to it, or if a file is
            missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.datasets = {}
        self._attributes: dict[str, dict[str, Any]] = {}
        self._readers: dict[str, KerasReader] = {}
        self._open: list[KerasReader] = []
        try:
            for name in self._files():
                self._add(name)
        except BaseException:
            self.close()
            raise

    def _files(self) -> list[str]:
        """Returns the files that the index names, in order."""
        groups = _read(self.path).get("weight_map")
        if not isinstance(groups, dict):
            raise LoadError(f"File {self.path} is not an index of weights: it has no `weight_map`.")
        files: dict[str, None] = {}
        for names in groups.values():
            for name in names if isinstance(names, list) else [names]:
                stem = self.path.name.removesuffix(SUFFIX)
                # The index must not lead to files that the user has not named: neither in other
                # folders nor next to it.
                if not (isinstance(name, str) and name.startswith(stem)) or not _SHARD.fullmatch(
                    name.removeprefix(stem)
                ):
                    raise LoadError(
                        f"File {self.path} names a file that does not belong to it: {quoted(name)}. Expected "
                        f"`{stem}_00000.weights.h5` and the like, in the same folder."
                    )
                files[name] = None
        if excess := limits.SHARDS.excess(len(files)):
            raise LoadError(f"File {self.path} names {excess}. It is refused.")
        return list(files)

    def _add(self, name: str) -> None:
        path = self.path.with_name(name)
        check_exists(path)
        reader = KerasReader(path)
        self._open.append(reader)
        for place, stored in reader.datasets.items():
            if place in self.datasets:
                raise LoadError(f"File {path}: `{quoted(place)}` is in a second file as well.")
            self.datasets[place] = stored
            self._readers[place] = reader
        for group, attributes in reader._attributes.items():
            self._attributes.setdefault(group, {}).update(attributes)

    def close(self) -> None:
        """Closes the files."""
        for reader in self._open:
            reader.close()

    def read(self, path: str) -> np.ndarray:
        """Returns the values of one dataset."""
        return self._readers[path].read(path)


def _read(path: Path) -> dict[str, Any]:
    index = read_json(path)
    if not isinstance(index, dict):
        raise LoadError(f"File {path} is not an index of weights.")
    return index
