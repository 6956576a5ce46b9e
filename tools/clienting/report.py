"""Compares the results of both sides, and writes them as a table."""

from __future__ import annotations

import importlib.metadata
import json
import math
import re
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clienting import environment
from clienting.packages import PACKAGES, Package
from clienting.running import SIDES, Results

PAGE = environment.ROOT / "docs/packages.md"
# What the page says, so that packages can be run one by one, on several days.
ROWS = environment.ROOT / "docs/packages.json"
# The results of a package: by file of tests, and by side.
Files = dict[str, dict[str, Results]]
VARYING = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?|'[^']{1,40}'|\"[^\"]{1,40}\"")


def summary(package: Package, files: Files) -> dict[str, Any]:
    """Returns what a row of the table says, and the tests that pass on Keras and not on tfkit by cause."""
    keras = {name: test for each in files.values() for name, test in each["keras"].tests.items()}
    ours = {name: test for each in files.values() for name, test in each["tfkit"].tests.items()}
    passed = [name for name, test in keras.items() if test["outcome"] == "passed"]
    lost: dict[str, list[str]] = defaultdict(list)
    for name in passed:
        test = ours.get(name, {"outcome": "missing", "error": "it did not run"})
        if test["outcome"] != "passed":
            lost[VARYING.sub("…", test["error"])].append(f"{name}: {test['error']}")
        elif other := [
            f"{key}: {value} and {test['values'].get(key)}"
            for key, value in keras[name]["values"].items()
            if not agree(value, test["values"].get(key))
        ]:
            lost["other values than Keras"].append(f"{name}: {'; '.join(other)[:200]}")
    return {
        "version": package.version,
        "clock": "processors",
        "tests": len(keras),
        "keras": len(passed),
        "tfkit": len(passed) - sum(map(len, lost.values())),
        "seconds": {
            side: round(sum(each[side].seconds for each in files.values()), 1) for side in SIDES
        },
        "cut": {
            side: found
            for side in SIDES
            if (found := [file for file, each in files.items() if each[side].cut])
        },
        "lost": dict(sorted(lost.items(), key=lambda item: -len(item[1]))),
    }


def agree(one: Any, other: Any) -> bool:
    """Returns whether two nests of values are equal, numbers to 1e-3."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(agree(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, float):
        return isinstance(other, float) and math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-3)
    return bool(one == other)


def stored(package: Package) -> Files:
    """Returns the results of a package that are there, by file."""
    place = _place(package)
    if not place.exists():
        return {}
    files = json.loads(place.read_text(encoding="utf-8"))
    return {
        file: {side: Results(**it) for side, it in each.items()} for file, each in files.items()
    }


def save(package: Package, files: Files) -> dict[str, Any]:
    """Writes the results of a package next to its environment and in the table, and returns their summary."""
    everything = {
        file: {side: asdict(it) for side, it in each.items()} for file, each in files.items()
    }
    _place(package).write_text(json.dumps(everything, indent=1), encoding="utf-8")
    found = summary(package, files)
    table = rows()
    table[package.name] = {
        **found,
        "lost": {cause: len(tests) for cause, tests in found["lost"].items()},
    }
    ordered = {each.name: table[each.name] for each in PACKAGES if each.name in table}
    ROWS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return found


def _place(package: Package) -> Path:
    return environment.place_of(package) / "results.json"


def text(package: Package, found: dict[str, Any]) -> str:
    """Returns a summary for a terminal."""
    seconds = found["seconds"]
    lines = [
        f"{package.name} {package.version}: {found['keras']} of {found['tests']} tests pass on Keras, "
        f"of these {found['tfkit']} on tfkit; {seconds['keras']:.0f} and {seconds['tfkit']:.0f} s"
    ]
    if found["cut"]:
        lines.append(f"  stopped at the limit: {found['cut']}")
    for cause, tests in found["lost"].items():
        lines.append(f"  {len(tests)} x {cause}")
        lines += [f"      {test}" for test in tests[:3]]
    return "\n".join(lines)


# What else is to be said about a package; found by reading.
REASONS: dict[str, str] = {
    "HGQ2": "a subset: each layer in a file, with one setting of its quantizers. Not included are its tests "
    "of alkaid conversions, which fail on tfkit: alkaid looks for classes in modules named keras",
    "autokeras": "random tables replace a download; 4 tests pass strings to numeric layers, which tfkit "
    "refuses when the model is built; 10 searches that fail at once on Keras run on tfkit and take half of "
    "its time",
    "keras-rs": "including embeddings that are sharded over devices",
    "deepxde": "stopped on Keras at the limit of 100 s, after 6 of 12 programs",
    "wandb": "on Keras the process was stopped at the limit of 100 s, after the last test",
    "keras-tuner": "a subset: the tests of hyperparameters, oracles and tuners that finish in 130 s on both",
    "keras-cv": "not counted: ResNetV2 and models built on it, MixUp, CutMix and Mosaic fail on Keras 3.15",
    "deepctr": "its layers run; its models are for Keras 2 (they name weights by position)",
    "deel-lip": "its other 40 tests are for Keras 2",
    "tf-keras-vis": "one file was stopped on both at the limit of 300 s",
}
# What cannot be tried, and why.
NOT_TRIED = {
    "alibi-detect 0.13.0": "needs TensorFlow before 2.19 with Keras 2, and NumPy before 2",
    "tensorflow-recommenders 0.7.7": "refuses Keras 3 when it is imported",
}
HEAD = """# Packages that are built on Keras

Programs written for Keras run on tfkit unchanged, and so should packages that are built on Keras.
`./tools/clients` installs each package, unmodified, in a separate environment and runs its tests on Keras
{keras} and on tfkit (`tfkit run -m pytest`), alternating file by file. If the distributions of a package
contain no tests, programs in `tools/clienting/uses` use it, and their numbers are compared as well. The
times are CPU times of one run; those with * are wall times, on a machine that was also doing other work.

"""


def write_page() -> None:
    """Writes the page of the documentation with the table of all results."""
    lines = [
        "| package | what it is | tests | pass on Keras | of these on tfkit | Keras, s | tfkit, s | notes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    table = rows()
    for package in PACKAGES:
        if (row := table.get(package.name)) is None:
            continue
        mark = "" if row.get("clock") else "*"
        seconds = [f"{row['seconds'][side]:.0f}{mark}" for side in SIDES]
        counts = [str(row[side]) for side in SIDES]
        name, source = (
            f"{package.name} {row['version']}",
            "programs" if package.uses else "own tests",
        )
        cells = [name, package.kind, source, *counts, *seconds, REASONS.get(package.name, "")]
        lines.append(f"| {' | '.join(cells)} |")
    total = {side: sum(row["seconds"][side] for row in table.values()) for side in SIDES}
    passed = {side: sum(row[side] for row in table.values()) for side in SIDES}
    lines += [
        "",
        f"In total, {passed['tfkit']:,} of the {passed['keras']:,} tests that pass on Keras pass on tfkit; "
        f"they took {total['keras']:.0f} s on Keras and {total['tfkit']:.0f} s on tfkit.",
    ]
    reasons = "; ".join(f"{name} {reason}" for name, reason in NOT_TRIED.items())
    lines += ["", f"Not in the table: {reasons}."]
    version = importlib.metadata.version("keras")
    PAGE.write_text(HEAD.format(keras=version) + "\n".join(lines) + "\n", encoding="utf-8")


def rows() -> dict[str, dict[str, Any]]:
    """Returns the summaries of all packages that were run, by name."""
    if not ROWS.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(ROWS.read_text(encoding="utf-8"))
    return found
