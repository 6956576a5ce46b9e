"""The command of the benchmarks: options, runs, tables. `./tools/bench` starts it in its environment."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

from benchmarks.driver import ROOT, compile_tfkit, execute, plan
from benchmarks.field import works as field
from benchmarks.field.driver import run as run_works
from benchmarks.field.report import Report as FieldReport
from benchmarks.frameworks import DEFAULT_PEERS, FRAMEWORKS
from benchmarks.programs import PROGRAMS
from benchmarks.report import Report
from benchmarks.short import WAYS, ShortReport, run_all
from benchmarks.workloads import TITLES


def names_among(known):
    """Returns the type of an option that accepts names separated by commas."""

    def parse(text):
        names = [name for name in text.split(",") if name]
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            raise argparse.ArgumentTypeError(
                f"expected some of {', '.join(known)} with commas between. Received: {text!r}"
            )
        return names

    return parse


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def parse(arguments):
    others = [name for name in FRAMEWORKS if name not in ("tfkit", *DEFAULT_PEERS)]
    parser = argparse.ArgumentParser(
        prog="tools/bench",
        description="Times tfkit, Keras and TensorFlow by hand on the same work, and prints medians.",
    )
    parser.add_argument("--rounds", type=positive, default=3, help="3 unless given")
    parser.add_argument(
        "--only", type=names_among(TITLES), default=list(TITLES), help=f"some of {','.join(TITLES)}"
    )
    parser.add_argument(
        "--peer",
        type=names_among(others),
        default=[],
        help=f"further peers, where installed: {','.join(others)}",
    )
    parser.add_argument(
        "--short",
        type=names_among(PROGRAMS),
        nargs="?",
        const=list(PROGRAMS),
        help=f"short programs as whole processes instead: all, or some of {','.join(PROGRAMS)}",
    )
    parser.add_argument(
        "--ways", type=names_among(WAYS), default=list(WAYS), help=f"of these: {','.join(WAYS)}"
    )
    parser.add_argument(
        "--field",
        type=names_among(field.FRAMEWORKS),
        nargs="?",
        const=list(field.FRAMEWORKS),
        help="nine trainings in all frameworks instead, in 20 minutes, which writes docs/field.md; or in "
        f"some of {','.join(field.FRAMEWORKS)}; with --only, or --quick, it writes build/field.md",
    )
    parser.add_argument("--minutes", type=positive, default=19, help="for --field, 19 unless given")
    parser.add_argument("--kinds", action="store_true", help="all kinds of tfkit's programs too")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    parser.add_argument("--timeout", type=positive, default=300, help="seconds a process, 300")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    options = parser.parse_args(arguments)
    for name in options.peer:
        if importlib.util.find_spec(FRAMEWORKS[name].needs) is None:
            parser.error(f"--peer {name} needs the package `{FRAMEWORKS[name].needs}`: install it")
    return options


def main(arguments=None):
    options = parse(arguments)
    frameworks = ["tfkit", *DEFAULT_PEERS, *options.peer]
    compile_tfkit()
    if options.field:
        return run_field(options)
    if options.short:
        runs = run_all(options.short, options.ways, options.rounds, options.quick, options.timeout)
        return publish(ShortReport(runs, options.ways), options)
    runs = list(plan(options.only, frameworks, options.kinds, options.rounds))
    for count, run in enumerate(runs, 1):
        execute(run, options.quick, options.timeout)
        outcome = run.error or f"{run.seconds:.0f} s"
        print(f"{count}/{len(runs)} {run.name}: {outcome}", file=sys.stderr, flush=True)
    return publish(Report(runs, frameworks), options)


def run_field(options):
    """Runs the field, and writes the page and its chart; gives the exit status."""
    works = [name for name in field.NAMES if name in options.only]
    is_whole = len(works) == len(field.NAMES) and len(options.field) == len(field.FRAMEWORKS)
    folder = ROOT / ("docs" if is_whole and not options.quick else "build")
    results = run_works(works, options.field, options.quick, options.minutes)
    report = FieldReport(results, "pictures/field.png")
    report.draw(folder / "pictures/field.png")
    (folder / "field.md").write_text(report.markdown())
    return publish(report, options)


def publish(report, options):
    """Prints and writes the tables; gives the exit status."""
    print(report.markdown())
    if options.markdown:
        options.markdown.write_text(report.markdown())
    if options.json:
        options.json.write_text(json.dumps(report.data(), indent=1) + "\n")
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
