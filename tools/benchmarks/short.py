"""Short programs as whole processes, from the start of Python to its end: tfkit and Keras in turns.

A program runs in three ways: with an empty cache of compiled programs, with one that the run before has
filled, and with an empty one where TensorFlow is imported before anything else. Keras has no such cache.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.driver import ROOT
from benchmarks.frameworks import FRAMEWORKS
from benchmarks.report import machine, table

EMPTY, FILLED, LATER = "empty cache", "filled cache", "TensorFlow first"
WAYS = (EMPTY, FILLED, LATER)


@dataclass
class ShortRun:
    """One process: what it was to run, and what came of it.

    Attributes:
        measures: seconds ("wall", "CPU", and of the imports "import", "import CPU"), "memory" in MiB, "loss".
    """

    program: str
    framework: str
    way: str
    round: int
    measures: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None

    @property
    def name(self):
        return f"{self.program} {self.framework} {self.way}"


def plan(programs, ways, rounds):
    """Returns all runs in order; the frameworks take turns in being first."""
    for number in range(rounds):
        for program in programs:
            runs = [
                ShortRun(program, framework, way, number)
                for way in WAYS
                for framework in ("keras", "tfkit")
                if (way in ways or (way == EMPTY and FILLED in ways))
                and not (way == FILLED and framework == "keras")  # It would be the same run again.
            ]
            first, second = runs[:2]
            if number % 2 and first.way == second.way:
                runs[:2] = [second, first]
            yield from runs


def execute(run, cache, quick, timeout):
    """Fills in what the process measured, or why it did not.

    Args:
        run: what to run.
        cache: folder for compiled programs.
        quick: whether on a tenth of the rows.
        timeout: seconds.
    """
    wanted = {"program": run.program, "framework": run.framework, "quick": quick}
    wanted["tensorflow_first"] = run.way == LATER
    paths = [str(ROOT), str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONDONTWRITEBYTECODE": "",  # As for an installed package: Python compiles a source once.
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "KERAS_BACKEND": FRAMEWORKS[run.framework].backend,
        "TFKIT_CACHE": str(cache),
    }
    command = [sys.executable, "-m", "benchmarks.short_run", json.dumps(wanted)]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=errors)
        status, usage = wait(process, timeout)
        wall = time.perf_counter() - start
        output.seek(0)
        errors.seek(0)
        if status is None:
            run.error = f"not done after {timeout} s"
        elif status:
            lines = errors.read().strip().splitlines() or [""]
            run.error = f"exit status {status}: {lines[-1]}"
        else:
            result = json.loads(output.read().splitlines()[-1])
            run.measures, run.versions = result["measures"], result["versions"]
            run.measures["wall"] = wall
            run.measures["CPU"] = usage.ru_utime + usage.ru_stime
            run.measures["memory"] = usage.ru_maxrss / (
                2**20 if sys.platform == "darwin" else 2**10
            )


def wait(process, timeout):
    """Returns the exit status of a process, `None` if it took too long, and what it has used."""
    end = time.monotonic() + timeout
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > end:
            process.kill()
            process.wait()
            return None, None
        time.sleep(0.005)


def run_all(programs, ways, rounds, quick, timeout):
    """Does all runs, and returns them."""
    runs = list(plan(programs, ways, rounds))
    with tempfile.TemporaryDirectory() as folder:
        for count, run in enumerate(runs, 1):
            filled = Path(folder) / f"{run.program} {run.round}"
            cache = filled if run.way != LATER else Path(folder) / f"later {count}"
            execute(run, cache, quick, timeout)
            outcome = run.error or f"{run.measures['wall']:.1f} s, CPU {run.measures['CPU']:.1f} s"
            print(f"{count}/{len(runs)} {run.name}: {outcome}", file=sys.stderr, flush=True)
    return [run for run in runs if run.way in ways or run.framework == "keras"]


class ShortReport:
    """The tables of some runs: how many times as long, or as much, Keras takes.

    Args:
        runs: finished runs.
        ways: in which programs ran.
    """

    def __init__(self, runs, ways):
        self.runs = runs
        self.ways = [way for way in WAYS if way in ways]
        self.programs = list(dict.fromkeys(run.program for run in runs))
        self.errors = [f"{run.name}: {run.error}" for run in runs if run.error]

    def value(self, program, framework, way, measure):
        """Returns the median over the rounds, or NaN; `work` is all but the import."""
        if framework == "keras" and way == FILLED:
            way = EMPTY
        found = [
            run.measures
            for run in self.runs
            if (run.program, run.framework, run.way) == (program, framework, way) and run.measures
        ]
        kind, _, part = measure.partition(" ")
        if part != "of work":
            values = [measures[kind] for measures in found]
        else:
            imports = {"wall": "import", "CPU": "import CPU"}[kind]
            values = [measures[kind] - measures[imports] for measures in found]
        return statistics.median(values) if values else math.nan

    def ratio(self, program, way, measure):
        return self.value(program, "keras", way, measure) / self.value(
            program, "tfkit", way, measure
        )

    def rows(self, kind):
        """Returns a dict for each program, ratios of `"wall"` or `"CPU"`, then their medians and minima."""
        columns = {}
        for way in self.ways:
            columns[way] = (way, kind)
            if way != LATER:
                columns[f"{way}, without imports"] = (way, f"{kind} of work")
        for program in self.programs:
            ratios = {title: self.ratio(program, *column) for title, column in columns.items()}
            memory = {f"memory, {way}": self.ratio(program, way, "memory") for way in self.ways}
            losses = {
                f"loss, {FRAMEWORKS[framework].title}": self.value(program, framework, way, "loss")
                for framework, way in (("tfkit", self.ways[0]), ("keras", self.ways[0]))
            }
            yield {"program": program, **ratios, **memory, **losses}

    def markdown(self):
        versions = {name: text for run in self.runs for name, text in run.versions.items()}
        known = ", ".join(f"{name} {text}" for name, text in sorted(versions.items()))
        where = machine()
        rounds = max(run.round for run in self.runs) + 1
        lines = [f"{where['cpu']}, {where['cores']} cores; {known}; rounds: {rounds}."]
        for kind in ("wall", "CPU"):
            rows = list(self.rows(kind))
            lines += ["", f"Keras / tfkit, {kind} time of whole processes:", ""]
            lines += table([*map(rounded, rows), *map(rounded, summaries(rows))])
        if self.errors:
            lines += ["", *(f"error: {text}" for text in self.errors)]
        return "\n".join(lines) + "\n"

    def data(self):
        """Returns all of it for JSON."""
        rows = {kind: list(self.rows(kind)) for kind in ("wall", "CPU")}
        return {"machine": machine(), "rows": rows, "runs": [asdict(run) for run in self.runs]}


def summaries(rows):
    """Returns the median and the least of each column of ratios."""
    for title, summarize in (("**median**", statistics.median), ("**least**", min)):
        row = {"program": title}
        for column in rows[0]:
            values = [each[column] for each in rows if column != "program"]
            known = [value for value in values if not math.isnan(value)]
            if column != "program":
                is_ratio = bool(known) and not column.startswith("loss")
                row[column] = summarize(known) if is_ratio else math.nan
        yield row


def rounded(row):
    """Returns the cells of a row as texts."""
    cells = {}
    for column, value in row.items():
        if isinstance(value, str):
            cells[column] = value
        elif math.isnan(value):
            cells[column] = ""
        else:
            cells[column] = f"{value:.4g}" if column.startswith("loss") else f"{value:.2f}"
    return cells
