"""Writes and reads folders of checkpoints of the library Orbax: arrays by attribute path, documents as JSON.

A folder has a folder for each step. That has a folder for each group of arrays, which Orbax writes (nested
dicts, a level for each step of a path), and one for a JSON document: those of a model file, and for each
array the shape, dtype and checksum.
"""

from __future__ import annotations

import json
import math
import os
import stat
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import dicts, limits, packages
from tfkit.src.base.memory import aligned, aligned_empty, dtype_named
from tfkit.src.base.quoting import quoted, shown
from tfkit.src.base.version import __version__
from tfkit.src.files.saving import entries, hdf5, json_nest
from tfkit.src.files.saving.errors import DamagedFileError, LoadError
from tfkit.src.files.saving.opened import Opened

FORMAT, FORMAT_VERSION = "tfkit", 1
_GROUPS = (entries.WEIGHTS, entries.OPTIMIZER, entries.INNER_OPTIMIZERS, entries.METRICS)
_ABOUT = "tfkit"  # The item with the JSON document, which Orbax writes into a file of this name:
_DOCUMENT = "metadata"
_COMPLETE = "_CHECKPOINT_METADATA"  # Orbax's own file in the folder of a step.
# Orbax stores zeros, as of an optimizer that has done nothing, in a thirty-thousandth of their size.
_MOST_PACKED = 100_000


def package() -> Any:
    """Returns the module `orbax.checkpoint`.

    Raises:
        ImportError: if it is not installed; the message has the line that installs it.
    """
    return packages.imported(
        "orbax.checkpoint", "A checkpoint of Orbax", "orbax-checkpoint", "'tfkit-dl[orbax]'"
    )


def steps(folder: Path) -> dict[int, Path]:
    """Returns the complete steps in a folder of checkpoints, in order."""
    found = {
        int(path.name): path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.name.isdecimal() and path.name.isascii() and (path / _COMPLETE).is_file()
    }
    return dict(sorted(found.items()))


def is_checkpoint(folder: Path) -> bool:
    """Whether a path is a folder of checkpoints, or the folder of one step."""
    return (folder / _COMPLETE).is_file() or bool(steps(folder))


# --- Writing ----------------------------------------------------------------------------------------------


class Writer:
    """Writes checkpoints into a folder, and removes old ones.

    Args:
        folder: the folder; made if it is missing.
        max_to_keep: number of steps that are kept, the latest; `None` for all.
        background: whether a thread writes, while the caller continues.
    """

    def __init__(self, folder: Path, max_to_keep: int | None, background: bool) -> None:
        self._orbax = package()
        self._folder = folder.absolute()
        options = self._orbax.CheckpointManagerOptions(
            max_to_keep=max_to_keep, enable_async_checkpointing=background
        )
        self._manager = self._orbax.CheckpointManager(self._folder, options=options)

    def later(self, step: int) -> list[int]:
        """Returns the steps after this one that the folder has already."""
        return [other for other in self._manager.all_steps() if other > step]

    def write(self, step: int, texts: dict[str, Any], groups: dict[str, dict[str, Any]]) -> None:
        """Writes a checkpoint, which replaces any of this step or a later one.

        Args:
            step: its number, from 0.
            texts: JSON documents by name.
            groups: groups of variables and arrays by path. Their values are copied before the call returns.

        Raises:
            ValueError: for names and shapes that could not be read again; nothing is written then.
            OSError: if the disk is full; if a thread writes, in the next call.
        """
        items, stored = {}, {}
        for group, values in groups.items():
            arrays = {path: np.array(value) for path, value in values.items()}
            stored[group] = {
                path: [list(array.shape), array.dtype.name, _checksum(array)]
                for path, array in arrays.items()
            }
            # Orbax refuses arrays without elements; their shapes are all there is to store.
            tree = dicts.by_path({_key(path): it for path, it in arrays.items() if it.size})
            if tree:
                items[group] = self._orbax.args.StandardSave(tree)
        document = {
            "format": FORMAT, "format_version": FORMAT_VERSION, "tfkit_version": __version__,
            "texts": texts, "arrays": stored,
        }  # fmt: skip
        if excess := json_nest.too_large(json.dumps(document).encode()):
            raise ValueError(f"The configuration, names and shapes of the model have {excess}.")
        items[_ABOUT] = self._orbax.args.JsonSave(document)
        for other in [step, *self.later(step)]:
            if other in self._manager.all_steps():
                self._manager.wait_until_finished()
                self._manager.delete(other)
        self._manager.save(step, args=self._orbax.args.Composite(**items), force=True)

    def wait(self) -> None:
        """Returns when everything is written."""
        self._manager.wait_until_finished()

    def close(self) -> None:
        """Waits, and ends the threads."""
        self._manager.close()


