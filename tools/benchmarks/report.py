"""Medians of the rounds, ratios and targets, as tables."""

import os
import platform
import statistics
from datetime import date
from pathlib import Path

from benchmarks.frameworks import FRAMEWORKS, KINDS
from benchmarks.targets import AUTO_FACTOR, TARGETS
from benchmarks.workloads import TITLES

# The measurements, by key: label, unit, and units per second (for memory: per MiB).
MEASURES = {
    "step": ("a step, arrays", "µs", 1e6),
    "dataset step": ("a step, tf.data", "µs", 1e6),
    "first": ("first epoch", "s", 1),
    "one row": ("predict 1 row", "µs", 1e6),
    "10,000 rows": ("predict 10,000 rows", "µs", 1e6),
    "10,000 rows at once": ("10,000 rows in one call", "µs", 1e6),
    "MLP 64-32-32-1": ("MLP 64-32-32-1", "µs", 1e6),
    "MLP, jit_compile=True": ("MLP, jit_compile=True", "µs", 1e6),
    "MLP, no XLA": ("MLP, no XLA", "µs", 1e6),
    "transformer, 4 blocks": ("transformer, 4 blocks", "µs", 1e6),
    "MLP step": ("a step of the MLP", "µs", 1e6),
    "MLP step, CPU": ("a step of the MLP, time of CPUs", "µs", 1e6),
    "CNN step": ("a step of the CNN", "µs", 1e6),
    "CNN step, CPU": ("a step of the CNN, time of CPUs", "µs", 1e6),
    "save": ("save", "s", 1),
    "load": ("load", "s", 1),
    "export": ("export", "s", 1),
    "first call": ("first call", "s", 1),
    "image in map": ("an image alone in `map`", "µs", 1e6),
    "image in parallel map": ("an image alone in a parallel `map`", "µs", 1e6),
    "image in batches": ("an image in a batch in `map`", "µs", 1e6),
    "image in fit": ("an image in a model in `fit`", "µs", 1e6),
    "adapt": ("adapt", "s", 1),
    "import": ("time", "s", 1),
    "memory": ("peak memory", "MiB", 1),
}

NOTES = (
    "Medians over the rounds of medians over epochs or calls, each run in a process of its own. "
    '"By hand" from `tf.data` only reads the batches and drops them: the least that the pipeline costs.'
)


