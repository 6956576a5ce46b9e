"""The files in which faults are made, and the files of a copy."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("core", "training", "files", "optimizers", "losses", "metrics", "export")
# Tests that concern none of these rooms, or that start programs which run for minutes.
LEFT_OUT = ("tests/ops", "tests/tools", "tests/examples", "tests/datasets", "tests/test_docs.py")


def is_mutated(module: str) -> bool:
    """Whether a module is in one of the rooms."""
    return module.startswith(tuple(f"tfkit.src.{room}." for room in ROOMS))


def files(root: Path = ROOT) -> list[Path]:
    """Returns the files of the rooms."""
    return [
        path
        for room in ROOMS
        for path in sorted((root / "tfkit/src" / room).rglob("*.py"))
        if path.name not in ("__init__.py", "__main__.py")
    ]


def name_of(path: str | Path) -> str:
    """Returns a file's name below `tfkit/src`, in any copy: "core/layer.py"."""
    return str(path).replace(os.sep, "/").rpartition("/tfkit/src/")[2]


def copy_tree(to: Path) -> None:
    """Copies the files that git tracks, or would track: mutants exist only in copies."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
