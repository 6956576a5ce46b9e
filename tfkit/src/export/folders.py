"""The folder of an export: seen whole or not at all, and never in the place of something else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfkit.src.saving.atomic import atomic_folder

# What a SavedModel folder holds; a folder with anything else in it is not ours to replace.
_SAVED_MODEL = {"saved_model.pb", "fingerprint.pb", "variables", "assets", "assets.extra", "debug"}


@contextlib.contextmanager
def export_folder(path: Any) -> Iterator[Path]:
    """A temporary folder beside `path`, which takes its place when the `with` block has ended well.

    An old SavedModel there is replaced, where the system can in one step.

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
    with atomic_folder(target) as written:
        yield written


def may_replace(target: Path) -> bool:
    """Whether there is nothing at `target` but a SavedModel or an empty folder."""
    if not os.path.lexists(target):
        return True
    if not target.is_dir():
        return False
    return {entry.name for entry in os.scandir(target)} <= _SAVED_MODEL
