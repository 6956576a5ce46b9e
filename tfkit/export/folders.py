"""Writing a folder so that it is seen whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# What a SavedModel folder holds; a folder with anything else in it is not ours to replace.
_SAVED_MODEL = {"saved_model.pb", "fingerprint.pb", "variables", "assets", "assets.extra", "debug"}
_AT_WORKING_FOLDER, _EXCHANGE = -100, 2


@contextlib.contextmanager
def atomic_folder(path: Any) -> Iterator[Path]:
    """A temporary folder beside `path`, which takes its place when the `with` block has ended well.

    An old SavedModel there is replaced at one moment, where the system can exchange two folders.

    Raises:
        FileExistsError: where `path` holds something else than a SavedModel.
    """
    if "://" in str(path):
        raise ValueError(
            f"Expected a folder of this machine: export there, and copy it. Received: {path!r}"
        )
    target = Path(os.path.abspath(path))
    if not may_replace(target):
        raise FileExistsError(
            f"{str(target)!r} is there already and is no SavedModel: it is not replaced. Name another "
            "folder, or remove it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as temporary:
        written = Path(temporary, "new")
        yield written
        sync(written)
        _put(written, target)
        sync_folder(target.parent)


def may_replace(target: Path) -> bool:
    """Whether there is nothing at `target` but a SavedModel or an empty folder."""
    if not os.path.lexists(target):
        return True
    if not target.is_dir():
        return False
    return {entry.name for entry in os.scandir(target)} <= _SAVED_MODEL


def _put(written: Path, target: Path) -> None:
    if not target.exists():
        os.rename(written, target)
    elif not _exchange(written, target):
        old = written.with_name("old")
        os.rename(target, old)
        os.rename(written, target)
        shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two folders at one moment; `False` where the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    return rename(_AT_WORKING_FOLDER, names[0], _AT_WORKING_FOLDER, names[1], _EXCHANGE) == 0


def sync(folder: Path) -> None:
    """Waits until all files in a folder are on the disk."""
    for root, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(root, name), "rb+") as file:
                os.fsync(file.fileno())
        sync_folder(root)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Waits until the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
