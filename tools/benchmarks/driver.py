"""Runs each measurement in a separate process, with the frameworks in alternating order."""

import compileall
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.frameworks import FRAMEWORKS, KINDS
from benchmarks.workloads import TITLES, TRAINED

ROOT = Path(__file__).parents[2]


@dataclass
class Run:
    """One process: its measurement, and its results."""

    workload: str
    framework: str
    kind: str | None
    round: int
    measures: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    seconds: float = 0.0

    @property
    def name(self):
        return " ".join(filter(None, [self.workload, self.framework, self.kind]))


def plan(workloads, frameworks, all_kinds, rounds):
    """Yields all runs in order; each round begins with another framework."""
    for workload in (name for name in TITLES if name in workloads):
        columns = []
        for framework in frameworks:
            kinds = [None]
            if framework == "tfkit" and workload in TRAINED:
                kinds = list(KINDS) if all_kinds else ["auto"]
            columns += [(framework, kind) for kind in kinds]
        for number in range(rounds):
            turn = number % len(columns)
            for framework, kind in columns[turn:] + columns[:turn]:
                yield Run(workload, framework, kind, number)


def compile_tfkit():
    """Writes tfkit's bytecode, like an installation: importing source takes 0.4 s longer."""
    compileall.compile_dir(ROOT / "tfkit", quiet=1)


def execute(run, quick, timeout):
    """Stores the measurements of the process, or its error."""
    wanted = {key: asdict(run)[key] for key in ("workload", "framework", "kind")}
    paths = [str(ROOT), str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "KERAS_BACKEND": FRAMEWORKS[run.framework].backend,
        "TFKIT_CACHE": "off",  # A first epoch has its compilation in it.
    }
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.measure", json.dumps(wanted | {"quick": quick})],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        run.error = f"not done after {timeout} s"
    else:
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [""]
            run.error = f"exit status {done.returncode}: {lines[-1]}"
        else:
            result = json.loads(done.stdout.splitlines()[-1])
            run.measures, run.versions = result["measures"], result["versions"]
    run.seconds = time.perf_counter() - start
