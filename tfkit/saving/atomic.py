"""Writing a file or folder so that the old one survives whatever happens half-way."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX, _SUFFIX = ".tfkit.", ".tmp"
# renameat2(2): paths relative to the working directory; the two names are exchanged in one step.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path`, which takes its place when the `with` block has ended well.

    The bytes are on the disk before the old file is replaced; an error leaves the old file, and nothing
    else, behind. What writers that were killed have left in the folder is removed.
    """
    target = Path(path)
    with _temporary(target.parent, folder=False) as (temporary, handle):
        yield temporary
        os.fsync(handle)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    sync(target.parent)


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder beside `path`, which takes its place when the `with` block has ended well.

    As `atomic_write`. Linux puts the new folder in the place of an old one in one step; elsewhere there is
    none for a moment.
    """
    target = Path(path)
    with _temporary(target.parent, folder=True) as (temporary, _):
        yield temporary
        sync_tree(temporary)
        os.chmod(temporary, 0o777 & ~_umask())
        if not target.exists():
            os.replace(temporary, target)
        elif not _exchange(temporary, target):
            with _temporary(target.parent, folder=True) as (old, _):
                os.replace(target, old)
                os.replace(temporary, target)
    sync(target.parent)


@contextlib.contextmanager
def _temporary(parent: Path, folder: bool) -> Iterator[tuple[Path, int]]:
    """A new, locked temporary file or folder, which is removed if it is still there at the end.

    The lock ends with the process. What is not locked was left by one that is dead.
    """
    _remove_abandoned(parent)
    while True:
        if folder:
            name = tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=parent)
            handle = os.open(name, os.O_RDONLY)
        else:
            handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=parent)
        # Another writer may have taken it for an abandoned one before it was locked.
        if _lock(handle) and os.path.exists(name):
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
            with contextlib.suppress(OSError):  # Gone meanwhile, or another user's.
                handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW)
                if _lock(handle):
                    _remove(name)
                os.close(handle)


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
    """Gives two files or folders each other's name in one step, where the system can."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(one), os.fsencode(other)
    return rename is not None and not rename(
        _AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
