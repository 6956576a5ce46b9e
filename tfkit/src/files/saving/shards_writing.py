"""Saves weights in several files, with an index of their contents.

The index is written last. The files of one save have a common token in their names, so that an interrupted
save leaves the old index and its files unchanged; the next save removes what it has left. If two saves run at
once, one waits for the other.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base.version import __version__
from tfkit.src.files.saving import entries, hdf5, hdf5_writing
from tfkit.src.files.saving.atomic import alone, atomic_write
from tfkit.src.files.saving.shards import SUFFIX, checksum

_GB = 2**30


def write(
    path: Path, texts: dict[str, dict[str, Any]], weights: dict[str, Any], max_shard_size: float
) -> None:
    """Writes weights into files next to an index.

    Args:
        path: the index; `big.weights.json` names `big_<token>_00000.weights.h5`, and so on.
        texts: JSON documents about the layers, by name; see `contents.texts`.
        weights: variables and arrays by attribute path.
        max_shard_size: GB (2**30 bytes) of weights in one file.

    Raises:
        ValueError: for a weight that is larger than that.
    """
    shards = _divided(weights, max_shard_size)
    with alone(path):  # Each save removes files of earlier saves.
        _write(path, texts, weights, shards)


def _write(
    path: Path,
    texts: dict[str, dict[str, Any]],
    weights: dict[str, Any],
    shards: list[dict[str, Any]],
) -> None:
    token = secrets.token_hex(4)
    files = [_name(path, token, number) for number in range(len(shards))]
    written: list[Path] = []
    try:
        for name, shard in zip(files, shards, strict=True):
            written.append(path.with_name(name))
            with atomic_write(written[-1]) as temporary:
                hdf5_writing.write(temporary, {}, {entries.WEIGHTS: shard})
    except BaseException:
        for file in written:
            file.unlink(missing_ok=True)
        raise
    index = {
        "format": hdf5.FORMAT,
        "format_version": hdf5.FORMAT_VERSION,
        "tfkit_version": __version__,
        "metadata": {"total_size": sum(map(_size, weights.values()))},
        **texts,
        "shards": {name: _seal(path.with_name(name)) for name in files},
        "weight_map": {
            weight: name for name, shard in zip(files, shards, strict=True) for weight in shard
        },
    }
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(index | {"crc32": checksum(index)}, indent=1) + "\n")
    _remove_others(path, set(files))


def _divided(weights: dict[str, Any], max_shard_size: float) -> list[dict[str, Any]]:
    if not max_shard_size > 0:
        raise ValueError(f"`max_shard_size` must be positive, in GB. Received: {max_shard_size!r}")
    limit = max_shard_size * _GB
    # In the order of the weights: a file is full when the next weight does not fit.
    shards: list[dict[str, Any]] = [{}]
    left = limit
    for weight, value in weights.items():
        size = _size(value)
        if size > limit:
            raise ValueError(
                f"Weight `{weight}` has {size:,} bytes, more than `max_shard_size` allows: "
                f"{int(limit):,}. Pass at least max_shard_size={size / _GB:.3g}."
            )
        if size > left:
            shards.append({})
            left = limit
        shards[-1][weight] = value
        left -= size
    return shards


def _size(value: Any) -> int:
    return (
        int(np.prod(value.shape))
        * np.dtype(getattr(value.dtype, "as_numpy_dtype", value.dtype)).itemsize
    )


def _name(path: Path, token: str, number: int) -> str:
    return f"{path.name.removesuffix(SUFFIX)}_{token}_{number:05d}.weights.h5"


def _seal(path: Path) -> int:
    """Returns the checksum of a file's structure, which contains the checksums of all weights in it."""
    with hdf5.Reader(path) as reader:
        return reader.seal


def _remove_others(path: Path, files: set[str]) -> None:
    """Removes the files of earlier saves under this name, complete or not."""
    pattern = re.compile(
        re.escape(path.name.removesuffix(SUFFIX)) + r"_[0-9a-f]{8}_\d{5,}\.weights\.h5"
    )
    for name in os.listdir(path.parent):
        if pattern.fullmatch(name) and name not in files:
            with contextlib.suppress(FileNotFoundError):
                path.with_name(name).unlink()
