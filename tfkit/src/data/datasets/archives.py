"""Unpacks archives: writes only files and folders, and nothing outside the target folder.

This module copies members one by one, without the extraction of `tarfile` and `zipfile`: a member's
name determines a path below the folder, or the archive is refused; links become copies of their targets.
"""

from __future__ import annotations

import contextlib
import functools
import lzma
import os
import posixpath
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tfkit.src.base.limits import NAME
from tfkit.src.base.quoting import quoted
from tfkit.src.files.saving.atomic import temporary_folder

_CHUNK = 1 << 20  # bytes copied at a time
# The size to which a small archive may grow; a larger one by this factor. Deflate reaches a factor of 1,032.
_SMALL, _FACTOR = 1 << 28, 1100
_LONGEST_PART = 255  # bytes of the name of a file
_MEMBER = 4096  # bytes that a member takes on disk in addition to its content
_MOST_MEMBERS = 10_000_000
_MOST_LINKS = 300_000  # They are kept until the end, in 0.5 KB each.
_LARGEST_HEADER = 1 << 16  # bytes; a name or attributes that do not fit into a member's first block
FORMATS = ("tar", "zip")


class _Member(NamedTuple):
    """A file, folder or link of an archive.

    Attributes:
        name: as in the archive.
        mode: permissions.
        open: for a file, returns its content.
        leads_to: for a link, the name of its target.
    """

    name: str
    mode: int
    open: Callable[[], Any] | None = None
    leads_to: str | None = None


def unpack(archive: Path, folder: Path, formats: str | Sequence[str] | None = "auto") -> None:
    """Unpacks an archive into a folder, which appears when it is complete.

    Args:
        archive: a tar file (plain, gzip, bzip2 or xz) or a zip file.
        folder: the target of the members. An existing one is replaced.
        formats: `"tar"`, `"zip"`, a list of these, or `"auto"` for both; `None` or an empty list for none.

    Raises:
        ValueError: if the file is not such an archive, is damaged or encrypted, has a member that would
            be written outside the folder or is neither a file, a folder nor a link inside it, or grows
            beyond the limits.
        OSError: if a file cannot be written.
    """
    allowed = FORMATS if formats == "auto" else [formats] if isinstance(formats, str) else formats
    if unknown := [each for each in allowed or () if each not in FORMATS]:
        raise ValueError(
            '`archive_format` must be "auto", "tar", "zip", a list of these, or None. '
            f"Received: {unknown[0]!r}"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder.parent) as temporary:
        try:
            with _opened(archive, allowed or ()) as file:
                members = _in_zip(file) if isinstance(file, zipfile.ZipFile) else _in_tar(file)
                _Unpacking(archive, temporary).run(members)
        except (
            tarfile.TarError,
            zipfile.BadZipFile,
            EOFError,
            RuntimeError,
            NotImplementedError,
            zlib.error,
            lzma.LZMAError,
            struct.error,
        ) as error:
            raise ValueError(f"{archive} cannot be unpacked: {quoted(str(error))}") from error
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(temporary, folder)


def _opened(archive: Path, formats: Sequence[str]) -> tarfile.TarFile | zipfile.ZipFile:
    if "tar" in formats:
        with contextlib.suppress(tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError):
            return tarfile.open(archive, tarinfo=_Header)
    if "zip" in formats and zipfile.is_zipfile(archive):
        return zipfile.ZipFile(archive)
    raise ValueError(
        f"{archive} is not an archive of the formats {list(formats)}. It was not changed."
    )


class _Header(tarfile.TarInfo):
    """The first block of a member, refused if `tarfile` would never end or use all memory."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> _Header:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf.strip(b"\0"):
                raise  # The end.
            # `tarfile` would treat it as the end.
            raise tarfile.ReadError(f"the header of a member is damaged: {error}") from error
        _check_size(header)
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise ValueError(f"{quoted(header.name)} has holes; such members are not unpacked")
        # Long names and attributes are read as a whole, and by quadratic patterns.
        if header.type not in (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE) and (
            header.size > _LARGEST_HEADER
        ):
            raise ValueError(f"{quoted(header.name)} has a header of {header.size:,} bytes")
        return header


def _check_size(member: tarfile.TarInfo) -> None:
    if member.size < 0:  # It would lead back to an earlier member, without end.
        raise ValueError(f"{quoted(member.name)} says that it has {member.size:,} bytes")


def _in_tar(file: Any) -> Iterator[_Member | bytes]:
    """Yields the members of a tar file, and then the data after them."""
    # `members` and `fileobj` are documented in Python's source only.
    while (each := file.next()) is not None:
        file.members.clear()  # Millions of them take gigabytes.
        _check_size(each)  # Attributes may have changed it.
        if each.issparse():
            raise ValueError(f"{quoted(each.name)} has holes; such members are not unpacked")
        if each.isreg():
            yield _Member(each.name, each.mode, functools.partial(file.extractfile, each))
        elif each.isdir():
            yield _Member(each.name, each.mode)
        elif each.islnk():
            yield _Member(each.name, each.mode, leads_to=each.linkname)
        elif each.issym():
            yield _Member(each.name, each.mode, leads_to=_beside(each.name, each.linkname))
        else:
            raise ValueError(f"{quoted(each.name)} is a device, a pipe or the like")
    yield from _chunks(file.fileobj)  # At the end of a compressed file its checksum is compared.


def _in_zip(file: zipfile.ZipFile) -> Iterator[_Member]:
    """Yields the members of a zip file."""
    for each in file.infolist():
        # The upper half of the attributes is the mode of Unix.
        mode = each.external_attr >> 16
        if stat.S_ISLNK(mode):
            target = file.open(each).read(4096).decode("utf-8", "replace")
            yield _Member(each.filename, mode, leads_to=_beside(each.filename, target))
        else:
            content = None if each.is_dir() else functools.partial(file.open, each)
            yield _Member(each.filename, mode, content)


def _beside(name: str, target: str) -> str:
    """Returns the target of a symbolic link, which is relative to the link's folder."""
    return posixpath.join(posixpath.dirname(name), target)


