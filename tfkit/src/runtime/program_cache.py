"""Keeps programs that XLA has compiled on disk for later processes.

TensorFlow's own cache ends a program with an error where a file is damaged, a disk full, a folder gone. So it
is given a folder in memory (`ram://`), which cannot fail; what goes to the disk and comes from there goes
through this file, where each failure means: compile. An entry is found by the name of its program, which is a
hash of the content, and has a seal. It is machine code: the folder is the user's alone, and each TensorFlow,
CPU and set of flags has one of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import platform
import stat
import threading
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import tensorflow as tf
from google.protobuf.message import DecodeError

from tfkit.src.errors.frames import warn
from tfkit.src.runtime import xla_entries

_IN_MEMORY = "ram://tfkit_programs"
_FLAG = "--tf_xla_persistent_cache_directory="
_MOST = 1 << 28  # bytes on disk
_OFF = ("", "0", "off")
# Versions of TensorFlow whose entries the tests have read and written.
_KNOWN = ("2.18.", "2.21.")


def begin() -> None:
    """Sets TensorFlow's folder in memory, before it runs its first function."""
    flags = os.environ.get("TF_XLA_FLAGS", "")
    if _folder_wanted() is not None and _FLAG not in flags and tf.__version__.startswith(_KNOWN):
        os.environ["TF_XLA_FLAGS"] = f"{flags} {_FLAG}{_IN_MEMORY}".strip()
        _state.is_on = True
        atexit.register(keep)


class _State:
    """The state of the cache in this process.

    Attributes:
        is_on: whether TensorFlow's folder was set.
        folder: on disk; `None` before it is needed, and where it is refused.
        given: names of files in memory that came from the disk.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.is_checked = False
        self.folder: Path | None = None
        self.given: set[str] = set()
        self.lock = threading.Lock()


_state = _State()


def provide(programs: Iterable[str]) -> None:
    """Provides TensorFlow with the entries that earlier processes have compiled for these programs."""
    if not _state.is_on:
        return
    with _state.lock, contextlib.suppress(OSError):
        folder = _checked_folder()
        if folder is None:
            return
        for program in programs:
            for path in folder.glob(f"{program}-*"):
                _give(path)


def _give(path: Path) -> None:
    """Copies the entry of a file into memory, or removes the file."""
    content = path.read_bytes()
    name = path.name.partition("-")[2]
    if name in _state.given:
        return
    try:
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            raise ValueError("another seal")
        text = zlib.decompress(content[32:])
    except (ValueError, zlib.error):
        path.unlink()  # Damaged, so it is compiled again.
        return
    tf.io.gfile.makedirs(_IN_MEMORY)
    with tf.io.gfile.GFile(f"{_IN_MEMORY}/{name}", "wb") as file:
        file.write(text)
    _state.given.add(name)
    os.utime(path)  # The least recently used entries are removed first.


def keep() -> None:
    """Writes new entries to the disk, and removes all from memory after TensorFlow has read them."""
    if not _state.is_on:
        return
    with _state.lock, contextlib.suppress(OSError, tf.errors.OpError):
        folder = _checked_folder()
        for name in tf.io.gfile.listdir(_IN_MEMORY):
            if not name.endswith(".pb"):
                continue  # Another thread is writing it.
            path = f"{_IN_MEMORY}/{name}"
            if name not in _state.given and folder is not None:
                with tf.io.gfile.GFile(path, "rb") as file:
                    _write(folder, name, file.read())
            tf.io.gfile.remove(path)
            _state.given.discard(name)


def _write(folder: Path, name: str, entry: bytes) -> None:
    try:
        program = xla_entries.program_of(entry)
        text = None if program is None else xla_entries.as_text(entry)
    except (KeyError, ValueError, IndexError, DecodeError):  # An entry of an unknown form.
        return
    if text is None:
        return
    content = zlib.compress(text, 1)
    target = folder / f"{program}-{name}"
    temporary = folder / f".{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _make_room(folder.parent)


def _make_room(root: Path) -> None:
    """Removes the least recently used entries of all environments above the size limit."""
    entries = []
    for path in root.glob("*/*"):
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    excess = sum(size for _, size, _ in entries) - _MOST
    for _, size, path in sorted(entries):
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= size


# --- The folder ---------------------------------------------------------------------------------------


def _folder_wanted() -> Path | None:
    chosen = os.environ.get("TFKIT_CACHE")
    if chosen is None or chosen.lower() in _OFF:
        return None
    return Path(chosen).expanduser() / "programs"


def _checked_folder() -> Path | None:
    """Returns the folder of this environment, made if needed; `None` if others could write to it."""
    if not _state.is_checked:
        _state.is_checked = True
        root = _folder_wanted()
        if root is not None:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = root / _environment()
            folder.mkdir(mode=0o700, exist_ok=True)
            if all(_is_ours_alone(each) for each in (root, folder)):
                _state.folder = folder
            else:
                warn(
                    f"Compiled programs are not kept: others may write to {str(root)!r}, and what is in it "
                    "is run. Make it yours alone: `chmod -R go-w`.",
                    UserWarning,
                )
    return _state.folder


def _is_ours_alone(folder: Path) -> bool:
    status = os.lstat(folder)
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not writable


def _environment() -> str:
    """Returns a name for everything except the program that machine code depends on."""
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    parts = [
        tf.version.VERSION,
        tf.version.GIT_VERSION,
        platform.machine(),
        *_cpu(),
        str(len(os.sched_getaffinity(0))),
        str(threads),
        *(
            os.environ.get(name, "")
            for name in ("XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS")
        ),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _cpu() -> Iterator[str]:
    """Yields model and features of the CPU, as Linux lists them."""
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.partition(":")[0].strip() in wanted:
                yield line.strip()
            elif not line.strip():
                return


begin()
