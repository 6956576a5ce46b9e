"""Starts the frameworks of a work, each in a process of its own, and lets them measure in turns."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.field.works import FRAMEWORKS, NAMES

ROOT = Path(__file__).parents[3]
MEASURES = ("step", "call", "predict 1", "predict 64", "predict 10,000")
MOST_TURNS = 5
_PATIENCE = 90  # Seconds for an answer,
_GRACE = 20  # of which so many may be after the end of the time.


@dataclass
class Result:
    """The measurements of one work in one framework."""

    work: str
    framework: str
    measures: dict[str, list[float]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None


class Worker:
    """A process that runs one work in one framework.

    Args:
        result: the object that gets what is measured.
        quick: whether the work is as short as possible.
        end: the end of the time, by `time.monotonic`.
    """

    def __init__(self, result, quick, end):
        self.result, self._end = result, end
        framework = FRAMEWORKS[result.framework]
        python = ROOT / ".venv-convert/bin/python" if framework.peer else sys.executable
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._folder = tempfile.TemporaryDirectory()
        environment = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tools")]),
            "KERAS_BACKEND": framework.backend,
            # First epochs contain the compilation.
            "TFKIT_CACHE": "off",
            "TORCHINDUCTOR_CACHE_DIR": self._folder.name,
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        command = [python, "-m", "benchmarks.field.worker", result.work, result.framework]
        self._process = subprocess.Popen(
            [*command, "quick" if quick else "whole"],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if begun := self._answer():
            result.versions = begun["versions"]
            result.measures = {name: [value] for name, value in begun["measures"].items()}

    def measure(self, name):
        """Adds a measurement to the result; nothing after an error."""
        if self.result.error is None:
            with contextlib.suppress(BrokenPipeError):  # Its end is the answer.
                self._process.stdin.write(f"{name}\n")
                self._process.stdin.flush()
            value = self._answer()
            if value is not None:
                self.result.measures.setdefault(name, []).append(value)

    def end(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()
        self._folder.cleanup()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _answer(self):
        """Returns the answer; `None` after an error, which the result gets."""
        patience = min(_PATIENCE, max(1, self._end + _GRACE - time.monotonic()))
        try:
            line = self._lines.get(timeout=patience)
        except queue.Empty:
            self._process.kill()
            self.result.error = f"no answer after {patience:.0f} s"
            return None
        if line:
            return json.loads(line)
        self._errors.seek(0)
        last = (self._errors.read().strip().splitlines() or [""])[-1]
        self.result.error = f"exit status {self._process.wait()}: {last}"
        return None


def run(works, frameworks, quick, minutes):
    """Returns the results of all works and frameworks, within so many minutes and 20 seconds."""
    end = time.monotonic() + 60 * minutes
    results = []
    for place, work in enumerate(works):
        start = time.monotonic()
        until = start + (end - start) / (len(works) - place)
        found = run_work(work, turned(frameworks, place), quick, until, end)
        results += found
        errors = [f"{it.framework}: {it.error}" for it in found if it.error]
        spent = f"{time.monotonic() - start:.0f} s"
        print(f"{NAMES[work]}: {'; '.join([spent, *errors])}", file=sys.stderr, flush=True)
    return results


def turned(items, places):
    """Returns the items in turned order, so that each is first now and then."""
    return [*items[places % len(items) :], *items[: places % len(items)]]


def run_work(work, frameworks, quick, until, end):
    """Returns the results of a work: as many turns as there is time for until `until`, but at least one.

    Nothing begins after `end`.
    """
    results = [Result(work, framework) for framework in frameworks]
    workers = []
    try:
        for result in results:
            if time.monotonic() > end:
                result.error = "not begun: the time was over"
            else:
                workers.append(Worker(result, quick, end))
        for measure in MEASURES[1:]:
            for worker in workers:  # The first time may compile.
                if worker.result.framework != "products" and time.monotonic() < end:
                    worker.measure(measure)
                    worker.result.measures.pop(measure, None)
        for turn in range(1 if quick else MOST_TURNS):
            if time.monotonic() > (until if turn else end):
                break
            for measure in MEASURES:
                for worker in turned(workers, turn):
                    if measure == "step" or worker.result.framework != "products":
                        worker.measure(measure)
    finally:
        for worker in workers:
            worker.end()
    return results
