"""Fashion-MNIST: 70,000 images of clothes in 10 kinds, in the format of MNIST.

Reference: Xiao, Rasul, Vollgraf (2017), "Fashion-MNIST: a novel image dataset for benchmarking machine
learning algorithms".
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from tfkit.src.data.datasets.folders import PUBLISHED, find
from tfkit.src.data.datasets.splits import Pair

_FOLDER = "fashion-mnist"
_IMAGES, _LABELS = 0x803, 0x801  # First numbers of the files: uint8, with 3 and 1 axes.
_LARGEST = 1 << 28  # bytes


def load_data() -> tuple[Pair, Pair]:
    """Loads the images.

    The four files are searched for in `fashion-mnist` in the folders that the environment variable
    `TFKIT_DATA` lists, in the cache (`$TFKIT_HOME/datasets`, or `~/.tfkit/datasets`) and in Keras's.
    When one is in none of them it is downloaded into the cache; 30 MB in all.

    Returns:
        `(x_train, y_train), (x_test, y_test)`, all uint8: images of shape `(60000, 28, 28)` and
        `(10000, 28, 28)` with values from 0 to 255, labels of shape `(60000,)` and `(10000,)`: 0 T-shirt,
        1 trouser, 2 pullover, 3 dress, 4 coat, 5 sandal, 6 shirt, 7 sneaker, 8 bag, 9 ankle boot.

    Raises:
        FileNotFoundError: if a file is not found and cannot be downloaded.
        ValueError: when a file has unexpected contents.
    """
    return _pair("train"), _pair("t10k")


def _pair(part: str) -> Pair:
    images = _read(f"{part}-images-idx3-ubyte.gz", _IMAGES)
    labels = _read(f"{part}-labels-idx1-ubyte.gz", _LABELS)
    if len(images) != len(labels):
        raise ValueError(
            f"Fashion-MNIST has {len(images)} images and {len(labels)} labels in {part!r}."
        )
    return images, labels


def _read(name: str, first: int) -> np.ndarray:
    """Returns the array of a file in the IDX format: a number for its type, its sizes, its values."""
    path = find(Path(_FOLDER) / name, f"{PUBLISHED}/{name}")
    try:
        with gzip.open(path) as file:
            content = file.read(_LARGEST)
    except (EOFError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}. Delete it.") from error
    # The lowest byte of the first number counts the axes; the sizes follow, in four bytes each.
    num_axes = first & 0xFF
    numbers = np.frombuffer(content[: 4 * (1 + num_axes)], ">u4").tolist()
    values = np.frombuffer(content[4 * (1 + num_axes) :], "uint8")
    # Python's integers do not overflow, whatever sizes the file states.
    if numbers[:1] != [first] or int(np.prod(numbers[1:], dtype=object)) != len(values):
        raise ValueError(
            f"{path} is not an IDX file of {num_axes} axes, or was cut off. Delete it."
        )
    return values.reshape(numbers[1:]).copy()
