"""The `.keras` archive: a zip of stored members, all of which are checked before any is read."""

from __future__ import annotations

import io
import os
import shutil
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, NoReturn

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted
from tfkit.src.files.saving.errors import DamagedFileError, LoadError, check_whole
from tfkit.src.files.saving.opened import Opened

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
ASSETS = "assets"
_DIRECTORY_SIZE = 5
_BLOCK = 1 << 20
_ENCRYPTED = 0x1


def is_asset(name: str) -> bool:
    """Whether a member is a file below the folder of assets, whose path cannot leave it."""
    folder, *steps = name.split("/")
    plain = all(step not in ("", ".", "..") and not set(step) & set("\\:\0") for step in steps)
    return folder == ASSETS and bool(steps) and plain and limits.NAME.excess(len(name)) is None


class Region(io.RawIOBase):
    """A part of an open file as a file."""

    def __init__(self, file: io.BufferedReader, start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._position = file, start, size, 0

    def readable(self) -> bool:
        """Returns `True`."""
        return True

    def seekable(self) -> bool:
        """Returns `True`."""
        return True

    def tell(self) -> int:
        """Returns the position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Sets the position of the next byte."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fills `buffer` with the remaining bytes, as far as possible, and returns the number of bytes."""
        view = memoryview(buffer).cast("B")[: max(0, self._size - self._position)]
        self._file.seek(self._start + self._position)
        count = self._file.readinto(view)
        self._position += count
        return count


class Archive(Opened):
    """An open `.keras` file. Only assets are extracted to files, in a new folder.

    Args:
        path: the file.

    Raises:
        LoadError: for members that Keras does not write: compressed, encrypted, twice, overlapping.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw = open(path, "rb")  # noqa: SIM115
        try:
            self._members = self._checked_members()
        except BaseException:
            self.close()
            raise

    def _checked_members(self) -> dict[str, tuple[int, zipfile.ZipInfo]]:
        """Returns the position of the bytes of each member, in the order of the file."""
        try:
            check_whole(self.path, self._raw.fileno())
            # Private, seen in Python 3.9 to 3.13: otherwise the whole directory becomes objects at once.
            end_record = zipfile._EndRecData(self._raw)  # type: ignore[attr-defined]
            if end_record and (excess := limits.DIRECTORY.excess(end_record[_DIRECTORY_SIZE])):
                raise zipfile.BadZipFile(f"a directory of {excess}")
            with zipfile.ZipFile(self._raw) as archive:
                # In the order of their bytes, so that overlaps show: two entries for the same
                # bytes could multiply the size.
                infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
                end_of_members = archive.start_dir
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            OSError,
            ValueError,
            struct.error,
        ) as error:
            raise DamagedFileError(
                f"File {self.path} cannot be read: it is damaged or truncated ({error}). Expected a "
                "`.keras` archive."
            ) from None
        members: dict[str, tuple[int, zipfile.ZipInfo]] = {}
        end = 0
        for info in infos:
            name = info.filename
            if name not in (CONFIG, METADATA, WEIGHTS) and not is_asset(name):
                if name.endswith(".npz"):
                    self._refuse(
                        name, "holds pickles, which can run code, and which Keras refuses, too"
                    )
                self._refuse(
                    name,
                    f"is none of the members that are read: {CONFIG}, {METADATA}, {WEIGHTS}, and files below "
                    f"{ASSETS}/",
                )
            if name in members:
                self._refuse(name, "is in the archive twice")
            if info.flag_bits & _ENCRYPTED:
                self._refuse(name, "is encrypted")
            # Without compression no member is larger than the file: there are no zip bombs.
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                self._refuse(
                    name,
                    "is compressed. Keras stores the members of an archive as they are, which is all that "
                    "is read: pack the archive again without compression (`zip -0`)",
                )
            if info.header_offset < end:
                self._refuse(name, "overlaps another member")
            # From the local header, whose extra field may have a different length than that in the
            # directory.
            start = self._start_of_data(info)
            end = start + info.file_size
            if end > end_of_members:
                self._refuse(name, "declares more bytes than there are in the file")
            members[name] = (start, info)
        return members

    def _start_of_data(self, info: zipfile.ZipInfo) -> int:
        self._raw.seek(info.header_offset)
        header = self._raw.read(30)
        if len(header) < 30 or not header.startswith(b"PK\3\4"):
            self._refuse(info.filename, "is damaged: no header where the directory says that it is")
        name_size, extra_size = struct.unpack("<HH", header[26:30])
        if self._raw.read(name_size) != info.orig_filename.encode():
            self._refuse(info.filename, "has different names in the directory and in its header")
        return info.header_offset + 30 + int(name_size) + int(extra_size)

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise LoadError(f"File {self.path}: the member {quoted(name)} {why}. It is refused.")

    def _region(self, name: str) -> Region:
        """Returns the bytes of a member, after comparing their checksum."""
        if name not in self._members:
            raise LoadError(
                f"File {self.path} is a zip archive without a member {quoted(name)}. Expected a `.keras` "
                f"file of Keras 3 or of tfkit. Found: {quoted(sorted(self._members))}"
            )
        start, info = self._members[name]
        region = Region(self._raw, start, info.file_size)
        checksum = 0
        while block := region.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
        # `zipfile` compares it only when a member has been read to its end; HDF5 reads parts.
        if checksum != info.CRC:
            raise LoadError(
                f"File {self.path}: the member {quoted(name)} is damaged: its checksum is not the stored "
                "one. Load another copy of the file."
            )
        region.seek(0)
        return region

    def text(self, name: str) -> str:
        """Returns a member that is UTF-8 text."""
        size = self._members[name][1].file_size if name in self._members else 0
        if excess := limits.TEXT.excess(size):
            self._refuse(name, f"has {excess}")
        try:
            return self._region(name).readall().decode()
        except UnicodeDecodeError as error:
            raise LoadError(
                f"File {self.path}: the member {quoted(name)} is not text: {error}"
            ) from None

    def assets(self) -> list[str]:
        """Returns the names of the members that are assets of layers."""
        return [name for name in self._members if is_asset(name)]

    def data(self, name: str) -> bytes:
        """Returns the bytes of a member."""
        return self._region(name).readall()

    def write_to(self, name: str, path: Path) -> None:
        """Writes a member to a file, in a folder that the program has chosen."""
        region = self._region(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as file:
            shutil.copyfileobj(region, file, _BLOCK)

    def weights(self) -> Region:
        """Returns the member that is an HDF5 file, without copying it into memory."""
        return self._region(WEIGHTS)