def machine():
    """Returns CPU and cores, without the name of the host."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return {"cpu": name, "cores": os.cpu_count()}


def summarize(runs):
    """Returns medians by workload, framework, kind and measure."""
    values = {}
    for run in runs:
        for measure, value in run.measures.items():
            key = run.workload, run.framework, run.kind, measure
            values.setdefault(key, []).append(value)
    return {key: statistics.median(numbers) for key, numbers in values.items()}


def numbered_errors(runs):
    """Returns each error with its number, by run."""
    texts = {}
    for run in runs:
        if run.error:
            texts.setdefault((run.workload, run.framework, run.kind), f"{run.name}: {run.error}")
    return {key: (number, text) for number, (key, text) in enumerate(texts.items(), 1)}


class Report:
    """The tables of some runs.

    Args:
        runs: finished runs.
        frameworks: names of the columns, tfkit first.
    """

    def __init__(self, runs, frameworks):
        self.runs = runs
        self.frameworks = frameworks
        self.medians = summarize(runs)
        self.errors = numbered_errors(runs)
        ran = {run.workload for run in runs}
        self.workloads = [name for name in TITLES if name in ran]
        self.machine = machine()
        self.versions = {}
        for run in runs:
            self.versions.update(run.versions)
        self.date = date.today().isoformat()

    def value(self, workload, framework, measure):
        for kind in ("auto", None):
            if (workload, framework, kind, measure) in self.medians:
                return self.medians[workload, framework, kind, measure]
        return None

    def cell(self, workload, framework, kind, measure, scale):
        value = self.medians.get((workload, framework, kind, measure))
        if value is not None:
            return number(value * scale)
        failure = self.errors.get((workload, framework, kind))
        return f"error {failure[0]}" if failure else ""

    def measures_of(self, workload):
        """Returns the measures that some framework has; all workloads have the memory, if only for errors."""
        found = {measure for name, _, _, measure in self.medians if name == workload} | {"memory"}
        return [measure for measure in MEASURES if measure in found]

    def rows(self):
        """Yields one dict for each row of the table."""
        for workload in self.workloads:
            for measure in self.measures_of(workload):
                label, unit, scale = MEASURES[measure]
                mine = self.value(workload, "tfkit", measure)
                row = {"work": TITLES[workload], "measured": f"{label}, {unit}"}
                for framework in self.frameworks:
                    kind = "auto" if (workload, framework, "auto") in self.kinds_run() else None
                    title = FRAMEWORKS[framework].title
                    row[title] = self.cell(workload, framework, kind, measure, scale)
                for framework in self.frameworks[1:]:
                    peer = self.value(workload, framework, measure)
                    known = mine is not None and peer is not None
                    row[f"{FRAMEWORKS[framework].title} / tfkit"] = (
                        f"{peer / mine:.2f}" if known else ""
                    )
                yield row | self.judge(workload, measure, mine)

    def kinds_run(self):
        return {(run.workload, run.framework, run.kind) for run in self.runs}

    def judge(self, workload, measure, mine):
        targets = TARGETS.get((workload, measure), [])
        misses = []
        known = bool(targets)
        for target in targets:
            peer = self.value(workload, target.peer, target.measure or measure)
            if mine is None or peer is None:
                known = False
            elif not target.reached(mine, peer):
                misses.append(target.actual(mine, peer))
        reached = f"no: {', '.join(misses)}" if misses else "yes" if known else ""
        return {"target": "; ".join(target.text() for target in targets), "reached": reached}

    def kind_rows(self):
        """Yields one dict for each row of the table of kinds."""
        for workload in self.workloads:
            for measure in ("step", "dataset step", "first"):
                times = {
                    kind: self.medians.get((workload, "tfkit", kind, measure)) for kind in KINDS
                }
                known = {kind: time for kind, time in times.items() if time is not None}
                if len({kind for name, _, kind in self.kinds_run() if name == workload}) < 3:
                    continue
                label, unit, scale = MEASURES[measure]
                row = {"work": TITLES[workload], "measured": f"{label}, {unit}"}
                for kind in KINDS:
                    row[kind] = self.cell(workload, "tfkit", kind, measure, scale)
                row["best"] = min(known, key=known.get) if known else ""
                ratio = times["auto"] / min(known.values()) if times["auto"] else None
                row["auto / best"] = f"{ratio:.2f}" if ratio else ""
                judged = measure != "first"
                row["target"] = f"<= {AUTO_FACTOR}" if judged else ""
                row["reached"] = (
                    ("yes" if ratio <= AUTO_FACTOR else "no") if judged and ratio else ""
                )
                yield row

    def markdown(self):
        versions = ", ".join(f"{name} {version}" for name, version in sorted(self.versions.items()))
        rounds = max(run.round for run in self.runs) + 1
        lines = [
            f"{self.date}, {self.machine['cpu']}, {self.machine['cores']} cores; {versions}; "
            f"rounds: {rounds}.",
            "",
            *table(list(self.rows())),
            "",
            NOTES,
        ]
        kinds = list(self.kind_rows())
        if kinds:
            lines += ["", "Kinds of tfkit's programs:", "", *table(kinds)]
        if self.errors:
            lines += ["", *(f"error {count}: {text}" for count, text in self.errors.values())]
        return "\n".join(lines) + "\n"

    def data(self):
        """Returns all of it for JSON."""
        return {
            "date": self.date,
            "machine": self.machine,
            "versions": self.versions,
            "rows": list(self.rows()),
            "kinds": list(self.kind_rows()),
            "errors": [text for _, text in self.errors.values()],
            "runs": [vars(run) for run in self.runs],
        }


def number(value):
    """Returns a number with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(rows):
    """Returns lines of a Markdown table with columns of even width, numbers aligned to the right."""
    heads = list(rows[0])
    cells = [[str(row[head]) for head in heads] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    texts = {"work", "measured", "best", "target", "reached"}

    def line(values):
        padded = (
            value.ljust(width) if head in texts else value.rjust(width)
            for head, value, width in zip(heads, values, widths, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = (
        "-" * width if head in texts else "-" * (width - 1) + ":"
        for head, width in zip(heads, widths, strict=True)
    )
    return [line(heads), f"| {' | '.join(rule)} |", *map(line, cells)]
