"""Version numbers, as TF Serving reads them from the names of folders."""

from __future__ import annotations

import os
from pathlib import Path

# TF Serving stores a version in an int64, and ignores a folder with a larger number.
LARGEST = 2**63 - 1


def versions_in(folder: Path) -> dict[int, Path]:
    """Returns the versions in a folder by number; `007` is 7."""
    if not folder.is_dir():
        return {}
    found = {}
    for entry in os.scandir(folder):
        if entry.name.isascii() and entry.name.isdigit() and len(entry.name.lstrip("0")) < 20:
            found[int(entry.name)] = Path(entry.path)
    return {number: path for number, path in found.items() if number <= LARGEST}
