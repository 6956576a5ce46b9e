"""`tfkit diff OLD NEW`: what differs between two files."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.cli.files import File, open_file, sort_key
from tfkit.cli.printing import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command to a parser; `run` takes what it parses."""
    parser.add_argument("old", type=Path, help="a model, or weights")
    parser.add_argument("new", type=Path, help="another one")


def run(args: argparse.Namespace) -> int:
    """Prints how the second file differs from the first; 1 where it does."""
    with open_file(args.old) as old, open_file(args.new) as new:
        lines = [*_different_texts(old, new), *_different_arrays(old, new)]
    for line in lines or ["no difference"]:
        print(printable(line))
    return 1 if lines else 0


def _different_texts(old: File, new: File) -> Iterator[str]:
    for name, one, other in (
        ("config", old.config, new.config),
        ("compile", old.compiled, new.compiled),
    ):
        before, after = _leaves(one), _leaves(other)
        for path in sorted({*before, *after}):
            if path not in after:
                yield f"- {name}{path}: {before[path]}"
            elif path not in before:
                yield f"+ {name}{path}: {after[path]}"
            elif before[path] != after[path]:
                yield f"! {name}{path}: {before[path]} -> {after[path]}"


def _leaves(config: Any) -> dict[str, str]:
    """What stands at each place of a configuration, as JSON."""
    found: dict[str, str] = {}
    pending = [("", config)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, (dict, list)) and item:
            items = item.items() if isinstance(item, dict) else enumerate(item)
            pending.extend((f"{path}/{key}", value) for key, value in items)
        elif item is not None:
            found[path] = json.dumps(item)
    return found


def _different_arrays(old: File, new: File) -> Iterator[str]:
    before, after = old.arrays, new.arrays
    for path in sorted({*before, *after}, key=sort_key):
        if path not in after:
            yield f"- {path} {_about(before[path])}"
        elif path not in before:
            yield f"+ {path} {_about(after[path])}"
        elif before[path] != after[path]:
            yield f"! {path} {_about(before[path])} -> {_about(after[path])}"
        else:
            line = _different_values(old.value(path), new.value(path))
            if line:
                yield f"! {path} {line}"


def _about(found: tuple[tuple[int, ...], str]) -> str:
    return f"{found[0]} {found[1]}"


def _different_values(old: np.ndarray, new: np.ndarray) -> str | None:
    """How many values differ, and by how much at most; `None` where all bits are equal."""
    if old.tobytes() == new.tobytes():
        return None
    kind = np.complex128 if old.dtype.kind == "c" else np.float64
    differences = np.abs(old.astype(kind) - new.astype(kind))
    count = int(np.count_nonzero(differences))  # NaN counts as a difference.
    largest = np.nanmax(differences) if not np.isnan(differences).all() else np.nan
    return f"{count:,} of {old.size:,} values differ, by at most {largest:.6g}"