def _checksum(array: np.ndarray) -> str:
    return f"{zlib.crc32(hdf5.bytes_of(array)):08x}"


def _key(path: str) -> str:
    """Returns a path without dots, with which Orbax joins keys; in paths `%` is `%25` already."""
    return path.replace(".", "%2E")


# --- Reading ----------------------------------------------------------------------------------------------


class Reader(Opened):
    """A checkpoint, of which only the JSON document is read at first; see `hdf5.Reader`.

    Args:
        path: a folder of checkpoints, of which the latest is read, or the folder of a step.

    Raises:
        ImportError: if Orbax is not installed.
        LoadError: if tfkit has not written it, or it is damaged.
    """

    _kind = "Checkpoint"

    def __init__(self, path: Path) -> None:
        self._arrays: dict[str, dict[str, np.ndarray]] = {}
        is_step = (path / _COMPLETE).is_file()
        self.path = path.absolute() if is_step else [*steps(path.absolute()).values()][-1]
        self._reading = threading.Lock()
        size = self._bytes_on_disk()
        document = self._document()
        self.tfkit_version = document.get("tfkit_version")
        self._orbax = package()  # Not before it is known that the checkpoint is of tfkit.
        texts, arrays = document.get("texts"), document.get("arrays")
        if not isinstance(texts, dict) or not isinstance(arrays, dict):
            self._refuse(_DOCUMENT, "has no documents or no arrays")
        self._texts: dict[str, Any] = texts
        self._entries = {
            group: {path: self._entry(path, item) for path, item in entries.items()}
            for group, entries in arrays.items()
            if isinstance(entries, dict) and group in _GROUPS
        }
        if excess := limits.ITEMS.excess(sum(map(len, self._entries.values()))):
            raise LoadError(f"Checkpoint {self.path} has {excess}. It is refused.")
        declared = sum(map(self.stored_bytes, self._entries))
        if declared > _MOST_PACKED * size:
            raise LoadError(
                f"Checkpoint {self.path} lists arrays of {declared:,} bytes, but has files of {size:,} only. "
                "It is refused."
            )

    def _bytes_on_disk(self) -> int:
        """Returns the size of all files. Only the folder itself is read, not the targets of links."""
        size = 0
        for above, folders, files in os.walk(self.path):
            for path in (os.path.join(above, name) for name in (*folders, *files)):
                status = os.lstat(path)
                if stat.S_ISREG(status.st_mode):
                    size += status.st_size
                elif not stat.S_ISDIR(status.st_mode):
                    name = os.path.relpath(path, self.path)
                    self._refuse(name, "is not a regular file, but a link or a device")
        return size

    def _document(self) -> dict[str, Any]:
        file = self.path / _ABOUT / _DOCUMENT
        if not file.is_file():
            raise LoadError(
                f"Checkpoint {self.path} is not one of tfkit's `callbacks.OrbaxCheckpoint`: it has no "
                f"{_ABOUT}/{_DOCUMENT}. Keras reads its own, and can save the model as `.keras`."
            )
        if excess := limits.TEXT.excess(file.stat().st_size):
            raise LoadError(f"Checkpoint {self.path} has a document of {excess}. It is refused.")
        try:
            document = json_nest.parse(file.read_bytes())
        except (ValueError, UnicodeDecodeError) as error:
            raise DamagedFileError(
                f"Checkpoint {self.path} is damaged: {_ABOUT}/{_DOCUMENT} is not valid JSON: "
                f"{quoted(str(error))}"
            ) from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise LoadError(f"Checkpoint {self.path} is not of the format {FORMAT!r}.")
        if document.get("format_version") != FORMAT_VERSION:
            raise LoadError(
                f"Checkpoint {self.path} is of tfkit's format version "
                f"{quoted(document.get('format_version'))}. Expected {FORMAT_VERSION}."
            )
        return document

    def _entry(self, path: str, item: Any) -> tuple[tuple[int, ...], str, str]:
        """Returns shape, dtype and checksum of an array."""
        match item:
            case [list(shape), str(dtype), str(checksum)]:
                sizes = all(type(size) is int and size >= 0 for size in shape)
                if sizes and len(shape) <= limits.AXES.most and dtype in hdf5.DTYPES:
                    return tuple(shape), dtype, checksum
        return self._refuse(path, f"has no shape, dtype and checksum, but {quoted(item)}")

    def close(self) -> None:
        """Drops the arrays that were read."""
        self._arrays.clear()

    def text(self, name: str) -> Any:
        """Returns the JSON document of this name; `None` if there is none."""
        return self._texts.get(name)

    def shapes(self, group_name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Returns shape and dtype of each array of a group, by path; `""` is the root. No array is read."""
        if not group_name:
            return {
                f"{group}/{path}": found
                for group in self._entries
                for path, found in self.shapes(group).items()
            }
        found = self._entries.get(group_name, {})
        return {path: (shape, dtype) for path, (shape, dtype, _) in found.items()}

    def stored_bytes(self, group_name: str) -> int:
        """Returns the number of bytes of all arrays of a group together."""
        return sum(
            math.prod(shape) * dtype_named(dtype).itemsize
            for shape, dtype in self.shapes(group_name).values()
        )

    def check(self, group_name: str, path: str) -> None:
        """Compares the checksum of an array."""
        self.value(group_name, path)

    def value(self, group_name: str, path: str) -> np.ndarray:
        """Returns the values of an array, after a comparison of its checksum."""
        shape, dtype, checksum = self._entries[group_name][path]
        if 0 in shape:
            return aligned_empty(shape, dtype_named(dtype))
        with self._reading:  # Several threads compare checksums.
            if group_name not in self._arrays:
                self._arrays[group_name] = self._read(group_name)
        value = self._arrays[group_name][path]
        if _checksum(value) != checksum:
            raise DamagedFileError(
                f"Checkpoint {self.path}: `{shown(path)}` is damaged: its checksum is not the stored one. "
                "Load another checkpoint."
            )
        # Orbax's memory begins anywhere, and a variable may take over what is returned here.
        return aligned(value)

    def _read(self, group_name: str) -> dict[str, np.ndarray]:
        """Returns the arrays of a group, whose shapes are compared with the declared ones before."""
        stored = {
            path: (shape, dtype)
            for path, (shape, dtype) in self.shapes(group_name).items()
            if 0 not in shape
        }
        folder = self.path / group_name
        handler = self._orbax.StandardCheckpointHandler()
        try:
            found = dicts.leaves_by_path(dict(handler.metadata(folder).tree))
            shapes = {
                path: (tuple(each.shape), np.dtype(each.dtype).name) for path, each in found.items()
            }
            same = shapes == {_key(path): entry for path, entry in stored.items()}
            arrays = (
                dicts.leaves_by_path(
                    handler.restore(folder, args=self._orbax.args.StandardRestore())
                )
                if same
                else {}
            )
        except Exception as error:  # Of Orbax, TensorStore, or for a tree of other objects.
            raise DamagedFileError(
                f"Checkpoint {self.path} is damaged: Orbax cannot read {group_name}. "
                f"{type(error).__name__}: {quoted(str(error))}"
            ) from None
        finally:
            handler.close()
        if not same:
            raise DamagedFileError(
                f"Checkpoint {self.path} is damaged: the arrays in {group_name} are not those that "
                f"{_ABOUT}/{_DOCUMENT} lists."
            )
        return {path: np.asarray(arrays[_key(path)]) for path in stored}
