"""Unpacks archives: writes only files and folders, and nothing outside of the target folder.

Members are copied one by one by this module, not by the extraction of `tarfile` and `zipfile`: a member's
name decides a path below the folder, or the archive is refused; links become copies of what they lead to.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfkit.src.base.quoting import quoted
from tfkit.src.saving.atomic import temporary_folder

_CHUNK = 1 << 20  # bytes copied at a time
# The size to which a small archive may grow; a larger one by this factor. Deflate reaches a factor of 1,032.
_SMALL, _FACTOR = 1 << 28, 1100
_MOST_MEMBERS = 10_000_000
FORMATS = ("tar", "zip")


@dataclass(frozen=True)
class _Member:
    """A file, folder or link of an archive.

    Attributes:
        name: as in the archive.
        size: in bytes, from the archive.
        leads_to: for a link, the name of its target; `None` otherwise.
        source: what the archive opens it by; `None` for a folder or a link.
        is_folder: whether it is a folder.
        mode: permissions.
    """

    name: str
    size: int
    leads_to: str | None
    source: Any
    is_folder: bool
    mode: int


def unpack(archive: Path, folder: Path, formats: str | Sequence[str] | None = "auto") -> None:
    """Unpacks an archive into a folder, which appears when it is complete.

    Args:
        archive: a tar file (plain, gzip, bzip2 or xz) or a zip file.
        folder: where the members go. One that exists is replaced.
        formats: `"tar"`, `"zip"`, a list of these, or `"auto"` for both; `None` or an empty list for none.

    Raises:
        ValueError: if the file is no such archive, is damaged or encrypted, has a member that would
            be written outside of the folder or is neither file, folder nor a link inside of it, or grows
            beyond all measure.
        OSError: if a file cannot be written.
    """
    opener = _opener(archive, formats)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder.parent) as temporary:
        try:
            with opener(archive) as opened:
                _Unpacking(archive, temporary).run(opened)
        except (
            tarfile.TarError,
            zipfile.BadZipFile,
            EOFError,
            RuntimeError,
            NotImplementedError,
        ) as error:
            raise ValueError(f"{archive} cannot be unpacked: {quoted(str(error))}") from error
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(temporary, folder)


def _opener(archive: Path, formats: str | Sequence[str] | None) -> Any:
    allowed = (
        FORMATS if formats == "auto" else (formats,) if isinstance(formats, str) else formats or ()
    )
    if unknown := [each for each in allowed if each not in FORMATS]:
        raise ValueError(
            '`archive_format` must be "auto", "tar", "zip", a list of these, or None. '
            f"Received: {unknown[0]!r}"
        )
    if "tar" in allowed and tarfile.is_tarfile(archive):
        return _Tar
    if "zip" in allowed and zipfile.is_zipfile(archive):
        return _Zip
    raise ValueError(
        f"{archive} is no archive of the formats {list(allowed)}. It was left as it is."
    )


class _Tar:
    """The members of a tar file, and their contents."""

    def __init__(self, path: Path) -> None:
        self._file = tarfile.open(path)  # noqa: SIM115, closed by `__exit__`

    def __enter__(self) -> _Tar:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def members(self) -> Iterator[_Member]:
        for each in self._file:
            leads_to = each.linkname if each.islnk() else None
            if each.issym():
                leads_to = posixpath.join(posixpath.dirname(each.name), each.linkname)
            elif not (each.isreg() or each.isdir() or each.islnk()):
                raise ValueError(f"{quoted(each.name)} is a device, a pipe or the like")
            source = each if each.isreg() else None
            yield _Member(
                each.name, each.size if source else 0, leads_to, source, each.isdir(), each.mode
            )

    def open(self, member: _Member) -> Any:
        return self._file.extractfile(member.source)


class _Zip:
    """The members of a zip file, and their contents."""

    def __init__(self, path: Path) -> None:
        self._file = zipfile.ZipFile(path)

    def __enter__(self) -> _Zip:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def members(self) -> Iterator[_Member]:
        for each in self._file.infolist():
            mode = each.external_attr >> 16
            if stat.S_ISLNK(mode):
                target = self._file.open(each).read(4096).decode("utf-8", "replace")
                yield _Member(
                    each.filename,
                    0,
                    posixpath.join(posixpath.dirname(each.filename), target),
                    None,
                    False,
                    mode,
                )
                continue
            source = None if each.is_dir() else each
            yield _Member(each.filename, each.file_size, None, source, each.is_dir(), mode)

    def open(self, member: _Member) -> Any:
        return self._file.open(member.source)


class _Unpacking:
    """The unpacking of one archive into a new folder, to which nothing else writes."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self._archive = archive
        self._folder = folder
        self._left = max(_SMALL, _FACTOR * archive.stat().st_size)
        self._free = shutil.disk_usage(folder).free

    def run(self, opened: Any) -> None:
        links = []
        for number, member in enumerate(opened.members()):
            if number >= _MOST_MEMBERS:
                raise ValueError(f"{self._archive} has more than {_MOST_MEMBERS} members")
            path = self._path(member.name)
            if member.leads_to is not None:
                links.append((path, member))
            elif member.is_folder:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                with opened.open(member) as source:
                    self._write(path, source, member)
        for path, member in links:
            self._copy_of(path, member)

    def _path(self, name: str) -> Path:
        """Returns the path of a member below the folder, or raises an error."""
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
        return self._folder.joinpath(*parts)

    def _write(self, path: Path, source: Any, member: _Member) -> None:
        path.unlink(missing_ok=True)  # A later member of a name replaces an earlier one.
        mode = 0o755 if member.mode & 0o100 else 0o644
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            while chunk := source.read(_CHUNK):
                self._left -= len(chunk)
                self._free -= len(chunk)
                if min(self._left, self._free) < 0:
                    what = (
                        "than there is space" if self._left >= 0 else "than data can be compressed"
                    )
                    raise ValueError(
                        f"{self._archive} was not unpacked: its content is larger {what} for."
                    )
                file.write(chunk)

    def _copy_of(self, path: Path, member: _Member) -> None:
        """Replaces a link by a copy of its target."""
        target = posixpath.normpath(member.leads_to or "")
        source = None if target.startswith(("/", "..")) else self._path(target)
        if source is None or not source.is_file():
            raise ValueError(
                f"{self._archive} was not unpacked: its member {quoted(member.name)} is a link to "
                f"{quoted(member.leads_to or '')}, which is no file inside of it."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as content:
            self._write(path, content, member)
