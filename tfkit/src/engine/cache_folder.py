"""The folder of compiled programs on disk, and the check that its contents are safe to run.

A compiled program is machine code. Only the user (and the administrator) may be able to write to its folder,
to the contents, and to each folder above, where another user could otherwise put a different folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from tfkit.src.base.errors.frames import warn

if sys.platform != "win32":
    import grp
    import pwd

_OFF = ("", "0", "off", "false", "no")
_ON = ("1", "on", "true", "yes")  # In the default folder, not in one of this name.
_MOST = 1 << 28  # bytes on disk, of all environments


def is_switched_off() -> bool:
    """Whether the environment switches the cache off."""
    return os.environ.get("TFKIT_CACHE", "on").lower() in _OFF


def checked_folder() -> Path | None:
    """Returns the folder of this environment, made if needed.

    Returns:
        A path without symbolic links. `None` if there is no home folder for it, and, after a warning,
        where others could write to it.

    Raises:
        OSError: if it cannot be created or read.
    """
    root = _root()
    if root is None:
        return None
    wanted = root / f"tensorflow-{tf.version.VERSION}-{_environment()}"
    _make(wanted)
    # The real path is checked and used. With the path as it was given, a link could be changed between the
    # check and the use.
    folder = Path(os.path.realpath(wanted))
    culprit = _open_to_others(folder)
    if culprit is None:
        return folder
    warn(
        f"Compiled programs are not kept in {str(folder)!r}: what is found there is run, and others may "
        f"write to {str(culprit)!r}. Remove that permission (`chmod go-w`), or let the environment variable "
        "TFKIT_CACHE name a different folder, or set it to `off`.",
        UserWarning,
    )
    return None


def read_own(path: Path) -> bytes | None:
    """Returns a file's contents; `None` unless it is a plain file that only the user can write to."""
    # `O_NONBLOCK`: opening a pipe would wait until somebody writes to it. `O_NOFOLLOW`: a link could lead to
    # a file of another owner. The status is the open file's, as the name may refer to a different file now.
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        is_own = status.st_uid == os.geteuid() and not _is_writable_to_others(status)
        return file.read() if is_own and stat.S_ISREG(status.st_mode) else None


def make_room(folder: Path) -> None:
    """Removes the least recently used files, in the folders of all environments, above the size limit."""
    entries = []
    for environment in os.listdir(folder.parent):
        with contextlib.suppress(OSError), os.scandir(folder.parent / environment) as inside:
            for entry in inside:
                with contextlib.suppress(FileNotFoundError):  # Another process may have removed it.
                    status = entry.stat(follow_symlinks=False)
                    entries.append((status.st_mtime, status.st_size, entry.path))
    # Folders of all environments count together: a new TensorFlow or another CPU makes a new folder, and
    # nothing else would ever remove the old one.
    excess = sum(size for _, size, _ in entries) - _MOST
    for _, size, path in sorted(entries):
        if excess <= 0:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            excess -= size


def _root() -> Path | None:
    """Returns the folder of all environments."""
    chosen = os.environ.get("TFKIT_CACHE", "")
    shared = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if chosen.lower() not in (*_OFF, *_ON):
            return Path(chosen).expanduser().absolute() / "programs"
        if os.path.isabs(shared):  # The XDG standard says to ignore relative paths.
            return Path(shared) / "tfkit" / "programs"
        return Path.home() / ".cache" / "tfkit" / "programs"
    except RuntimeError:  # There is no home folder.
        return None


def _make(folder: Path) -> None:
    """Makes a folder, and the folders above it, for the user only."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        _make(folder.parent)
    # `parents=True` would make the folders above with the default mode, in which a group may write.
    folder.mkdir(mode=0o700, exist_ok=True)


def _open_to_others(folder: Path) -> Path | None:
    """Returns the folder, or one above it, in which others could put files; `None` if there is none."""
    user = os.geteuid()
    for place in (folder, folder.parent, *folder.parents[1:]):
        # Not `stat`: a link that was put in place after `realpath` must not pass as the folder it points
        # to.
        status = os.lstat(place)
        if not stat.S_ISDIR(status.st_mode):
            return place
        # The two innermost folders are tfkit's own, and must belong to the user. Those above may be the
        # administrator's.
        if place in (folder, folder.parent):
            is_safe = status.st_uid == user and not _is_writable_to_others(status)
        else:
            # In a sticky folder like /tmp, users cannot replace files of others.
            is_sticky = bool(status.st_mode & stat.S_ISVTX)
            is_safe = status.st_uid in (user, 0) and (
                is_sticky or not _is_writable_to_others(status)
            )
        if not is_safe:
            return place
    return None


def _is_writable_to_others(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)


def _is_private_group(group: int) -> bool:
    """Whether a group has the user's name and no other member, as many systems make for each user."""
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        entry = grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == name and set(entry.gr_mem) <= {name}


def _environment() -> str:
    """Returns a name for everything except the program that machine code depends on."""
    # What XLA's machine code depends on besides the program. Code for another CPU could end the process
    # with an illegal instruction, and other flags could give other rounding.
    parts = [
        tf.version.VERSION,
        tf.version.GIT_VERSION,
        platform.machine(),
        *_cpu(),
        str(len(os.sched_getaffinity(0))),  # XLA divides a program among the cores that it may use.
        str(tf.config.threading.get_intra_op_parallelism_threads()),
        *(
            os.environ.get(name, "")
            for name in ("XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS")
        ),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _cpu() -> Iterator[str]:
    """Yields model and features of the CPU, as Linux lists them."""
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.partition(":")[0].strip() in wanted:
                yield line.strip()
            elif not line.strip():
                return