def _chunks(source: Any) -> Iterator[bytes]:
    """Yields the content of an open file, piece by piece."""
    while True:
        try:
            chunk = source.read(_CHUNK)
        except OSError as error:  # The errors of bzip2 and gzip for damage.
            raise tarfile.ReadError(str(error)) from error
        if not chunk:
            return
        yield chunk


class _Unpacking:
    """The unpacking of one archive into a new folder, to which nothing else writes."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self._archive = archive
        self._folder = folder
        self._left = max(_SMALL, _FACTOR * archive.stat().st_size)
        self._free = shutil.disk_usage(folder).free

    def run(self, members: Iterator[_Member | bytes]) -> None:
        links: list[tuple[Path, _Member]] = []
        for number, member in enumerate(members):
            if isinstance(member, bytes):
                self._take(len(member))
                continue
            if number >= _MOST_MEMBERS:
                raise ValueError(f"{self._archive} has more than {_MOST_MEMBERS:,} members")
            path = self._path(member.name)
            self._take(_MEMBER)
            if member.leads_to is None:
                self._put(path, member)
                continue
            if len(links) == _MOST_LINKS:
                raise ValueError(f"{self._archive} has more than {_MOST_LINKS:,} links")
            links.append((path, member))
        # Links come last, since their targets may follow them in the archive.
        for path, member in links:
            self._put(path, member)

    def _put(self, path: Path, member: _Member) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.leads_to is not None:
                self._copy_of(path, member)
            elif member.open is not None:
                with member.open() as source:
                    self._write(path, source, member)
            else:
                path.mkdir(exist_ok=True)
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise ValueError(
                f"{self._archive} was not unpacked: its member {quoted(member.name)} is a file and a folder."
            ) from error

    def _path(self, name: str) -> Path:
        """Returns the path of a member below the folder, or raises an error."""
        if excess := NAME.excess(len(name)):
            raise ValueError(f"{self._archive} has a member whose name has {excess}.")
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        if (
            ".." in parts
            or name.startswith(("/", "\\"))
            or ":" in (parts or [""])[0]
            or "\0" in name
        ):
            raise ValueError(
                f"{self._archive} was not unpacked: its member {quoted(name)} would be written outside of "
                "the folder."
            )
        if any(len(part.encode("utf-8", "surrogateescape")) > _LONGEST_PART for part in parts):
            raise ValueError(
                f"{self._archive} has a member with a name that is too long: {quoted(name)}"
            )
        return self._folder.joinpath(*parts)

    def _write(self, path: Path, source: Any, member: _Member) -> None:
        path.unlink(missing_ok=True)  # A later member of a name replaces an earlier one.
        # Of the permissions, only the right to execute is kept.
        mode = 0o755 if member.mode & 0o100 else 0o644
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            for chunk in _chunks(source):
                self._take(len(chunk))
                file.write(chunk)

    def _take(self, size: int) -> None:
        """Counts bytes on the disk."""
        self._left -= size
        self._free -= size
        if min(self._left, self._free) < 0:
            what = "than there is space for" if self._left >= 0 else "than data can be compressed"
            raise ValueError(f"{self._archive} was not unpacked: its content is larger {what}.")

    def _copy_of(self, path: Path, member: _Member) -> None:
        """Replaces a link with a copy of its target."""
        target = posixpath.normpath(member.leads_to or "")
        source = None if target.startswith(("/", "..")) else self._path(target)
        if source is None or not source.is_file():
            raise ValueError(
                f"{self._archive} was not unpacked: its member {quoted(member.name)} is a link to "
                f"{quoted(member.leads_to or '')}, which is not a file inside it."
            )
        with source.open("rb") as content:
            self._write(path, content, member)
