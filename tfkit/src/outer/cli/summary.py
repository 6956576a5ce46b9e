"""`tfkit summary FILE`: prints a table of a model's layers."""

from __future__ import annotations

import argparse

from tfkit.src.outer.cli import models


def run(args: argparse.Namespace) -> int:
    """Loads a model and prints its layers, with the shapes of their outputs and the numbers of weights."""
    models.load(args).summary()
    return 0
