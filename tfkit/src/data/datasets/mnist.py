"""MNIST: 70,000 images of handwritten digits.

Reference: LeCun, Bottou, Bengio, Haffner (1998), "Gradient-based learning applied to document
recognition".
"""

from __future__ import annotations

import os

import numpy as np

from tfkit.src.data.datasets.folders import PUBLISHED, find
from tfkit.src.data.datasets.npz import read_npz

URL = f"{PUBLISHED}/mnist.npz"
SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"

_Pair = tuple[np.ndarray, np.ndarray]


def load_data(path: str | os.PathLike[str] = "mnist.npz") -> tuple[_Pair, _Pair]:
    """Loads the digits.

    The file is looked for at `path` itself, then in the folders that the environment variable
    `TFKIT_DATA` lists, then in the cache (`$TFKIT_HOME/datasets`, or `~/.tfkit/datasets`) and in Keras's.
    When it is in none of them it is downloaded into the cache, 11 MB, and checked by its hash.

    Args:
        path: an `.npz` file with the arrays `x_train`, `y_train`, `x_test` and `y_test`, or the
            name of one in these folders. Default: `"mnist.npz"`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`, all uint8: images of shape `(60000, 28, 28)` and
        `(10000, 28, 28)` with values from 0 to 255, labels of shape `(60000,)` and `(10000,)`.

    Raises:
        FileNotFoundError: when the file is nowhere and cannot be downloaded.
        ValueError: when the file has unexpected contents.

    Example:
        ```python
        (x_train, y_train), (x_test, y_test) = tfkit.datasets.mnist.load_data()
        ```
    """
    names = ("x_train", "y_train", "x_test", "y_test")
    x_train, y_train, x_test, y_test = read_npz(find(path, URL, SHA256), names)
    return (x_train, y_train), (x_test, y_test)
