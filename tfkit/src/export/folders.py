"""Writes the folder of an export: completely or not at all, and never replaces anything but an export."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfkit.src.files.saving.atomic import atomic_folder

# The contents of a SavedModel folder; a folder that contains anything else is not replaced.
_SAVED_MODEL = {"saved_model.pb", "fingerprint.pb", "variables", "assets", "assets.extra", "debug"}


@contextlib.contextmanager
def export_folder(path: Any) -> Iterator[Path]:
    """Context manager for a temporary folder next to `path`, which replaces it if the block succeeds.

    An old SavedModel there is replaced, in one step if the system can.

    Raises:
        FileExistsError: if `path` holds something other than a SavedModel.
    """
    if "://" in str(path):
        raise ValueError(
            f"Expected a folder of this machine: export there, and copy it. Received: {path!r}"
        )
    # Not `realpath`: a link at the end of the path is an answer of `may_replace`.
    target = Path(os.path.abspath(path))
    if not may_replace(target):
        raise FileExistsError(
            f"{str(target)!r} already exists and is not a SavedModel: it is not replaced. Name another "
            "folder, or remove it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(target) as written:
        yield written


def may_replace(target: Path) -> bool:
    """Whether `target` is a SavedModel, an empty folder or free."""
    if not os.path.lexists(target):
        return True
    if not target.is_dir():
        return False
    return {entry.name for entry in os.scandir(target)} <= _SAVED_MODEL
