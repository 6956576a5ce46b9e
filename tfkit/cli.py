"""The command line: `tfkit inspect`, `verify`, `diff`, `convert`, `serve`. See `docs/file-format.md`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.interop import keras as keras_files
from tfkit.saving import formats, model_file, weights
from tfkit.saving.errors import LoadError
from tfkit.saving.hdf5 import FORMAT_VERSION
from tfkit.serving import command as serving
from tfkit.version import __version__

Contents = dict[str, tuple[tuple[int, ...], str]]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: the words after `tfkit`; those of the process unless given.

    Returns:
        The exit code: 0; 1 for a file that is damaged, refused or differs; 2 for a command that cannot be
        run. What went wrong stands in one line on the standard error stream.
    """
    parser = argparse.ArgumentParser(prog="tfkit", description="Works with model files of tfkit.")
    parser.add_argument("--version", action="version", version=f"tfkit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_add_inspect, _add_verify, _add_diff, _add_convert, _add_serve):
        add(commands)
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except (ImportError, OSError, TypeError, ValueError) as error:
        text = " ".join(str(error).split())
        print(f"tfkit {args.command}: {_printable(text)}", file=sys.stderr)
        return 1 if isinstance(error, LoadError) else 2


# --- Files ----------------------------------------------------------------------------------------


class _File:
    """A file of tfkit that is open for reading.

    Args:
        reader: the file.

    Attributes:
        format: what it is, in words.
        arrays: shape and dtype of each array.
        config: the configuration of the model, `None` for weights alone.
        compiled: what `compile` was given.
    """

    format = f"tfkit format {FORMAT_VERSION}"

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._contents: Contents = reader.shapes("")
        for path, (_, dtype) in self._contents.items():
            if dtype != "json" and "/" not in path:
                raise LoadError(
                    f"File {reader.path}: `{path}` is an array in the place of a group."
                )
        self.arrays = {path: it for path, it in self._contents.items() if it[1] != "json"}
        self.config = reader.text(model_file.CONFIG)
        self.compiled = reader.text(model_file.COMPILE)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *exception: object) -> None:
        self._reader.close()

    def value(self, path: str) -> np.ndarray:
        """The numbers of an array."""
        group, _, rest = path.partition("/")
        value: np.ndarray = self._reader.value(group, rest)
        return value

    def verify(self) -> str:
        """Compares all checksums; says how many there are."""
        for path in self._contents:
            group, _, rest = path.partition("/")
            if rest:
                self._reader.check(group, rest)
            else:
                self._reader.text(group)
        return f"{len(self._contents):,} checksums compared"


class _KerasFile(_File):
    """A file of Keras; as `_File`."""

    format = "a file of Keras"

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.arrays = {path: (it.shape, it.dtype) for path, it in reader.datasets.items()}
        self.config, self.compiled = reader.documents()

    def value(self, path: str) -> np.ndarray:
        value: np.ndarray = self._reader.read(path)
        return value

    def verify(self) -> str:
        for path in self.arrays:
            self._reader.read(path)
        return f"{len(self.arrays):,} arrays read; Keras's HDF5 has no checksums"


def _open(path: Path) -> _File:
    if keras_files.is_keras_file(path):
        return _KerasFile(keras_files.open_file(path))
    return _File(weights.open_file(path))


# --- inspect --------------------------------------------------------------------------------------


def _add_inspect(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect", help="what is in a file: configuration, weights, sizes; runs nothing"
    )
    parser.add_argument("file", type=Path, help="a model, or weights")
    parser.add_argument("--config", action="store_true", help="print the configuration as JSON")
    parser.set_defaults(run=inspect)


def inspect(args: argparse.Namespace) -> int:
    """Prints what a file holds. Nothing in it is run, and no model is made."""
    with _open(args.file) as file:
        contents, config, compiled = file.arrays, file.config, file.compiled
    if args.config:
        print(json.dumps(config, indent=1))
        return 0
    kind = "weights" if config is None else "model"
    print(f"{_printable(str(args.file))}: {kind}, {file.format}")
    for line in [*_about_config(config), *_about_compile(compiled), *_tree(contents)]:
        print(_printable(line))
    return 0


def _about_config(config: Any) -> Iterator[str]:
    if config is None:
        return
    objects = list(_objects(config))
    classes = Counter(
        str(item["class_name"]) for item in objects if "layers" in str(item.get("module"))
    )
    inner = config.get("config") if isinstance(config, dict) else None
    if isinstance(inner, dict):
        yield f"model: {config.get('class_name')} {inner.get('name')!r}"
    if classes:
        counted = (f"{count} {name}" if count > 1 else name for name, count in classes.items())
        yield f"layers: {', '.join(counted)}"
    custom = sorted({str(item["registered_name"]) for item in objects if _is_custom(item)})
    if custom:
        yield f"needs your own classes or functions: {', '.join(custom)}"


