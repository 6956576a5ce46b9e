"""A model of Keras as a folder, as `save(..., zipped=False)` writes it: members of an archive as files."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from typing import NoReturn

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted
from tfkit.src.files.interop.keras_archive import ASSETS, CONFIG, WEIGHTS, is_asset
from tfkit.src.files.saving.errors import LoadError


def is_folder(path: Path) -> bool:
    """Whether a folder holds a model of Keras."""
    return path.is_dir() and (path / CONFIG).is_file() and (path / WEIGHTS).is_file()


class Folder:
    """A folder with the members of a `.keras` archive; see `keras_archive.Archive`.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def close(self) -> None:
        """Does nothing: no file is open."""

    def _file(self, name: str) -> Path:
        """Returns the path of a member, which must be a file in the folder itself."""
        file = self.path.joinpath(*name.split("/"))
        # A link in the folder could name any file of the machine.
        inside = os.path.realpath(file) == os.path.join(
            os.path.realpath(self.path), *name.split("/")
        )
        if not inside or not file.is_file():
            self._refuse(name, "is not a file in the folder of the model")
        return file

    def text(self, name: str) -> str:
        """Returns a member that is UTF-8 text."""
        file = self._file(name)
        if excess := limits.TEXT.excess(file.stat().st_size):
            self._refuse(name, f"has {excess}")
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            self._refuse(name, f"is not text: {error}")

    def assets(self) -> list[str]:
        """Returns the names of the files that are assets of layers."""
        found = []
        for folder, _, files in os.walk(self.path / ASSETS):  # Which follows no links.
            for file in files:
                name = Path(folder, file).relative_to(self.path).as_posix()
                if not is_asset(name):
                    self._refuse(name, "has a name that an asset cannot have")
                found.append(name)
                if excess := limits.SHARDS.excess(len(found)):
                    self._refuse(name, f"is one of {excess}")
        return sorted(found)

    def data(self, name: str) -> bytes:
        """Returns the bytes of a member."""
        return self._file(name).read_bytes()

    def write_to(self, name: str, path: Path) -> None:
        """Writes a member to a file, in a folder that the program has chosen."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._file(name), "rb") as source, open(path, "xb") as file:
            shutil.copyfileobj(source, file)

    def weights(self) -> io.FileIO:
        """Opens the member that is an HDF5 file."""
        return open(self._file(WEIGHTS), "rb", buffering=0)

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise LoadError(f"Folder {self.path}: the member {quoted(name)} {why}. It is refused.")
