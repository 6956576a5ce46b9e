"""Opens Keras's files for reading, whatever their form."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from tfkit.src.files.interop import keras_hdf5
from tfkit.src.files.interop.keras_archive import CONFIG, METADATA, Archive
from tfkit.src.files.interop.keras_folder import Folder, is_folder
from tfkit.src.files.interop.keras_hdf5 import KerasReader
from tfkit.src.files.interop.keras_shards import ShardedReader, is_index
from tfkit.src.files.saving.errors import LoadError, check_exists

_FIRST_BYTES = (b"PK\3\4", b"PK\5\6", b"\x89HDF\r\n\x1a\n")


def is_keras_file(filepath: Any) -> bool:
    """Whether a file begins like one of Keras's: a zip, or HDF5 without tfkit's seal in front.

    The same holds for a folder with the members of such a zip, and for an index of files of weights.

    Args:
        filepath: the file or folder.

    Example:
        >>> import tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/a.keras")
        ...     model.save(f"{folder}/b.h5")
        ...     is_keras_file(f"{folder}/a.keras"), is_keras_file(f"{folder}/b.h5")
        (True, False)
    """
    path = Path(filepath)
    if not path.is_file():
        return is_folder(path)
    if is_index(path):
        return True
    with open(path, "rb") as file:
        return file.read(8).startswith(_FIRST_BYTES)


class ArchiveReader(KerasReader):
    """The weights in a `.keras` archive, or in a folder with the members of one."""

    def __init__(self, path: Path) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.has_checksums = path.is_file()  # Those of the zip, which reading a member compares.
        self.archive = Folder(path) if path.is_dir() else Archive(path)
        try:
            super().__init__(path, self.archive.weights())
        except BaseException:
            self.archive.close()
            raise
        with contextlib.suppress(LoadError):  # Keras needs no metadata to load a model.
            about = keras_hdf5.parse(path, METADATA, self.archive.text(METADATA))
            self.tfkit_version = about.get("tfkit_version")

    def documents(self) -> tuple[Any, Any]:
        """Returns the configurations of the model and of `compile`; `None` if there are none."""
        document = keras_hdf5.parse(self.path, CONFIG, self.archive.text(CONFIG))
        return document, document.get("compile_config")

    def folder(self) -> str:
        """Returns the path of a temporary folder for members, which exists until the file is closed."""
        self._folder = self._folder or tempfile.TemporaryDirectory()
        return self._folder.name

    def close(self) -> None:
        """Closes the file, and removes the temporary folder."""
        super().close()
        self.archive.close()
        if self._folder is not None:
            self._folder.cleanup()


def open_file(path: Path) -> KerasReader:
    """Returns an open file of Keras, whose contents are checked.

    Args:
        path: the file.

    Returns:
        A context manager; `LoadError` if the file is not Keras's, or is damaged.

    Example:
        >>> import tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.keras")
        ...     with open_file(Path(folder, "model.keras")) as reader:
        ...         document, compiled = reader.documents()
        >>> document["class_name"], compiled
        ('Sequential', None)
    """
    if is_folder(path):
        return ArchiveReader(path)
    check_exists(path)
    if is_index(path):
        return ShardedReader(path)
    with open(path, "rb") as file:
        # By content and not by extension: users rename files.
        is_archive = file.read(2) == b"PK"
    return ArchiveReader(path) if is_archive else KerasReader(path)
