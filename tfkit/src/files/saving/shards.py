"""Reads weights from several files, with an index of their contents.

If a save has removed the files of a reader, it reads the new index.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted
from tfkit.src.files.saving import entries, hdf5, json_nest
from tfkit.src.files.saving.errors import DamagedFileError, LoadError, check_exists
from tfkit.src.files.saving.opened import Opened

SUFFIX = ".weights.json"


def checksum(index: dict[str, Any]) -> int:
    """Returns the checksum of the index without its own entry, as compact JSON with sorted keys."""
    return zlib.crc32(json.dumps(index, sort_keys=True, separators=(",", ":")).encode())


def read_json(path: Path) -> Any:
    """Returns what an index holds as JSON."""
    if excess := limits.TEXT.excess(path.stat().st_size):
        raise LoadError(f"File {path} is longer than an index may be: {excess}.")
    try:
        return json_nest.parse(path.read_bytes())
    except ValueError as error:
        raise DamagedFileError(
            f"File {path} is damaged or truncated, or not an index of weights: {error}"
        ) from None


class ShardReader(Opened):
    """Several files as if they were one; see `hdf5.Reader`.

    Args:
        path: the index.

    Raises:
        LoadError: if it is not an index, or one of its files is missing or belongs to a different save.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._readers: dict[str, hdf5.Reader] = {}
        try:
            index = self._open_all()
            self.tfkit_version = index.get("tfkit_version")
            self._texts = {
                entries.NAMES: index["names"],
                entries.LORA: index.get(entries.LORA),
            }
            self._places = {
                weight: self._readers[name] for weight, name in index["weight_map"].items()
            }
            self._check_places()
        except (AttributeError, KeyError, TypeError) as error:
            self.close()
            raise LoadError(f"File {path} is not an index of weights: {quoted(error)}.") from None
        except BaseException:
            self.close()
            raise

    def _open_all(self) -> dict[str, Any]:
        """Opens the files that the index names, and returns the index."""
        index = self._read_index()
        while True:
            try:
                for name, seal in self._shards(index).items():
                    self._readers[name] = self._open(name, seal)
                return index
            except LoadError:
                # A save may have removed the files of this index, and written a new one.
                self.close()
                self._readers = {}
                before, index = index, self._read_index()
                if index == before:  # Otherwise a save has replaced the files in the meantime.
                    raise

    def _shards(self, index: dict[str, Any]) -> dict[str, int]:
        """Returns the files that an index names, with the checksums of their structure."""
        shards = index["shards"]
        if not isinstance(shards, dict) or not all(type(seal) is int for seal in shards.values()):
            raise TypeError("`shards` is not a dict of checksums by name")
        if excess := limits.SHARDS.excess(len(shards)):
            raise LoadError(f"File {self.path} names {excess}. It is refused.")
        return shards

    def _read_index(self) -> dict[str, Any]:
        check_exists(self.path)
        index = read_json(self.path)
        if not isinstance(index, dict) or index.get("format") != hdf5.FORMAT:
            raise LoadError(
                f"File {self.path} is not an index of weights in tfkit's format. Expected one that "
                "`model.save_weights(..., max_shard_size=...)` wrote."
            )
        if index.get("format_version") != hdf5.FORMAT_VERSION:
            raise LoadError(
                f"File {self.path} has the format version {quoted(index.get('format_version'))}. Expected "
                f"{hdf5.FORMAT_VERSION}."
            )
        if index.pop("crc32", None) != checksum(index):
            raise DamagedFileError(
                f"File {self.path} is damaged, or was edited: its checksum is not the stored one."
            )
        return index

    def _open(self, name: str, seal: int) -> hdf5.Reader:
        """Returns an opened file next to the index; other paths are refused."""
        path = self.path.parent / name
        if not name.endswith(".weights.h5") or "/" in name or "\\" in name or "\0" in name:
            raise LoadError(
                f"File {self.path} names the file {quoted(name)}. Expected the name of a `.weights.h5` file "
                "next to it, and no path. It is refused."
            )
        if path.is_symlink():
            raise LoadError(f"File {path}, named in {self.path}, is a link. It is refused.")
        try:
            reader = hdf5.Reader(path)
        except FileNotFoundError:
            raise LoadError(
                f"File {self.path} needs {name} next to it, which is missing. Copy all files of a save "
                "together."
            ) from None
        if reader.seal != seal:
            reader.close()
            raise LoadError(
                f"File {path} is not the one that {self.path} names: its checksum is {reader.seal:08x}, the "
                f"expected one {seal:08x}. Copy all files of a save together."
            )
        return reader

    def _check_places(self) -> None:
        """Raises an error if the index contradicts the files."""
        found = [
            (path, reader)
            for reader in self._readers.values()
            for path in reader.shapes(entries.WEIGHTS)
        ]
        # A weight that is in two files is once in the dict, and twice in the list.
        if len(found) != len(self._places) or dict(found) != self._places:
            raise LoadError(
                f"File {self.path} has a `weight_map` that does not match the files it names."
            )

    def close(self) -> None:
        """Closes the files."""
        for reader in self._readers.values():
            reader.close()

    def text(self, name: str) -> Any:
        """Returns what the index stores about its layers; it has no other document."""
        return self._texts.get(name)

    def shapes(self, group_name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Returns shape and dtype of each dataset of a group, by path; no data is read."""
        return {
            path: found
            for reader in self._readers.values()
            for path, found in reader.shapes(group_name).items()
        }

    def check(self, group_name: str, path: str) -> None:
        """Compares the checksum of one dataset."""
        self._places[path].check(group_name, path)

    def value(self, group_name: str, path: str) -> np.ndarray:
        """Returns the values of one dataset, after a comparison of their checksum."""
        return self._places[path].value(group_name, path)
