"""Writing a file or folder so that the old one survives whatever happens half-way."""

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
from collections.abc import Callable, Iterator
from pathlib import Path

_PREFIX, _SUFFIX = ".tfkit.", ".tmp"
# renameat2(2): paths relative to the working directory; the two names are exchanged in one step.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path`, which takes its place when the `with` block has ended well.

    The bytes are on the disk before the old file is replaced; an error leaves the old file, and nothing
    else, behind. The new file has the mode of the old one, and is written where a symbolic link leads. What
    writers that were killed have left in the folder is removed.

    Raises:
        FileExistsError: where `path` is a folder, a pipe, a device or the like.
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target, stat.S_ISREG, "file")
    # While it is written nobody else may read what nobody else could read before.
    with _temporary(target.parent, 0o666 if mode is None else 0o600) as (temporary, handle):
        yield temporary
        if mode is not None:
            os.fchmod(handle, mode)
        os.fsync(handle)
        os.replace(temporary, target)
    sync(target.parent)


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder beside `path`, which takes its place when the `with` block has ended well.

    As `atomic_write`. Linux puts the new folder in the place of an old one in one step; elsewhere there is
    none for a moment.
    """
    target = Path(os.path.realpath(path))
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
    """Lets `other` be what `path` is, until that is replaced; there is always a whole file at both names."""
    link = other.with_name(f".{other.name}.link")
    with alone(other):
        link.unlink(missing_ok=True)
        try:
            os.link(path, link)
        except OSError:  # A file system without second names.
            shutil.copyfile(path, link)
        os.replace(link, other)


@contextlib.contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Within the `with` block no other thread or process is in the block of the same `path`.

    For what is more than one file; the later writer waits. A file beside `path` has the lock, and is removed
    at the end. After a kill it stays, unlocked, until somebody writes in that folder.
    """
    target = Path(os.path.realpath(path))
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:32]
    name = target.with_name(f"{_PREFIX}{digest}{_SUFFIX}")
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(name, flags, 0o666)
        with contextlib.ExitStack() as closing:
            closing.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not _is_at(handle, name):  # The writer that was waited for has removed it.
                continue
            closing.callback(name.unlink, missing_ok=True)
            yield
            return


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A new folder in `parent`, removed if it is still there at the end, or after a kill by a later one."""
    with _temporary(parent, None) as (path, _):
        yield path


def _mode(target: Path, is_kind: Callable[[int], bool], kind: str) -> int | None:
    """The rights of what is at `target`, `None` where there is nothing."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not is_kind(mode):
        raise FileExistsError(
            f"{str(target)!r} is there already and is no {kind}. Name another path."
        )
    return stat.S_IMODE(mode)


@contextlib.contextmanager
def _temporary(parent: Path, mode: int | None) -> Iterator[tuple[Path, int]]:
    """A new, locked temporary file of a mode, or folder, which is removed if it is still there at the end.

    The lock ends with the process. What is not locked was left by one that is dead.
    """
    _remove_abandoned(parent)
    while True:
        name = str(parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
        # Of the rights the system takes those that the process's umask denies.
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
            with contextlib.suppress(OSError):  # Gone meanwhile, or another user's.
                # A pipe of this name must not stop us, nor a link lead elsewhere.
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
    """Gives two files or folders each other's name in one step, where the system can."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(one), os.fsencode(other)
    return rename is not None and not rename(
        _AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE
    )


def _moved(temporary: Path, target: Path) -> bool:
    """Whether a folder could take the place of another one, or of none, without an exchange."""
    try:
        os.rename(temporary, target)
        return True
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
    with (
        contextlib.suppress(FileNotFoundError),
        temporary_folder(target.parent) as old,
    ):
        os.rename(target, old)
    return False


def _is_at(handle: int, name: str | os.PathLike[str]) -> bool:
    """Whether an open file is the one of this name."""
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
