"""The page of the field: tables of medians, and a chart."""

import statistics
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.field.works import FRAMEWORKS, NAMES
from benchmarks.report import machine, number, table

# The tables: heading, unit, units per second (for memory: per MiB).
TABLES = {
    "step": ("A training step", "µs", 1e6),
    "first epoch": ("The first epoch, with all that is compiled", "s", 1),
    "call": ("A call of the model with one row", "µs", 1e6),
    "predict 1": ("Predictions for one row, from and to NumPy", "µs", 1e6),
    "predict 64": ("Predictions for 64 rows", "µs", 1e6),
    "predict 10,000": ("Predictions for 10,000 rows, in batches", "ms", 1e3),
    "import": ("The import", "s", 1),
    "first result": ("From the start of Python's program to the first result of a model", "s", 1),
    "memory": ("Peak memory of a training", "MiB", 1),
}
ALL = "all"
DRAWN = {
    "step": "a training step",
    "first epoch": "the first epoch",
    "predict 1": "predict, one row",
    "predict 10,000": "predict, 10,000 rows",
}

HEAD = """# The field

How long tfkit and what a user might pick instead take for the same nine models, on the same machine, in one
run of `./tools/bench --field`.

{machine}, {cores} cores; {versions}; {date}.

![The times of the others, divided by tfkit's]({picture})

Each framework runs each model in a process of its own. The processes measure in turns, at least 0.2 seconds
at a time after a run that does not count (of runs over a second, there is one), {turns}; the tables have
the medians. In tfkit and Keras a model is trained by `fit` with the defaults; by hand there is a loop over
batches in PyTorch, with its fused Adam, and one compiled loop over the steps of an epoch in JAX and in
TensorFlow. The batch of a step is in parentheses. "Products alone" is the floor: the matrix products of the
step and of its gradients, in NumPy, and nothing else. The last column compares tfkit with the fastest of
the others, the last row has geometric means of the ratios to tfkit. Over 1: tfkit is faster.

A step is one of a long training: tfkit's first epoch has run without XLA where that pays later. JAX's and
TensorFlow's calls by hand are compiled by XLA for one row.
"""


class Report:
    """The page, from finished results.

    Args:
        results: the results.
        picture: the path of the chart, relative to the page.
    """

    def __init__(self, results, picture):
        self.results, self.picture = results, picture
        self.times = {
            (it.work, it.framework, measure): statistics.median(values)
            for it in results
            for measure, values in it.measures.items()
        }
        for framework in FRAMEWORKS:
            imports = [
                value
                for it in results
                if it.framework == framework
                for value in it.measures.get("import", ())
            ]
            if imports:
                self.times[ALL, framework, "import"] = statistics.median(imports)
        self.works = [work for work in NAMES if any(it.work == work for it in results)]
        ran = {it.framework for it in results}
        self.frameworks = [framework for framework in FRAMEWORKS if framework in ran]
        self.errors = [f"{it.work}, {it.framework}: {it.error}" for it in results if it.error]

    def peers(self, measure):
        """Returns the frameworks to compare tfkit with."""
        rest = [it for it in self.frameworks if it not in ("tfkit", "products")]
        return [it for it in rest if any((work, it, measure) in self.times for work in self.works)]

    def ratio(self, work, framework, measure):
        """Returns the time of a framework divided by tfkit's; `None` if one is missing."""
        ours = self.times.get((work, "tfkit", measure))
        theirs = self.times.get((work, framework, measure))
        return theirs / ours if ours and theirs else None

    def rows(self, measure):
        """Yields the rows of a table as dicts."""
        scale, peers = TABLES[measure][2], self.peers(measure)
        columns = [it for it in self.frameworks if it in ("tfkit", *peers)]
        columns += [it for it in ("products",) if (self.works[0], it, measure) in self.times]
        columns = [it for it in columns if it != "products" or measure == "step"]
        ratios = {it: [] for it in (*peers, "best")}
        # The import is the same for all works: their medians are one row.
        works = self.works if measure != "import" else [ALL]
        for work in works:
            row = {"work": NAMES.get(work, work)}
            for framework in columns:
                value = self.times.get((work, framework, measure))
                row[FRAMEWORKS[framework].title] = "" if value is None else number(value * scale)
            known = {it: self.ratio(work, it, measure) for it in peers}
            known = {it: value for it, value in known.items() if value is not None}
            if known:
                known["best"] = min(known.values())
            for framework, value in known.items():
                ratios[framework].append(value)
            yield row | {"best / tfkit": f"{known['best']:.2f}" if known else ""}
        means = {
            it: f"{statistics.geometric_mean(values):.2f}"
            for it, values in ratios.items()
            if values
        }
        titles = {FRAMEWORKS[it].title: means.get(it, "") for it in columns}
        if len(works) > 1:
            last = {"work": "mean of the ratios", **titles}
            yield last | {"best / tfkit": means.get("best", "")}

    def markdown(self):
        """Returns the page."""
        versions = {}
        for result in self.results:
            versions.update(result.versions)
        turns = max((len(it.measures.get("step", ())) for it in self.results), default=0)
        known = machine()
        lines = [
            HEAD.format(
                machine=known["cpu"],
                cores=known["cores"],
                versions=", ".join(f"{name} {value}" for name, value in sorted(versions.items())),
                date=date.today().isoformat(),
                picture=self.picture,
                turns=f"up to {turns} times" if turns != 1 else "once",
            )
        ]
        measured = {measure for _, _, measure in self.times}
        for measure, (heading, unit, _) in TABLES.items():
            if measure in measured:
                lines += [f"## {heading}, {unit}", "", *table(list(self.rows(measure))), ""]
        if self.errors:
            lines += ["## Errors", "", *(f"* {text}" for text in self.errors), ""]
        return "\n".join(lines).rstrip() + "\n"

    def draw(self, path):
        """Draws the ratios of the others to tfkit."""
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot
        from PIL import Image

        figure, axes = pyplot.subplots(1, len(DRAWN), figsize=(13, 4), sharey=True)
        names = [NAMES[work].partition(" (")[0].partition(",")[0] for work in self.works]
        for axis, measure in zip(axes, DRAWN, strict=True):
            for index, framework in enumerate(self.peers(measure)):
                ratios = [self.ratio(work, framework, measure) for work in self.works]
                places = [place for place, ratio in enumerate(ratios) if ratio is not None]
                axis.scatter(
                    [ratios[place] for place in places],
                    np.array(places) + (index - 3) * 0.1,
                    s=18,
                    label=FRAMEWORKS[framework].title,
                )
            axis.axvline(1, color="black", linewidth=0.8)
            axis.set(xscale="log", title=DRAWN[measure])
            axis.grid(axis="x", which="both", linewidth=0.3)
        axes[0].set_yticks(range(len(names)), names)
        axes[0].invert_yaxis()
        figure.supxlabel("time / tfkit's time: right of 1, tfkit is faster", size=9)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=len(labels), fontsize=8)
        figure.tight_layout(rect=(0, 0, 1, 0.94))
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=80)
        pyplot.close(figure)
        with Image.open(path) as image:
            few_colors = image.convert("RGB").quantize(64)
        few_colors.save(path, optimize=True)

    def data(self):
        """Returns all of it for JSON."""
        return {"machine": machine(), "results": [vars(result) for result in self.results]}
