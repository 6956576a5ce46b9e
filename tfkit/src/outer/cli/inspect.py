"""`tfkit inspect FILE`: prints the contents of a file."""

from __future__ import annotations

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted, shown
from tfkit.src.base.terminal import say
from tfkit.src.base.version import PROVENANCE
from tfkit.src.files.saving import json_nest
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.outer.cli.files import Contents, open_file, sort_key


def run(args: argparse.Namespace) -> int:
    """Prints the contents of a file. Nothing in it is run, and no model is made."""
    if (args.file / PROVENANCE).is_file():
        say(f"{args.file}: SavedModel, {_writer_of_export(args.file)}")
        return 0
    with open_file(args.file) as file:
        contents, config, compiled = file.arrays, file.config, file.compiled
        writer = file.tfkit_version
    if args.config:
        say(json.dumps(config, indent=1))
        return 0
    kind = "weights" if config is None else "model"
    say(f"{args.file}: {kind}, {file.format}")
    if isinstance(writer, str):
        say(f"written by tfkit {shown(writer)}")
    for line in [*_about_config(config), *_about_compile(compiled), *_tree(contents)]:
        say(shown(line, _LONGEST_LINE))
    return 0


def _writer_of_export(folder: Path) -> str:
    """Returns what an export says of its writer."""
    file = folder / PROVENANCE
    if excess := limits.TEXT.excess(file.stat().st_size):
        raise LoadError(f"File {file} has {excess}. It is refused.")
    try:
        found = json_nest.parse(file.read_bytes())
        return (
            f"written by tfkit {shown(found['tfkit'])} with TensorFlow {shown(found['tensorflow'])}"
        )
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(
            f"File {file} does not state what wrote the export: {quoted(str(error))}"
        ) from None


def _about_config(config: Any) -> Iterator[str]:
    if config is None:
        return
    objects = list(_objects(config))
    # Initializers, optimizers and so on have other modules.
    classes = Counter(
        shown(item["class_name"]) for item in objects if "layers" in str(item.get("module"))
    )
    inner = config.get("config") if isinstance(config, dict) else None
    if isinstance(inner, dict):
        yield f"model: {shown(config.get('class_name'))} {quoted(inner.get('name'))}"
    if classes:
        counted = (f"{count} {name}" if count > 1 else name for name, count in classes.items())
        yield f"layers: {', '.join(counted)}"
    custom = sorted({shown(item["registered_name"]) for item in objects if _is_custom(item)})
    if custom:
        yield f"needs your own classes or functions: {', '.join(custom)}"


def _objects(config: Any) -> Iterator[dict[str, Any]]:
    """Yields all descriptions of objects in a configuration, outer ones first."""
    pending = [config]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if "class_name" in item:
                yield item
            # Reversed, since the last one of the list is the next.
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            pending.extend(reversed(item))


def _is_custom(item: dict[str, Any]) -> bool:
    return item.get("registered_name") not in (None, "function")


def _about_compile(compiled: Any) -> Iterator[str]:
    # The second is Keras 2's name.
    for name in ("optimizer", "optimizer_config", "loss", "metrics"):
        value = compiled.get(name) if isinstance(compiled, dict) else None
        if value:
            yield f"{name.removesuffix('_config')}: {_short(value)}"


def _short(value: Any) -> str:
    """Returns a summary of a configuration: the names of classes and functions."""
    if isinstance(value, dict) and "class_name" in value:
        config = value.get("config")
        return shown(config if value["class_name"] == "function" else value["class_name"])
    if isinstance(value, dict):
        named = itertools.islice(value.items(), _MOST_NAMED)
        return ", ".join(f"{shown(key)}: {_short(item)}" for key, item in named)
    if isinstance(value, list):
        return ", ".join(_short(item) for item in value[:_MOST_NAMED])
    return shown(value)


_MOST_NAMED = 100
_LONGEST_LINE = 100_000  # A list of the classes of a large model.


def _tree(contents: Contents) -> Iterator[str]:
    """Yields groups with their total contents, each followed by its arrays."""
    totals: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for path, found in contents.items():
        for group in _groups(path):
            totals[group] += _num_bytes(*found)
            counts[group] += 1
    seen: set[str] = set()
    for path in sorted(contents, key=sort_key):
        for group in _groups(path):
            if group not in seen:
                seen.add(group)
                yield f"{_indented(group)}/  {counts[group]:,} arrays, {totals[group]:,} bytes"
        shape, dtype = contents[path]
        yield f"{_indented(path)}  {shape} {dtype}, {_num_bytes(shape, dtype):,} bytes"


def _groups(path: str) -> list[str]:
    """Returns the groups of a path: `a/b/c` -> `a`, `a/b`."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _indented(path: str) -> str:
    return "  " * path.count("/") + path.rpartition("/")[2]


def _num_bytes(shape: tuple[int, ...], dtype: str) -> int:
    # NumPy does not know the name bfloat16.
    size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    return int(np.prod(shape, dtype=np.int64)) * size
