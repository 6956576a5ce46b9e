"""Programs that XLA has compiled, kept on disk for the next process.

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
    """Tells TensorFlow about the folder in memory; only before it has run its first function."""
    flags = os.environ.get("TF_XLA_FLAGS", "")
    if _folder_wanted() is not None and _FLAG not in flags and tf.__version__.startswith(_KNOWN):
        os.environ["TF_XLA_FLAGS"] = f"{flags} {_FLAG}{_IN_MEMORY}".strip()
        _state.is_on = True
        atexit.register(keep)


class _State:
    """What this process knows.

    Attributes:
        is_on: whether TensorFlow was told.
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
    """Lets TensorFlow find what was compiled for these programs by an earlier process."""
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
    """Puts the entry of a file into memory, or removes the file."""
    name = path.name.partition("-")[2]
    if name in _state.given:
        return
    content = _content(path)
    try:
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            raise ValueError("another seal")
        text = zlib.decompress(content[32:])
    except (ValueError, zlib.error):
        path.unlink()  # Damaged: compiled anew.
        return
    tf.io.gfile.makedirs(_IN_MEMORY)
    with tf.io.gfile.GFile(f"{_IN_MEMORY}/{name}", "wb") as file:
        file.write(text)
    _state.given.add(name)
    os.utime(path)  # The least recently used go first.


def _content(path: Path) -> bytes:
    """What is in a file of the user's; nothing of any other, which may have been put there before."""
    # A pipe would be waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        return file.read() if stat.S_ISREG(status.st_mode) and _only_we_write(status) else b""


def keep() -> None:
    """Writes what was compiled since to the disk, and takes all out of memory: TensorFlow has read it."""
    if not _state.is_on:
        return
    with _state.lock, contextlib.suppress(OSError, tf.errors.OpError):
        folder = _checked_folder()
        for name in tf.io.gfile.listdir(_IN_MEMORY):
            if not name.endswith(".pb"):
                continue  # Being written by another thread.
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
    except (KeyError, ValueError, IndexError, DecodeError):  # Of another form than is known.
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
    """Removes the entries that were not used for the longest time, of all environments, over the bound."""
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
    """The folder of this environment, made where needed; `None` where others could write to it."""
    if not _state.is_checked:
        _state.is_checked = True
        root = _folder_wanted()
        if root is not None:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = root / _environment()
            folder.mkdir(mode=0o700, exist_ok=True)
            ours = all(_is_ours_alone(each) for each in (root, folder))
            if ours and all(map(_is_safe, Path(os.path.realpath(root)).parents)):
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
    return stat.S_ISDIR(status.st_mode) and _only_we_write(status)


def _only_we_write(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_safe(parent: Path) -> bool:
    """Whether nobody else can put another folder in the place of one in `parent`."""
    status = os.stat(parent)
    others = stat.S_IWOTH | (0 if status.st_gid == os.getegid() else stat.S_IWGRP)
    writable = status.st_mode & others and not status.st_mode & stat.S_ISVTX
    return status.st_uid in (0, os.geteuid()) and not writable


def _environment() -> str:
    """A name for all that machine code depends on beside the program."""
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
    """Model and features of the CPU, as Linux says them."""
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.partition(":")[0].strip() in wanted:
                yield line.strip()
            elif not line.strip():
                return


begin()
