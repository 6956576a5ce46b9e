"""Writes HDF5 files of tfkit. Reading has a module of its own, which needs neither h5py nor threads."""

from __future__ import annotations

import io
import json
import os
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tfkit.src.base import limits
from tfkit.src.base.version import __version__
from tfkit.src.files.saving import json_nest, seal
from tfkit.src.files.saving.hdf5 import BITS, FORMAT, FORMAT_VERSION, bytes_of

# Smaller arrays are covered by the seal, so that there are fewer ranges, and fewer and longer parts to read.
_LARGE = 1 << 16


def write(path: Path, texts: dict[str, Any], weights: dict[str, dict[str, Any]]) -> None:
    """Writes a file.

    Args:
        path: the file to write.
        texts: JSON documents by name.
        weights: groups of variables and arrays; each group is a dict from attribute path to value.

    Raises:
        OSError: if the disk is full, or cannot be written.
        ValueError: for a name that is too long; then nothing is written.
    """
    for path_of_group in weights.values():
        for variable_path in path_of_group:
            _check_names(variable_path)
    large: list[seal.Range] = []

    def add(parent: Any, name: str, value: np.ndarray, dtype: str) -> None:
        stored = value.view(BITS[dtype]) if dtype in BITS else value
        checksum = pool.submit(zlib.crc32, bytes_of(stored))  # During writing by HDF5.
        dataset = parent.create_dataset(name, data=stored)
        dataset.attrs["dtype"] = dtype
        dataset.attrs["crc32"] = np.uint32(checksum.result())
        if stored.nbytes >= _LARGE:
            large.append((dataset.id.get_offset(), stored.nbytes))
        target.check()

    with Target(path, "w+") as target, ThreadPoolExecutor(1) as pool:
        # The user block is in front of HDF5's own bytes, and holds the seal. "latest" has headers
        # with checksums.
        with h5py.File(target, "w", libver="latest", userblock_size=seal.BLOCK) as file:
            file.attrs["format"] = FORMAT
            file.attrs["format_version"] = FORMAT_VERSION
            file.attrs["tfkit_version"] = __version__
            for name, document in texts.items():
                data = json.dumps(document, allow_nan=True).encode()
                if excess := json_nest.too_large(data):
                    raise ValueError(
                        f"The `{name}` of the model has {excess} again. Keep large arrays in weights."
                    )
                add(file, name, np.frombuffer(data, np.uint8), "json")
            for group_name, variables in weights.items():
                group = file.create_group(group_name)
                for variable_path, variable in variables.items():
                    value = np.asarray(variable, order="C")
                    add(group, variable_path, value, value.dtype.name)
        target.check()
        seal.write(target, large)
        target.check()


def _check_names(path: str) -> None:
    names = path.split("/")
    if excess := limits.DEPTH.excess(len(names)):
        raise ValueError(
            f"The path of a variable has {excess} again: {path[:100]!r}... Use fewer layers in each other."
        )
    longest = max(len(name.encode()) for name in names)
    if longest > limits.NAME.most:
        raise ValueError(
            f"A name in the path of a variable has {longest:,} bytes: {path[:100]!r}... Expected at most "
            f"{limits.NAME.most:,}: give the layer, the weight or the key a shorter name."
        )


class Target(io.FileIO):
    """The file that HDF5 writes to. It raises no errors while HDF5 uses it: `check` does so afterwards.

    HDF5 cannot close a file that it cannot write, and would report this until the process ends.
    """

    error: OSError | None = None

    def write(self, data: Any) -> int:
        """Writes bytes, unless an earlier write has failed."""
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view) and self.error is None:
            try:
                done += super().write(view[done:]) or 0
            except OSError as error:
                self.error = error
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Sets the length of the file, unless an earlier write has failed."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0

    def check(self) -> None:
        """Raises the error of a `write` that failed."""
        if self.error is not None:
            raise OSError(
                self.error.errno,
                f"Cannot write the file ({self.error.strerror}); what was there before is unchanged",
                self.name if isinstance(self.name, (str, os.PathLike)) else None,
            )
