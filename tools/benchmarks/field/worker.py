"""Runs one work in one framework, in a separate process.

`python -m benchmarks.field.worker WORK FRAMEWORK quick` writes the times of the beginning as a line of JSON.
Each line that it reads is a measure, and is answered by the seconds that it takes.
"""

import json
import statistics
import sys
import time

STARTED = time.perf_counter()
TURN = 0.2  # Seconds.
LONG = 1.0  # Seconds. A run that takes longer is measured once.
ROWS = {"predict 1": 1, "predict 64": 64, "predict 10,000": 10_000}


def answer(value):
    print(json.dumps(value), file=ANSWERS, flush=True)


def begin(work, framework, name):
    """Returns the model after its first epochs, and what was measured in the meantime."""
    module = importlib.import_module(f"benchmarks.field.{framework.module}")
    trained = module.Trained(work, name)  # It imports the framework first.
    measures = {"import": trained.imported - STARTED}
    if hasattr(trained, "call"):
        trained.call(trained.as_input(work.inputs(1)))
        measures["first result"] = time.perf_counter() - STARTED
        measures["first epoch"] = seconds(trained.epoch)
        trained.warm_up()
    measures["memory"] = peak_memory()
    return trained, measures


def runs_of(trained, work):
    """Returns for each measure a function that returns seconds."""
    runs = {"step": lambda: trained.epoch() / work.num_steps}
    if hasattr(trained, "call"):
        one = trained.as_input(work.inputs(1))
        runs["call"] = functools.partial(seconds, lambda: trained.call(one))
        for name, rows in ROWS.items():
            predict = functools.partial(trained.predict, work.inputs(min(rows, work.most_rows)))
            runs[name] = functools.partial(seconds, predict)
    return runs


def measured(run, quick):
    """Returns the median of a turn's runs.

    The first run wakes the process, after others have had the cores and the caches. It does not count: it
    would be half of the runs of a work that takes 0.15 s, and all of them for one that takes 0.25 s.
    """
    start = time.perf_counter()
    first = run()
    if quick or time.perf_counter() - start > LONG:
        return first
    start, times = time.perf_counter(), []
    while not times or time.perf_counter() - start < TURN:
        times.append(run())
    return statistics.median(times)


def main(name, chosen, quick):
    work, framework = Work(name, quick), FRAMEWORKS[chosen]
    trained, measures = begin(work, framework, chosen)
    versions = {each: importlib.import_module(each).__version__ for each in framework.packages}
    answer({"measures": measures, "versions": versions})
    runs = runs_of(trained, work)
    for line in sys.stdin:
        answer(measured(runs[line.strip()], quick))


if __name__ == "__main__":
    # Frameworks write to the output too.
    ANSWERS, sys.stdout = sys.stdout, sys.stderr
    import functools
    import importlib

    from benchmarks.field.works import FRAMEWORKS, Work
    from benchmarks.timing import peak_memory, seconds

    main(sys.argv[1], sys.argv[2], sys.argv[3] == "quick")
