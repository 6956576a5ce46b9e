"""Opens tfkit's files for reading, whatever their form."""

from __future__ import annotations

from pathlib import Path

from tfkit.src.files.saving import hdf5, orbax, safetensors, shards

Reader = hdf5.Reader | shards.ShardReader | safetensors.Reader | orbax.Reader


def open_file(path: Path) -> Reader:
    """Returns an open file of weights: a single file, an index of several, or a folder of checkpoints."""
    if orbax.is_checkpoint(path):
        return orbax.Reader(path)
    if path.name.endswith(safetensors.SUFFIX):
        return safetensors.Reader(path)
    return shards.ShardReader(path) if path.name.endswith(shards.SUFFIX) else hdf5.Reader(path)
