"""Runs the tests of a package, file by file, on Keras and on tfkit in turns."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clienting import environment
from clienting.packages import Package

SIDES = {"keras": ("-m", "pytest"), "tfkit": ("-m", "tfkit", "run", "-m", "pytest")}


@dataclass
class Results:
    """The outcomes of the tests of a file on one side.

    Attributes:
        tests: the last line of each test, by its identifier.
        seconds: how long the process ran.
        cut: whether it did not end within the limit.
    """

    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0
    cut: bool = False


def run(
    package: Package, limit: float, chosen: str = ""
) -> Iterator[tuple[str, dict[str, Results]]]:
    """Yields each file of tests with its results on each side.

    Args:
        package: the package.
        limit: seconds for each file of tests.
        chosen: a part of the names of the files to run; empty for all.
    """
    interpreter, folder = environment.prepare(package)
    for file in test_files(package, folder):
        # Two folders may have files of one name.
        label = file.relative_to(_root(package, file)).as_posix()
        if chosen in label:
            yield (
                label,
                {side: _run_file(package, interpreter, file, side, limit) for side in SIDES},
            )


def test_files(package: Package, folder: Path) -> list[Path]:
    """Returns the files of tests of a package in order."""
    if package.uses:
        return [Path(__file__).with_name("uses") / package.uses]
    found: list[Path] = []
    for name in package.tests:
        place = folder / name
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        found += [
            file
            for file in files
            if file.stem.startswith("test_") or file.stem.endswith("_test") or place.is_file()
        ]
    return found


def _root(package: Package, file: Path) -> Path:
    return file.parent if package.uses else environment.place_of(package) / "source"


def _run_file(package: Package, interpreter: Path, file: Path, side: str, limit: float) -> Results:
    place = environment.place_of(package)
    work = place / f"work-{side}"
    work.mkdir(exist_ok=True)
    record = work / "record.jsonl"
    record.unlink(missing_ok=True)
    tools = Path(__file__).parents[1]
    paths = [str(tools), str(environment.ROOT), str(file.parent)]
    settings = {
        **environment.variables(package),
        "PYTHONPATH": ":".join(paths),
        "CLIENTING_RECORD": str(record),
    }
    root = _root(package, file)
    label = file.relative_to(root).as_posix()
    options = ["-q", "-pclienting.recording", "-pno:cacheprovider", "--import-mode=importlib"]
    options += ["-Wignore", "-c/dev/null", f"--rootdir={root}", *package.options]
    results = Results()
    start = time.monotonic()
    process = subprocess.Popen(
        [interpreter, *SIDES[side], *options, file],
        cwd=work,
        env=settings,
        stdout=(work / "output.log").open("w"),
        stderr=subprocess.STDOUT,
    )
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        results.cut = True
    results.seconds = time.monotonic() - start
    lines = record.read_text().splitlines() if record.exists() else []
    for line in lines:
        result = json.loads(line)
        name = f"{label}::{result['test'].partition('::')[2]}"
        if results.tests.get(name, {}).get("outcome") != "failed":
            results.tests[name] = result
    if not lines and not results.cut:
        text = (work / "output.log").read_text()[-300:].strip().splitlines()
        results.tests.setdefault(
            label,
            {"outcome": "failed", "error": (text or [""])[-1], "seconds": 0.0, "values": {}},
        )
    return results
