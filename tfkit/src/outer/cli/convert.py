"""`tfkit convert SOURCE TARGET`: converts a model to another format."""

from __future__ import annotations

import argparse

from tfkit.src.base.terminal import say
from tfkit.src.outer.cli import models


def run(args: argparse.Namespace) -> int:
    """Loads a model and saves it again."""
    models.check_target(args.target, args.overwrite)
    model = models.load(args, compile=not args.no_compile)
    model.save(args.target, overwrite=args.overwrite)
    say(f"{args.target}: written")
    return 0
