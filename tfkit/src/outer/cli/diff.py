"""`tfkit diff OLD NEW`: prints the differences between two files."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfkit.src.base.terminal import say
from tfkit.src.outer.cli.files import File, open_file, sort_key


def run(args: argparse.Namespace) -> int:
    """Prints how the second file differs from the first, and returns 1 if it does."""
    with open_file(args.old) as old, open_file(args.new) as new:
        lines = [*_different_texts(old, new), *_different_arrays(old, new)]
    for line in lines or ["no difference"]:
        say(line)
    return 1 if lines else 0


def _different_texts(old: File, new: File) -> Iterator[str]:
    for name, one, other in (
        ("config", old.config, new.config),
        ("compile", old.compiled, new.compiled),
    ):
        before, after = _leaves(one), _leaves(other)
        for path in sorted({*before, *after}):
            yield from _difference(f"{name}{path}:", before.get(path), after.get(path))


def _difference(label: str, old: str | None, new: str | None) -> Iterator[str]:
    """Yields a line for each removed, added or changed entry."""
    if new is None:
        yield f"- {label} {old}"
    elif old is None:
        yield f"+ {label} {new}"
    elif old != new:
        yield f"! {label} {old} -> {new}"


def _leaves(config: Any) -> dict[str, str]:
    """Returns the leaves of a configuration by their paths, as JSON."""
    found: dict[str, str] = {}
    # A list instead of recursion: files may be nested deeper than Python can recurse.
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
    before, after = (
        {path: f"{shape} {dtype}" for path, (shape, dtype) in file.arrays.items()}
        for file in (old, new)
    )
    for path in sorted({*before, *after}, key=sort_key):
        yield from _difference(path, before.get(path), after.get(path))
        if before.get(path) == after.get(path):
            line = _different_values(old.value(path), new.value(path))
            if line:
                yield f"! {path} {line}"


def _different_values(old: np.ndarray, new: np.ndarray) -> str | None:
    """Returns how many values differ, and the largest difference; `None` if all bits are equal."""
    changed = _bits(old) != _bits(new)
    if not changed.any():
        return None
    summary = f"{np.count_nonzero(changed):,} of {old.size:,} values differ"
    if old.dtype.kind in "OSU":
        return summary
    before, after = old.ravel()[changed], new.ravel()[changed]
    if (before == after).all():
        return f"{summary}, in the sign of 0 only"
    return f"{summary}, by at most {_largest_difference(before, after):.6g}"


def _bits(array: np.ndarray) -> np.ndarray:
    """Returns an array of one axis, whose entries are equal where all bits are: NaN equals itself."""
    flat = np.ascontiguousarray(array).ravel()
    return flat if array.dtype.kind in "OSU" else flat.view(f"V{array.dtype.itemsize}")


def _largest_difference(old: np.ndarray, new: np.ndarray) -> float:
    """Returns the largest absolute difference; NaN if all are NaN."""
    if old.dtype.kind in "iu":
        # In Python's integers: float64 does not hold all of 64 bits, and int64 not all differences.
        return max(abs(a - b) for a, b in zip(old.tolist(), new.tolist(), strict=True))
    kind = np.complex128 if old.dtype.kind == "c" else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        differences = np.abs(old.astype(kind) - new.astype(kind))
    return np.nan if np.isnan(differences).all() else np.nanmax(differences)