def _objects(config: Any) -> Iterator[dict[str, Any]]:
    """All descriptions of objects in a configuration, outer ones first."""
    pending = [config]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if "class_name" in item:
                yield item
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            pending.extend(reversed(item))


def _is_custom(item: dict[str, Any]) -> bool:
    return item.get("registered_name") not in (None, "function")


def _about_compile(compiled: Any) -> Iterator[str]:
    for name in (
        "optimizer",
        "optimizer_config",
        "loss",
        "metrics",
    ):  # The second is Keras 2's name.
        value = compiled.get(name) if isinstance(compiled, dict) else None
        if value:
            yield f"{name.removesuffix('_config')}: {_short(value)}"


def _short(value: Any) -> str:
    """A configuration in a few words: the names of classes and functions."""
    if isinstance(value, dict) and "class_name" in value:
        config = value.get("config")
        return str(config) if value["class_name"] == "function" else str(value["class_name"])
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_short(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_short(item) for item in value)
    return str(value)


def _tree(contents: Contents) -> Iterator[str]:
    """Groups with what is in them together, and below them the arrays."""
    totals: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for path, found in contents.items():
        for group in _groups(path):
            totals[group] += _num_bytes(*found)
            counts[group] += 1
    seen: set[str] = set()
    for path in sorted(contents, key=_sort_key):
        for group in _groups(path):
            if group not in seen:
                seen.add(group)
                yield f"{_indented(group)}/  {counts[group]:,} arrays, {totals[group]:,} bytes"
        shape, dtype = contents[path]
        yield f"{_indented(path)}  {shape} {dtype}, {_num_bytes(shape, dtype):,} bytes"


def _groups(path: str) -> list[str]:
    """`a/b/c` -> `a`, `a/b`."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _sort_key(path: str) -> list[tuple[int, str]]:
    """Numbers by their value, names by the alphabet."""
    return [(int(part) if part.isdecimal() else -1, part) for part in path.split("/")]


def _indented(path: str) -> str:
    return "  " * path.count("/") + path.rpartition("/")[2]


def _num_bytes(shape: tuple[int, ...], dtype: str) -> int:
    size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    return int(np.prod(shape, dtype=np.int64)) * size


# --- verify -----------------------------------------------------------------------------------


def _add_verify(commands: Any) -> None:
    parser = commands.add_parser("verify", help="compare all checksums of a file")
    parser.add_argument("file", type=Path, help="a model, or weights")
    parser.set_defaults(run=verify)


def verify(args: argparse.Namespace) -> int:
    """Compares the checksum of everything in a file.

    Raises:
        LoadError: where one is another than the stored one.
    """
    with _open(args.file) as file:
        count = file.verify()
    print(f"{_printable(str(args.file))}: whole, {count}")
    return 0


# --- diff -------------------------------------------------------------------------------------


def _add_diff(commands: Any) -> None:
    parser = commands.add_parser("diff", help="what differs between two files")
    parser.add_argument("old", type=Path, help="a model, or weights")
    parser.add_argument("new", type=Path, help="another one")
    parser.set_defaults(run=diff)


def diff(args: argparse.Namespace) -> int:
    """Prints how the second file differs from the first; 1 where it does."""
    with _open(args.old) as old, _open(args.new) as new:
        lines = [*_different_texts(old, new), *_different_arrays(old, new)]
    for line in lines or ["no difference"]:
        print(_printable(line))
    return 1 if lines else 0


def _different_texts(old: _File, new: _File) -> Iterator[str]:
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


def _different_arrays(old: _File, new: _File) -> Iterator[str]:
    before, after = old.arrays, new.arrays
    for path in sorted({*before, *after}, key=_sort_key):
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


# --- convert ----------------------------------------------------------------------------------


def _add_convert(commands: Any) -> None:
    parser = commands.add_parser("convert", help="read a model and save it in another format")
    parser.add_argument("source", type=Path, help="a model of tfkit or Keras")
    parser.add_argument("target", type=Path, help="the file to write; its ending says the format")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="import a Python module of yours first, which registers your own classes",
    )
    parser.set_defaults(run=convert)


def convert(args: argparse.Namespace) -> int:
    """Loads a model and saves it again. Only the modules that the user names are imported."""
    with _importable_from_here() if args.modules else contextlib.nullcontext():
        for module in args.modules:
            importlib.import_module(module)
    model = formats.load_model(args.source)
    model.save(args.target, overwrite=args.overwrite)
    print(f"{_printable(str(args.target))}: written")
    return 0


@contextlib.contextmanager
def _importable_from_here() -> Iterator[None]:
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path.remove(os.getcwd())


# --- serve ----------------------------------------------------------------------------------------


def _add_serve(commands: Any) -> None:
    parser = commands.add_parser("serve", help="try exports out: answers TF Serving's requests")
    serving.add_arguments(parser)
    parser.set_defaults(run=serving.run)


def _printable(text: str) -> str:
    """`text` without what a terminal obeys: names in a file may be anything."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
