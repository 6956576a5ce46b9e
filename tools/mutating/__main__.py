"""Puts faults into copies of the source, one at a time, and checks whether the tests notice."""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from mutating import accepted, report, rooms
from mutating.faults import Fault
from mutating.sampling import Tests, all_faults, sample

OUT = rooms.ROOT / "out/mutation"
SEED = "tfkit"


def measure(processes: int, files: list[str]) -> None:
    """Runs the tests, of some files or all, on a copy, and writes which functions ran in each."""
    with tempfile.TemporaryDirectory(prefix="mutating-") as folder:
        copy, parts = Path(folder, "copy"), Path(folder, "parts")
        parts.mkdir()
        rooms.copy_tree(copy)
        options = ["-q", "-n", str(processes), "-m", "not wide"]
        options += ["-p", "mutating.ran", "-p", "no:cacheprovider"]
        left_out = [f"--ignore={name}" for name in rooms.LEFT_OUT]
        tools = rooms.ROOT / "tools"
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *(files or ["tests"]), *left_out],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": f"{copy}:{tools}", "TFKIT_RAN": str(parts)},
            check=False,  # A failing test cannot notice anything, and is left out.
        )
        Tests.save(parts, OUT / "ran.json", files)


class Server:
    """A process that runs tests on mutants in its own copy."""

    def __init__(self, folder: Path) -> None:
        rooms.copy_tree(folder)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mutating.server", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{folder}:{rooms.ROOT / 'tools'}"},
        )

    def run(self, file: str, source: bytes, tests: list[str], limit: float) -> dict:
        """Returns the tests' result for a file's new text: `by` is the one that failed, or None."""
        request = {"file": file, "source": source.decode(), "tests": tests, "limit": limit}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def run_all(faults: list[Fault], tests: Tests, args: argparse.Namespace) -> None:
    """Tries the faults, and writes a line for each as soon as its result is known."""
    waiting: queue.SimpleQueue[Fault] = queue.SimpleQueue()
    for fault in faults:
        waiting.put(fault)
    lock, done = threading.Lock(), 0
    results = open(args.results, "a", buffering=1)  # noqa: SIM115, threads write

    def work(folder: Path) -> None:
        nonlocal done
        with Server(folder) as server:
            while True:
                try:
                    fault = waiting.get_nowait()
                except queue.Empty:
                    break
                seen = try_fault(server, fault, tests, args)
                with lock:
                    done += 1
                    results.write(json.dumps({"fault": fault.identity, **seen}) + "\n")
                    verdict = seen.get("error", "")[-300:] or seen["by"] or "SURVIVED"
                    print(
                        f"{done}/{len(faults)} {fault.file} {fault.function} ({fault.kind}): "
                        f"{fault.before!r} -> {fault.after!r}\n    {verdict} [{seen['seconds']} s]",
                        flush=True,
                    )

    with tempfile.TemporaryDirectory(prefix="mutating-") as folder:
        threads = [
            threading.Thread(target=work, args=(Path(folder, str(number)),))
            for number in range(args.processes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    results.close()


def try_fault(server: Server, fault: Fault, tests: Tests, args: argparse.Namespace) -> dict:
    """Runs a few tests, then more of them if these have noticed nothing."""
    source = fault.apply((rooms.ROOT / "tfkit/src" / fault.file).read_bytes())
    spent, chosen = 0.0, None
    for seconds in (args.seconds / 6, args.seconds):
        before, chosen = chosen, tests.for_fault(fault, seconds)
        if chosen == before:
            break
        limit = args.patience * (tests.seconds(chosen) + 30)
        seen = server.run(fault.file, source, chosen, limit)
        spent += seen["seconds"]
        if seen["by"] or seen.get("error"):
            break
    return {**seen, "kind": fault.kind, "seconds": round(spent, 1)}


def main() -> int:
    """Measures, tries faults, and writes the results."""
    parser = argparse.ArgumentParser(prog="tools/mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=210, help="faults; default: 210")
    parser.add_argument("--seed", default=SEED, help=f"of the sample; default: {SEED}")
    parser.add_argument("--only", default="", help="only faults of files whose name begins so")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of tests for each; default: 60"
    )
    parser.add_argument("--patience", type=float, default=4.0, help="how much slower; default: 4")
    parser.add_argument("--processes", type=int, default=2, help="at a time; default: 2")
    parser.add_argument(
        "--measure",
        nargs="*",
        metavar="FILE",
        help="measure again what runs in the tests of these files; in all tests if none are named",
    )
    parser.add_argument("--again", action="store_true", help="forget what earlier runs have seen")
    parser.add_argument("--survivors", action="store_true", help="only what survived before")
    parser.add_argument("--list", action="store_true", help="show the sample, run nothing")
    parser.add_argument(
        "--report", action="store_true", help=f"write {report.PAGE.name}, run nothing"
    )
    args = parser.parse_args()
    args.results = OUT / "results.jsonl"
    OUT.mkdir(parents=True, exist_ok=True)

    faults = all_faults()
    for row in accepted.gone(faults):
        print(f"accepted.toml: there is no such fault any more: {row}", file=sys.stderr)
    chosen = sample(faults, args.count, args.seed)
    if args.list:
        for fault in chosen:
            print(f"{fault.file} {fault.function} ({fault.kind}): {fault.before} -> {fault.after}")
        return 0
    if args.again:
        args.results.unlink(missing_ok=True)
    if not args.report:
        if args.measure is not None or not (OUT / "ran.json").exists():
            measure(args.processes, args.measure or [])
        seen = report.read(args.results)
        again = {name for name, row in seen.items() if args.survivors and not row["by"]}
        left = [
            fault
            for fault in chosen
            if fault.file.startswith(args.only)
            and (fault.identity in again or (fault.identity not in seen and not args.survivors))
        ]
        run_all(left, Tests(OUT / "ran.json"), args)
    return report.write(chosen, report.read(args.results), len(faults))


if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit("tools/mutate needs git: it copies the files that git knows")
    raise SystemExit(main())
