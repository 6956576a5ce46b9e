"""Runs the tests of a package, file by file, on Keras and on tfkit in turns."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clienting import environment
from clienting.packages import Package

SIDES = {"keras": ("-m", "pytest"), "tfkit": ("-m", "tfkit", "run", "-m", "pytest")}


@dataclass
class Results:
    """The outcomes of the tests of a file, or of several in one process, on one side.

    Attributes:
        tests: the last line of each test, by its identifier.
        seconds: the time of the processors that the process and its children used; unlike the time by the
            clock, other work on the machine hardly changes it.
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
    # Two folders may have files of one name.
    files = {
        file.relative_to(_root(package, file)).as_posix(): [file]
        for file in test_files(package, folder)
    }
    files = {label: found for label, found in files.items() if chosen in label}
    if package.together:
        files = {chosen or "all": [file for found in files.values() for file in found]}
    for label, found in files.items():
        yield (
            label,
            {side: _run_files(package, interpreter, found, side, limit) for side in SIDES},
        )


def _processors() -> float:
    """Returns the seconds of the processors that all processes used that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def _run_files(
    package: Package, interpreter: Path, files: list[Path], side: str, limit: float
) -> Results:
    place = environment.place_of(package)
    work = place / f"work-{side}"
    work.mkdir(exist_ok=True)
    record = work / "record.jsonl"
    record.unlink(missing_ok=True)
    tools = Path(__file__).parents[1]
    paths = [str(tools), str(environment.ROOT), str(files[0].parent)]
    settings = {
        **environment.variables(package),
        "PYTHONPATH": ":".join(paths),
        "CLIENTING_RECORD": str(record),
    }
    root = _root(package, files[0])
    options = ["-q", "-pclienting.recording", "-pno:cacheprovider", "--import-mode=importlib"]
    options += ["-Wignore", "-c/dev/null", f"--rootdir={root}", *package.options]
    results = Results()
    start = _processors()
    command = [interpreter, *SIDES[side], *options, *files]
    with (work / "output.log").open("w") as output:
        try:
            subprocess.run(
                command,
                cwd=work,
                env=settings,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            results.cut = True
    results.seconds = _processors() - start
    lines = record.read_text().splitlines() if record.exists() else []
    for line in lines:
        result = json.loads(line)
        name = result["test"]
        if results.tests.get(name, {}).get("outcome") != "failed":
            results.tests[name] = result
    if not lines and not results.cut:
        text = (work / "output.log").read_text()[-300:].strip().splitlines()
        error = (text or [""])[-1]
        results.tests["all"] = {"outcome": "failed", "error": error, "seconds": 0.0, "values": {}}
    return results
