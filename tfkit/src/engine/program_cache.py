"""Programs that XLA has compiled, kept on disk for the next process.

TensorFlow's own cache ends a program with an error if a file is damaged, a disk full or a folder missing.
Therefore it gets a folder in memory (`ram://`), which cannot fail; this file copies entries from the disk and
to the disk, and compiles after each failure. An entry is found by the name of its program, which is a hash of
the content, and has a seal. `cache_folder.py` defines the folder on disk.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import secrets
import sys
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf
from google.protobuf.message import DecodeError

from tfkit.src.borrowed.private import has_read_flags
from tfkit.src.engine import cache_folder, xla_entries

_IN_MEMORY = "ram://tfkit_programs"
_FLAG = "--tf_xla_persistent_cache_directory="
# Programs for other devices were not tried.
_FLAGS = f"{_FLAG}{_IN_MEMORY} --tf_xla_persistent_cache_device_types=CPU"
# Versions of TensorFlow whose entries the tests have read and written.
_KNOWN = ("2.18.", "2.21.")
# After this many written bytes the folder is checked against its size limit again.
_BETWEEN_LOOKS = 1 << 23


class _State:
    """The state of the cache in this process.

    Attributes:
        is_told: whether TensorFlow's flags were set to keep programs in memory.
        is_wanted: whether these are kept on disk.
        is_checked: whether the folder was checked.
        folder: on disk; `None` before it is needed, and if it is refused.
        given: names of files in memory that came from the disk, and need not be written to it.
        shapes: by program, a digest of the shapes that it is run for.
        running: how many programs run for the first time now: TensorFlow may be about to read their entries.
        written: bytes since the folder was looked through; `None` before the first time.
    """

    def __init__(self) -> None:
        self.is_told = False
        self.is_wanted = True
        self.is_checked = False
        self.folder: Path | None = None
        self.given: set[str] = set()
        self.shapes: dict[str, str] = {}
        self.running = 0
        self.written: int | None = None
        self.lock = threading.Lock()


# One for the process, as TensorFlow's flags and its cache are. `lock` is held for whole calls: the files in
# memory are shared by all threads that run programs for the first time.
_state = _State()


def begin() -> None:
    """Sets TensorFlow's folder in memory, unless the environment switches the cache off.

    A process inherits the flags of the one that started it, and decides again.
    """
    _take_flags_back()
    if not cache_folder.is_switched_off() and _can_be_told():
        flags = os.environ.get("TF_XLA_FLAGS", "")
        os.environ["TF_XLA_FLAGS"] = f"{flags} {_FLAGS}".strip()
        _state.is_told = True
        atexit.register(keep)


def _can_be_told() -> bool:
    """Whether TensorFlow has such a cache, not chosen by the user, and has not read its flags yet."""
    flags = os.environ.get("TF_XLA_FLAGS", "").strip()
    return (
        sys.platform == "linux"
        and tf.__version__.startswith(_KNOWN)
        and _FLAG not in flags
        # Any other value is the path of a file with flags.
        and (not flags or flags.startswith("-"))
        # TensorFlow reads its flags when it sets up its devices, once.
        and not has_read_flags()
    )


def _take_flags_back() -> None:
    flags = os.environ.get("TF_XLA_FLAGS", "")
    if _FLAGS in flags:
        os.environ["TF_XLA_FLAGS"] = flags.replace(_FLAGS, "").strip()


def enable_program_cache() -> None:
    """Keeps the programs that XLA compiles on disk for later processes, which is the default.

    A later process that trains a model of the same form starts without compiling, and computes the same
    values. The environment variable `TFKIT_CACHE` names the folder; otherwise it is `tfkit` in the user's
    cache (`$XDG_CACHE_HOME`, or `~/.cache`). It grows to 256 MiB at most. Programs in it are run, so a folder
    that other users may write to is refused, with a warning.

    This undoes `disable_program_cache()` for the programs that are compiled from now on. It does nothing
    where there is no cache: under `TFKIT_CACHE=off`, on systems other than Linux, on a GPU, with versions of
    TensorFlow other than 2.18 and 2.21, and in a program in which TensorFlow has computed something before
    tfkit is imported.

    Example:
        >>> disable_program_cache()
        >>> enable_program_cache()
    """
    _state.is_wanted = True


def disable_program_cache() -> None:
    """Switches off reading and writing compiled programs on disk.

    It applies to the programs that this process compiles from now on. To turn the cache off for a process
    and all those that it starts, set the environment variable `TFKIT_CACHE=off`.

    Example:
        >>> disable_program_cache()
        >>> is_program_cache_enabled()
        False
        >>> enable_program_cache()
    """
    _state.is_wanted = False


def is_program_cache_enabled() -> bool:
    """Returns whether programs that XLA compiles are kept on disk for later processes.

    Returns:
        A Python bool: `True` by default, where there is a cache (see `enable_program_cache`). A full disk or
        a folder that is refused does not change it.

    Example:
        >>> disable_program_cache()
        >>> is_program_cache_enabled()
        False
        >>> enable_program_cache()
    """
    return _state.is_told and _state.is_wanted


def provide(programs: Iterable[str], shapes: Iterable[tf.TensorShape]) -> None:
    """Provides entries of earlier processes for these programs to TensorFlow; `keep` must follow.

    Args:
        programs: their names.
        shapes: of their arguments, since XLA compiles again for other shapes.
    """
    # TensorFlow has read its flags by now. Processes that this one starts must not inherit them: they may
    # have a TensorFlow that does not know them.
    _take_flags_back()
    with _state.lock, contextlib.suppress(OSError):
        _state.running += 1
        folder = _checked_folder() if is_program_cache_enabled() else None
        if folder is None:
            return
        # The name of a file has program and shapes, because TensorFlow's own name for an entry cannot be
        # computed before it compiles.
        digest = hashlib.sha256(str(list(shapes)).encode()).hexdigest()[:16]
        _state.shapes.update(dict.fromkeys(programs, digest))
        wanted = tuple(f"{program}-{digest}-" for program in programs)
        for name in os.listdir(folder):
            if name.startswith(wanted):
                with contextlib.suppress(OSError):
                    _give(folder / name)


def _give(path: Path) -> None:
    """Puts the entry of a file into memory, or removes the file if it is damaged."""
    name = path.name.split("-", 2)[2]
    if name in _state.given:
        return
    content = cache_folder.read_own(path)
    if content is None:
        return
    try:
        # The seal finds damage, such as half a file after a crash. It does not protect against people: only
        # the check of the folder is.
        if _seal(path.name, content[32:]) != content[:32]:
            raise ValueError("the seal does not fit")
        text = zlib.decompress(content[32:])
    except (ValueError, zlib.error):
        path.unlink()  # The program is compiled again, and written.
        return
    tf.io.gfile.makedirs(_IN_MEMORY)
    with tf.io.gfile.GFile(f"{_IN_MEMORY}/{name}", "wb") as file:
        file.write(text)
    _state.given.add(name)
    os.utime(path)  # `make_room` removes the least recently used.


def keep() -> None:
    """Writes new entries to the disk, and removes all from memory after TensorFlow has read them.

    It is called after each `provide`, and again at the end of the process.
    """
    with _state.lock, contextlib.suppress(OSError, tf.errors.OpError):
        _state.running = max(_state.running - 1, 0)
        if not _state.is_told:
            return
        for name in tf.io.gfile.listdir(_IN_MEMORY):
            if not name.endswith(".pb"):
                continue  # Being written by another thread.
            path = f"{_IN_MEMORY}/{name}"
            if name not in _state.given:
                if _state.folder is not None and _state.is_wanted:
                    with tf.io.gfile.GFile(path, "rb") as file:
                        entry = file.read()
                    with contextlib.suppress(OSError):
                        _write(_state.folder, name, entry)
            # Another thread may be about to read it.
            elif _state.running:
                continue
            tf.io.gfile.remove(path)
            _state.given.discard(name)


def _write(folder: Path, name: str, entry: bytes) -> None:
    try:
        program = xla_entries.program_of(entry)
        text = None if program is None else xla_entries.as_text(entry)
    except (KeyError, ValueError, IndexError, DecodeError):  # The form of the entry is not known.
        return
    if program is None or text is None:
        return
    content = zlib.compress(text, 1)
    target = folder / f"{program}-{_state.shapes.get(program, '')}-{name}"
    # Written under a temporary name and then renamed: other processes see a complete file or none.
    # `O_EXCL` refuses a name that somebody has put there.
    temporary = folder / f".{secrets.token_hex(16)}.tmp"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_seal(target.name, content) + content)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    if _state.written is None or _state.written > _BETWEEN_LOOKS:
        cache_folder.make_room(folder)
        _state.written = 0
    _state.written += len(content)


def _seal(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + content).digest()


def _checked_folder() -> Path | None:
    if not _state.is_checked:
        _state.is_checked = True
        _state.folder = cache_folder.checked_folder()
    return _state.folder


begin()
