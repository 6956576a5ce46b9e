"""Common part of both CIFAR data sets: an archive of files, each with 32 x 32 color images and labels.

The files are pickles of Python 2. They are not unpickled: the operations of the pickle are read one by one,
and yield the only things that are needed, the bytes of the images and the lists of labels.

Reference: Krizhevsky (2009), "Learning multiple layers of features from tiny images".
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfkit.src.base.quoting import shown
from tfkit.src.data.datasets.archives import unpack
from tfkit.src.data.datasets.folders import cache_folder, data_folders, find, keras_home
from tfkit.src.files.saving.atomic import alone

_IMAGE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
# Operations of a pickle that make a list, and number the objects made.
_OF_LISTS = ("EMPTY_LIST", "MARK", "APPEND", "APPENDS", "BINPUT", "LONG_BINPUT", "MEMOIZE")


@dataclass(frozen=True)
class Published:
    """The source of a data set.

    Attributes:
        folder: name of the folder in its archive.
        archive: name of the archive.
        sha256: its hash.
    """

    folder: str
    archive: str
    sha256: str

    def located(self) -> Path:
        """Returns the folder with the files, unpacked or downloaded if it does not exist."""
        cached = cache_folder() / self.folder
        candidates = [*(each / self.folder for each in data_folders()), cached]
        candidates.append(keras_home() / "datasets" / f"{self.folder}-target" / self.folder)
        for candidate in candidates:
            if candidate.is_dir():
                return candidate
        archive = find(
            self.archive, f"https://www.cs.toronto.edu/~kriz/{self.archive}", self.sha256
        )
        cached.parent.mkdir(parents=True, exist_ok=True)
        with alone(cached):
            if not cached.is_dir():
                unpack(archive, cached, "tar")
        inner = cached / self.folder
        return inner if inner.is_dir() else cached


def read_batch(path: Path, labels: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the images and labels of one file.

    Args:
        path: the file.
        labels: its name for the list of labels.

    Returns:
        Images of shape `(rows, 32, 32, 3)`, uint8, and labels of shape `(rows, 1)`, int64.

    Raises:
        ValueError: if the file has other contents.
    """
    try:
        pixels, numbers = _pixels_and_labels(path, labels)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} is not a CIFAR file: {shown(str(error))}. Delete its folder."
        ) from error
    if not numbers or len(pixels) != len(numbers) * _PIXELS:
        raise ValueError(
            f"{path} is not a CIFAR file: it has {len(pixels)} bytes of images and {len(numbers)} labels."
        )
    # A file has all red values of an image, then the green and the blue ones.
    images = np.frombuffer(pixels, "uint8").reshape(-1, *_IMAGE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.array(numbers, "int64").reshape(-1, 1)


def _pixels_and_labels(path: Path, key: str) -> tuple[bytes, list[int]]:
    """Returns the longest string of a pickle, and the integers of the list that follows a key."""
    pixels: bytes = b""
    labels: list[int] = []
    in_labels = False
    for operation, argument, _ in pickletools.genops(path.read_bytes()):
        name = operation.name
        if isinstance(argument, (str, bytes)):
            value = argument.encode("latin1", "replace") if isinstance(argument, str) else argument
            pixels = max(pixels, value, key=len)
            # A string ends the list of labels, or is the key in front of it.
            in_labels = value == key.encode()
        elif in_labels and isinstance(argument, int) and name.startswith("BININT"):
            labels.append(argument)
        elif name not in _OF_LISTS:
            in_labels = False
    return pixels, labels
