"""CIFAR-10: 60,000 small color images of 10 kinds.

Reference: Krizhevsky (2009), "Learning multiple layers of features from tiny images".
"""

from __future__ import annotations

import numpy as np

from tfkit.src.data.datasets.cifar import Published, read_batch
from tfkit.src.data.datasets.splits import Pair

_FILES = Published(
    folder="cifar-10-batches-py",
    archive="cifar-10-python.tar.gz",
    sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
)


def load_data() -> tuple[Pair, Pair]:
    """Loads the images.

    The folder `cifar-10-batches-py` is searched for in the folders that the environment variable `TFKIT_DATA`
    lists, in the cache (`$TFKIT_HOME/datasets`, or `~/.tfkit/datasets`) and in Keras's. When it is in none of
    them its archive, `cifar-10-python.tar.gz`, is read from there or downloaded, 170 MB, and unpacked into
    the cache. Nothing in the files is run.

    Returns:
        `(x_train, y_train), (x_test, y_test)`, all uint8: images of shape `(50000, 32, 32, 3)` and
        `(10000, 32, 32, 3)` with values from 0 to 255, labels of shape `(50000, 1)` and `(10000, 1)`: 0
        airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck.

    Raises:
        FileNotFoundError: if the archive is not found and cannot be downloaded.
        ValueError: when a file has unexpected contents.
    """
    folder = _FILES.located()
    parts = [read_batch(folder / f"data_batch_{number}", "labels") for number in range(1, 6)]
    images, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    test_images, test_labels = read_batch(folder / "test_batch", "labels")
    return (images, labels.astype("uint8")), (test_images, test_labels.astype("uint8"))
