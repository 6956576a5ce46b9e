"""Fuzzes tfkit's readers in guarded child processes; prints and keeps cases that break them."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGETS = ("h5", "keras", "index", "resume")
_CASES = 400  # of one child; TensorFlow's memory grows with each model


def run_child(words: list[str], folder: Path) -> tuple[list[list], str]:
    """Returns the lines of a child, and its last output if it did not end normally."""
    with open(folder / "log", "w+", encoding="utf-8") as log:
        child = subprocess.run(
            [sys.executable, "-m", "fuzzing.child", *words],
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            check=False,
        )
        log.seek(0)
        said = log.read()[-3_000:]
    lines = []
    for line in child.stdout.decode(errors="replace").splitlines():
        if line.startswith('["'):
            lines.append(json.loads(line))
    return lines, f"ended with {child.returncode}: {said}" if child.returncode else ""


def fuzz(target: str, first: int, count: int, keep: Path) -> tuple[int, list[str]]:
    """Runs cases; returns how many there were, and a line for each that broke something."""
    found, number = [], first
    while number < first + count:
        with tempfile.TemporaryDirectory() as folder:
            numbers = range(number, min(number + _CASES, first + count))
            words = ["cases", folder, *(f"{target}:{each}" for each in numbers)]
            lines, died = run_child(words, Path(folder))
            ends = [line for line in lines if line[0] == "end"]
            for _, name, _, wrong, _, _ in ends:
                if wrong:
                    found.append(f"{target} {name}: {'; '.join(wrong)}")
            number += len(ends)
            if died:
                begun = lines[-1] if lines and lines[-1][0] == "begin" else None
                found.append(f"{target} {number}: {died}")
                if begun is None:  # It died before the case: nothing will run.
                    return number - first, found
                place = keep / f"{target}-{number}"
                shutil.rmtree(place, ignore_errors=True)
                shutil.copytree(Path(folder, "case"), place)
                number += 1
    return number - first, found


def keep_case(target: str, line: str, keep: Path) -> None:
    """Makes the file of a finding again, for inspection; a child's seed is all that it needs."""
    name = line.split()[1].rstrip(":")
    place = keep / f"{target}-{name}"
    if not place.exists():
        place.mkdir(parents=True)
        code = (
            "from pathlib import Path; from fuzzing import targets; "
            f"targets.make({target!r}, Path({str(place)!r}), {name!r})"
        )
        subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL, check=False)


def main() -> int:
    """Runs the targets in turn until the time is over."""
    parser = argparse.ArgumentParser(prog="tools/fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"out of {', '.join(TARGETS)}; all unless given")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long; default: 5")
    parser.add_argument(
        "--cases", type=int, help="how many cases of each target, instead of minutes"
    )
    parser.add_argument(
        "--first", type=int, help="number of the first case; by the clock unless given"
    )
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir(), "tfkit-fuzz"))
    parser.add_argument("--replay", type=Path, nargs="+", help="files or folders to read instead")
    args = parser.parse_args()
    if args.replay:
        with tempfile.TemporaryDirectory() as folder:
            lines, died = run_child(["files", folder, *map(str, args.replay)], Path(folder))
        for line in lines:
            print(*line)
        print(died)
        return 1 if died or any(line[3] for line in lines if line[0] == "end") else 0
    unknown = set(args.targets) - set(TARGETS)
    if unknown:
        parser.error(f"unknown targets {sorted(unknown)}; expected some of {TARGETS}")
    end = time.monotonic() + 60 * args.minutes
    first = int(time.time()) * 1000 if args.first is None else args.first
    counts = dict.fromkeys(args.targets or TARGETS, 0)
    everything: list[str] = []
    args.keep.mkdir(parents=True, exist_ok=True)
    while True:
        for target in counts:
            count, found = fuzz(target, first + counts[target], args.cases or _CASES, args.keep)
            counts[target] += max(count, 1)
            for line in found:
                print(line, flush=True)
                keep_case(target, line, args.keep)
            everything += found
        if args.cases or time.monotonic() > end:
            break
    print(f"{counts}: {len(everything)} findings, kept in {args.keep}")
    return 1 if everything else 0


if __name__ == "__main__":
    sys.exit(main())
