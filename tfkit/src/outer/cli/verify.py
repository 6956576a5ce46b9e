"""`tfkit verify FILE`: checks that a file is complete and undamaged."""

from __future__ import annotations

import argparse
from pathlib import Path

from tfkit.src.base.terminal import say
from tfkit.src.outer.cli.files import open_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to a parser; `run` receives the parsed ones."""
    parser.add_argument("file", type=Path, help="a model, or weights")


def run(args: argparse.Namespace) -> int:
    """Compares the checksum of everything in a file.

    Raises:
        LoadError: if a checksum differs from the stored one.
    """
    with open_file(args.file) as file:
        count = file.verify()
    say(f"{args.file}: whole, {count}")
    return 0
