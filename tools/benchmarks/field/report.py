"""The page that compares frameworks: tables of medians, and a chart."""

import statistics
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.field.works import FRAMEWORKS, NAMES
from benchmarks.report import machine, number, table

# The tables: heading, unit, units per second (for memory: per MiB).
TABLES = {
    "step": ("A training step", "µs", 1e6),
    "first epoch": ("The first epoch, including compilation", "s", 1),
    "call": ("A call of the model with one row", "µs", 1e6),
    "predict 1": ("Predictions for one row, from and to NumPy", "µs", 1e6),
    "predict 64": ("Predictions for 64 rows", "µs", 1e6),
    "predict 10,000": ("Predictions for 10,000 rows, in batches", "ms", 1e3),
    "import": ("The import", "s", 1),
    "first result": ("From the start of Python to a model's first result", "s", 1),
    "memory": ("Peak memory of a training", "MiB", 1),
}
ALL = "all"
DRAWN = {
    "step": "a training step",
    "first epoch": "the first epoch",
    "predict 1": "predict, one row",
    "predict 10,000": "predict, 10,000 rows",
}

HEAD = """# tfkit and other frameworks

The time that tfkit and other frameworks take for the same nine models, on the same machine, in one run of
`./tools/bench --field`.

{machine}, {cores} cores; {versions}; {date}.

![The times of other frameworks, divided by tfkit's]({picture})

Each framework runs each model in a separate process. The processes take turns. In each turn, a process
warms up once and then measures for at least 0.2 seconds; work that takes over a second runs once, without
a warm-up. A process has {turns}, and the tables show medians.

tfkit and Keras train with `fit` and its defaults. PyTorch trains with a hand-written loop over batches
and its fused Adam; JAX and TensorFlow by hand with one compiled loop over the steps of an epoch. The
batch size is in parentheses. "Products alone" is a lower bound: only the matrix products of the step and
of its gradients, in NumPy. The last column divides the time of the fastest other framework by tfkit's.
The last row has the geometric means of the ratios to tfkit. Above 1, tfkit is faster.

The steps are those of a long training run: where compiling pays off only later, tfkit's first epoch runs
without XLA. The hand-written calls of JAX and TensorFlow are compiled by XLA for one row.
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
                turns=f"up to {turns} turns" if turns != 1 else "one turn",
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
