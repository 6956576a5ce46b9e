"""Writes files and folders so that the old ones survive any failure."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tfkit.src.base import context

_PREFIX, _SUFFIX = ".tfkit.", ".tmp"
# renameat2(2): paths relative to the working directory; the two names are exchanged in one step.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_discarding() -> bool:
    """Whether files are not kept."""
    return context.current().discards_files


def discarded() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which `atomic_write` and `atomic_folder` keep nothing."""
    return context.within(discards_files=True)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Context manager for a temporary file next to `path`, which replaces it if the block succeeds.

    The bytes are on the disk before the old file is replaced; after an error only the old file exists. The
    new file has the mode of the old one; a symbolic link is followed. Files that killed writers have left in
    the folder are removed.

    Raises:
        FileExistsError: if `path` is a folder, a pipe, a device or the like.
    """
    target = Path(os.path.realpath(path))
    if is_discarding():
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / target.name
        return
    mode = _mode(target, stat.S_ISREG, "file")
    # During writing, users who could not read the old file must not read the new one.
    with (
        naming(target),
        _temporary(target.parent, 0o666 if mode is None else 0o600) as (temporary, handle),
    ):
        yield temporary
        if mode is not None:
            os.fchmod(handle, mode)
        # In this order: a name that reaches the disk before the bytes would be an empty file after a power
        # cut.
        os.fsync(handle)
        os.replace(temporary, target)
    sync(target.parent)


@contextlib.contextmanager
def naming(target: Path) -> Iterator[None]:
    """Context manager in which errors of the temporary file, or of a full disk, name `target`."""
    try:
        yield
    except OSError as error:
        is_temporary = any(part.startswith(_PREFIX) for part in Path(str(error.filename)).parts)
        if is_temporary or (error.filename is None and error.errno in _FULL):
            error.filename = str(target)
        raise


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Context manager for a temporary folder next to `path`, which replaces it if the block succeeds.

    It is like `atomic_write`. Linux replaces the old folder in one step; other systems have no folder for a
    moment.
    """
    target = Path(os.path.realpath(path))
    if is_discarding():
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    mode = _mode(target, stat.S_ISDIR, "folder")
    with temporary_folder(target.parent) as temporary:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        sync_tree(temporary)
        while not (_exchange(temporary, target) or _moved(temporary, target)):
            pass  # Another writer has put its folder there meanwhile.
    sync(target.parent)


def keep_as(path: Path, other: Path) -> None:
    """Makes `other` a link to or copy of `path`; there is always a complete file at both names."""
    if is_discarding():
        return
    link = other.with_name(f".{other.name}.link")
    with alone(other):
        link.unlink(missing_ok=True)
        try:
            os.link(path, link)
        except OSError:  # A file system without hard links.
            shutil.copyfile(path, link)
        os.replace(link, other)


@contextlib.contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context manager that excludes other threads and processes that use the same `path`.

    It is for data of more than one file; the later writer waits. A file next to `path` has the lock, and is
    removed at the end. After a kill it remains, unlocked, until the next write to that folder.
    """
    target = Path(os.path.realpath(path))
    # A name of fixed length: the target's name may already have the maximum length.
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:32]
    name = target.with_name(f"{_PREFIX}{digest}{_SUFFIX}")
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(name, flags, 0o666)
        with contextlib.ExitStack() as closing:
            closing.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # The lock belongs to the file, not to its name, and a writer removes the file while others wait
            # for it.
            if not _is_at(handle, name):  # The previous writer has removed it.
                continue
            closing.callback(name.unlink, missing_ok=True)
            yield
            return


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Context manager for a new folder in `parent`, removed at the end, or by a later call after a kill."""
    with _temporary(parent, None) as (path, _):
        yield path


def _mode(target: Path, is_kind: Callable[[int], bool], kind: str) -> int | None:
    """Returns the permissions of the file at `target`; `None` if there is none."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not is_kind(mode):
        raise FileExistsError(
            f"{str(target)!r} already exists and is not a {kind}. Name another path."
        )
    return stat.S_IMODE(mode)


@contextlib.contextmanager
def _temporary(parent: Path, mode: int | None) -> Iterator[tuple[Path, int]]:
    """Context manager for a new, locked temporary file or folder, which is removed at the end.

    The lock ends with the process. Unlocked files were left by processes that have died.
    """
    # A killed process leaves its temporary file; its lock is gone with the process.
    _remove_abandoned(parent)
    while True:
        name = str(parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
        # The system removes the permissions that the process's umask denies.
        if mode is None:
            os.mkdir(name, 0o777)
            try:
                handle = os.open(name, os.O_RDONLY)
            except FileNotFoundError:  # Another writer has taken it for an abandoned one.
                continue
        else:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        # Another writer may have taken it for an abandoned one before it was locked.
        if _lock(handle) and _is_at(handle, name):
            break
        os.close(handle)
    try:
        yield Path(name), handle
    finally:
        _remove(name)
        os.close(handle)


def _remove_abandoned(parent: Path) -> None:
    with os.scandir(parent) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(_PREFIX)]
    for name in names:
        if name.endswith(_SUFFIX):
            # It was removed meanwhile, or belongs to another user.
            with contextlib.suppress(OSError):
                # A pipe with this name must not block, and a link must not be followed.
                handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if _is_ours(os.fstat(handle)) and _lock(handle) and _is_at(handle, name):
                        _remove(name)
                finally:
                    os.close(handle)


def _is_ours(status: os.stat_result) -> bool:
    kind = status.st_mode
    return (stat.S_ISREG(kind) or stat.S_ISDIR(kind)) and status.st_uid == os.geteuid()


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove(name: str) -> None:
    if os.path.isdir(name):
        shutil.rmtree(name, ignore_errors=True)
    else:
        Path(name).unlink(missing_ok=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges the names of two files or folders in one step, if the system supports it."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(one), os.fsencode(other)
    # `os.rename` cannot replace a folder that has contents.
    return rename is not None and not rename(
        _AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE
    )


def _moved(temporary: Path, target: Path) -> bool:
    """Whether a folder could move to a free name, or replace an empty folder, without an exchange."""
    try:
        os.rename(temporary, target)
        return True
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
    with contextlib.suppress(FileNotFoundError), temporary_folder(target.parent) as old:
        # Then the loop of the caller tries again: the name is free for a moment, the one time
        # without a folder there.
        os.rename(target, old)
    return False


def _is_at(handle: int, name: str | os.PathLike[str]) -> bool:
    """Whether an open file is the one at this path."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(name))
    except FileNotFoundError:
        return False


def sync_tree(folder: Path) -> None:
    """Waits until all files in a folder, and their names, are on the disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            sync(Path(parent) / name)
        sync(Path(parent))


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
