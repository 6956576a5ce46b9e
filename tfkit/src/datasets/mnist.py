"""MNIST: 70,000 images of handwritten digits.

Reference: LeCun, Bottou, Bengio, Haffner (1998), "Gradient-based learning applied to document
recognition".
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np

from tfkit.src.datasets.download import cache_folder, fetch

URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"

_Pair = tuple[np.ndarray, np.ndarray]


def load_data(path: str | os.PathLike[str] = "mnist.npz") -> tuple[_Pair, _Pair]:
    """Loads the digits.

    The file is looked for at `path` itself, then in the folders that the environment variable
    `TFKIT_DATA` lists, then in the cache (`$TFKIT_HOME/datasets`, or `~/.tfkit/datasets`). When it
    is in none of them it is downloaded into the cache, 11 MB, and checked by its hash.

    Args:
        path: an `.npz` file with the arrays `x_train`, `y_train`, `x_test` and `y_test`, or the
            name of one in these folders. Default: `"mnist.npz"`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`, all uint8: images of shape `(60000, 28, 28)` and
        `(10000, 28, 28)` with values from 0 to 255, labels of shape `(60000,)` and `(10000,)`.

    Raises:
        FileNotFoundError: when the file is nowhere and cannot be downloaded.
        ValueError: when the file is not what it should be.

    Example:
        ```python
        (x_train, y_train), (x_test, y_test) = tfkit.datasets.mnist.load_data()
        ```
    """
    name = Path(path).expanduser()
    folders = [
        Path(folder) for folder in os.environ.get("TFKIT_DATA", "").split(os.pathsep) if folder
    ]
    cached = cache_folder() / name
    places = list(dict.fromkeys([name, *(folder / name for folder in folders), cached]))
    for place in places:
        if place.is_file():
            return _read(place)
    try:
        print(f"Downloading {URL} to {cached}")
        fetch(URL, cached, SHA256)
    except OSError as error:
        looked = "".join(f"\n  {place.absolute()}" for place in places)
        raise FileNotFoundError(
            f"MNIST is not on this machine and cannot be downloaded: {error}\n"
            f"Looked for:{looked}\n"
            f"Fetch {URL} elsewhere, then either call load_data('/path/to/mnist.npz') or set "
            "TFKIT_DATA to the folder with the file."
        ) from error
    return _read(cached)


def _read(path: Path) -> tuple[_Pair, _Pair]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not an .npz file, or was cut off. Delete it or name another.")
    with np.load(path, allow_pickle=False) as file:
        names = ("x_train", "y_train", "x_test", "y_test")
        if missing := [name for name in names if name not in file.files]:
            raise ValueError(f"{path} lacks the arrays {missing}. It has: {file.files}")
        x_train, y_train, x_test, y_test = (file[name] for name in names)
    return (x_train, y_train), (x_test, y_test)
