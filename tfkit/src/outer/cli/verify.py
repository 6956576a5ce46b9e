"""`tfkit verify FILE`: checks that a file is complete and undamaged."""

from __future__ import annotations

import argparse

from tfkit.src.base.terminal import say
from tfkit.src.outer.cli.files import open_file


def run(args: argparse.Namespace) -> int:
    """Compares the checksum of everything in a file.

    Raises:
        LoadError: if a checksum differs from the stored one.
    """
    with open_file(args.file) as file:
        result = file.verify()
    say(f"{args.file}: {result}")
    return 0
