"""Folders in which files of data sets are searched, and downloads are kept."""

from __future__ import annotations

import os
from pathlib import Path

from tfkit.src.data.datasets.download import fetch, has_hash

# Where the data sets of Keras are published.
PUBLISHED = "https://storage.googleapis.com/tensorflow/tf-keras-datasets"


def home() -> Path:
    """Returns the folder of everything that tfkit keeps: `$TFKIT_HOME`, or `~/.tfkit`."""
    chosen = os.environ.get("TFKIT_HOME")
    return Path(chosen) if chosen else Path.home() / ".tfkit"


def keras_home() -> Path:
    """Returns Keras's own cache, which is read and never written: `$KERAS_HOME`, or `~/.keras`."""
    chosen = os.environ.get("KERAS_HOME")
    return Path(chosen) if chosen else Path.home() / ".keras"


def cache_folder() -> Path:
    """Returns the folder of downloaded data sets: `$TFKIT_HOME/datasets`, or `~/.tfkit/datasets`."""
    return home() / "datasets"


def data_folders() -> list[Path]:
    """Returns the folders that the environment variable `TFKIT_DATA` lists."""
    return [Path(each) for each in os.environ.get("TFKIT_DATA", "").split(os.pathsep) if each]


def find(name: str | os.PathLike[str], url: str, file_hash: str | None = None) -> Path:
    """Returns the path of a data set's file, downloaded if it does not exist.

    The file is searched for at `name` itself, in the folders of `TFKIT_DATA`, in tfkit's cache and in
    Keras's. A file of Keras's is used only if its hash is right; the user is responsible for the first two.

    Args:
        name: of the file, or a path to it.
        url: where it is published.
        file_hash: the hash that a download must have, and a file of Keras's.

    Raises:
        FileNotFoundError: if the file is not found and cannot be downloaded.
        ValueError: if the download has a different hash.
    """
    path = Path(name).expanduser()
    cached = cache_folder() / path
    candidates = list(dict.fromkeys([path, *(folder / path for folder in data_folders()), cached]))
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    keras_cached = keras_home() / "datasets" / path
    if keras_cached.is_file() and has_hash(keras_cached, file_hash):
        return keras_cached
    try:
        fetch(url, cached, file_hash)
    except OSError as error:
        looked = "".join(f"\n  {candidate.absolute()}" for candidate in (*candidates, keras_cached))
        raise FileNotFoundError(
            f"{path.name} is not on this machine and cannot be downloaded: {error}\n"
            f"Looked for:{looked}\n"
            f"Fetch {url} elsewhere, then either pass the path of the file or set TFKIT_DATA to the folder "
            "with the file."
        ) from error
    return cached
