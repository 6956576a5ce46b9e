"""`tfkit convert SOURCE TARGET`: converts a model to another format."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tfkit.src.base.terminal import say
from tfkit.src.training.models.loading import load_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to a parser; `run` receives the parsed ones."""
    parser.add_argument("source", type=Path, help="a model of tfkit or Keras")
    parser.add_argument(
        "target", type=Path, help="the file to write; its extension determines the format"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="first import a Python module of your own, which registers your own classes",
    )


def run(args: argparse.Namespace) -> int:
    """Loads a model and saves it again. Only the modules that the user names are imported."""
    with _importable_from_here() if args.modules else contextlib.nullcontext():
        for module in args.modules:
            importlib.import_module(module)
    model = load_model(args.source)
    model.save(args.target, overwrite=args.overwrite)
    say(f"{args.target}: written")
    return 0


@contextlib.contextmanager
def _importable_from_here() -> Iterator[None]:
    # First in the path, where Python has the folder of a script.
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path.remove(os.getcwd())
