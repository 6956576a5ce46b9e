"""Compares the results of both sides, and writes them as a table."""

from __future__ import annotations

import importlib.metadata
import json
import math
import re
from collections import defaultdict
from dataclasses import asdict
from typing import Any

from clienting import environment
from clienting.packages import PACKAGES, Package
from clienting.running import Results

PAGE = environment.ROOT / "docs/packages.md"
VARYING = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?|'[^']{1,40}'|\"[^\"]{1,40}\"")


def summary(package: Package, results: dict[str, Results]) -> dict[str, Any]:
    """Returns what a row of the table says, and the tests that pass on Keras and not on tfkit by cause."""
    keras, ours = results["keras"].tests, results["tfkit"].tests
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
    gained = [
        name
        for name, test in ours.items()
        if test["outcome"] == "passed" and keras.get(name, {}).get("outcome") == "failed"
    ]
    return {
        "name": package.name,
        "version": package.version,
        "kind": package.kind,
        "source": "programs" if package.uses else "own tests",
        "tests": len(keras),
        "keras": len(passed),
        "tfkit": len(passed) - sum(map(len, lost.values())),
        "gained": len(gained),
        "seconds": {side: round(each.seconds, 1) for side, each in results.items()},
        "cut": {side: each.cut for side, each in results.items() if each.cut},
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


def save(package: Package, results: dict[str, Results]) -> dict[str, Any]:
    """Writes the results of a package next to its environment, and returns their summary."""
    place = environment.FOLDER / f"{package.module}.json"
    found = summary(package, results)
    everything = {"summary": found, "results": {side: asdict(it) for side, it in results.items()}}
    place.write_text(json.dumps(everything, indent=1), encoding="utf-8")
    return found


def text(found: dict[str, Any]) -> str:
    """Returns a summary for a terminal."""
    seconds = found["seconds"]
    lines = [
        f"{found['name']} {found['version']}: {found['keras']} of {found['tests']} tests pass on Keras, "
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
    "deepxde": "stopped on Keras at its limit of 100 s, after 6 of 12 programs",
    "wandb": "on Keras its process was stopped at its limit of 100 s, after the last test",
    "keras-tuner": "a part: the tests of hyperparameters, oracles and tuners that both sides ended in 130 s",
    "keras-cv": "ResNetV2 and what is built on it, MixUp, CutMix and Mosaic fail on Keras 3.15",
    "deepctr": "its models are for Keras 2: they name weights by position; its layers run",
    "deel-lip": "the other 40 are for Keras 2",
    "tf-keras-vis": "one file was stopped on both sides at its limit of 300 s",
}
# What cannot be tried, and why.
NOT_TRIED = {
    "alibi-detect 0.13.0": "needs TensorFlow before 2.19 with Keras 2, and NumPy before 2",
    "tensorflow-recommenders 0.7.7": "refuses Keras 3 when it is imported",
}
HEAD = """# Packages that are built on Keras

Programs for Keras run on tfkit unchanged, and so should the packages that others have built on it.
`./tools/clients` installs each in an environment of its own, with nothing edited, and runs its tests on Keras
{keras} and, by `tfkit run -m pytest`, on tfkit, file by file in turns. Where the distributions of a package
have no tests, `tools/clienting/uses` has programs that use it, whose numbers are compared as well.
The times are of one run, on a machine that did other work, too.

"""


def write_page() -> None:
    """Writes the page of the documentation with the table of all results."""
    lines = [
        "| package | what it is | tests | pass on Keras | of these on tfkit | Keras, s | tfkit, s | rest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows():
        seconds = [f"{row['seconds'][side]:.0f}" for side in ("keras", "tfkit")]
        counts = [str(row[each]) for each in ("keras", "tfkit")]
        cells = [f"{row['name']} {row['version']}", row["kind"], row["source"], *counts, *seconds]
        lines.append(f"| {' | '.join([*cells, REASONS.get(row['name'], '')])} |")
    total = {side: sum(row["seconds"][side] for row in rows()) for side in ("keras", "tfkit")}
    lines.append("")
    lines.append(f"All together: {total['keras']:.0f} s on Keras, {total['tfkit']:.0f} s on tfkit.")
    reasons = "; ".join(f"{name} {reason}" for name, reason in NOT_TRIED.items())
    lines += ["", f"Not in the table: {reasons}."]
    version = importlib.metadata.version("keras")
    PAGE.write_text(HEAD.format(keras=version) + "\n".join(lines) + "\n", encoding="utf-8")


def rows() -> list[dict[str, Any]]:
    """Returns the summaries that are there, in the order of the packages."""
    found = []
    for package in PACKAGES:
        place = environment.FOLDER / f"{package.module}.json"
        if place.exists():
            found.append(json.loads(place.read_text(encoding="utf-8"))["summary"])
    return found
