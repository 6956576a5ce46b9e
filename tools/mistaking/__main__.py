"""Makes typical mistakes with Keras and with tfkit, and prints the lengths of the tracebacks."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from mistaking.cases import MISTAKES

FRAMEWORKS = ("keras", "tfkit")


def run(framework: str, names: list[str], ipython: str = "") -> dict[str, dict[str, Any]]:
    """Makes the mistakes in another process; returns the result of each, by name."""
    command = [sys.executable, "-m", "mistaking.worker", framework, json.dumps(names), ipython]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    environment["PYTHONPATH"] = os.pathsep.join([str(root / "tools"), str(root)])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=root
    )
    marked = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    results = [json.loads(line.removeprefix("RESULT ")) for line in marked]
    if len(results) != len(names):
        raise RuntimeError(
            f"{framework} ended after {len(results)} mistakes: {done.stderr[-2000:]}"
        )
    return {result["name"]: result for result in results}


def _row(name: str, results: dict[str, dict[str, dict[str, Any]]]) -> str:
    cells = [name]
    for framework in FRAMEWORKS:
        found = results[framework][name]
        notebook = "" if found["notebook"] is None else f" / {found['notebook']}"
        cells += [f"{found['lines']}{notebook}", found["type"] or "no error"]
    missing = results["tfkit"][name]["not_shown"]
    return "| " + " | ".join([*cells, ", ".join(map(str, missing))]) + " |"


def report(results: dict[str, dict[str, dict[str, Any]]], names: list[str]) -> str:
    """Returns a table: lines in a terminal and in a notebook, types of errors, hidden lines of the user."""
    lines = ["| mistake | Keras | its error | tfkit | its error | lines not shown |"]
    lines += ["|---|---|---|---|---|---|", *(_row(name, results) for name in names), ""]
    for framework in FRAMEWORKS:
        for place in ("lines", "notebook"):
            counts = [results[framework][name][place] for name in names]
            counts = [count for count in counts if count]
            if counts:
                where = "in a terminal" if place == "lines" else "in a notebook"
                lines.append(
                    f"{framework}, {where}: median {statistics.median(counts):g} lines, most {max(counts)}, "
                    f"{sum(count >= 70 for count in counts)} of {len(counts)} with 70 and more"
                )
    return "\n".join(lines)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="./tools/mistakes", description=__doc__)
    parser.add_argument("--only", default="", help="part of the names of the mistakes to make")
    parser.add_argument("--show", action="store_true", help="print the tracebacks, too")
    parser.add_argument(
        "--ipython", default="", help="site-packages with IPython, to count what a notebook prints"
    )
    options = parser.parse_args()
    names = [name for name in MISTAKES if options.only in name]
    results = {framework: run(framework, names, options.ipython) for framework in FRAMEWORKS}
    for name in names if options.show else ():
        for framework in FRAMEWORKS:
            found = results[framework][name]
            print(
                f"=== {name}: {framework}",
                *found["warnings"],
                found["output"] + found["text"],
                sep="\n",
            )
    print(report(results, names))


if __name__ == "__main__":
    main()
