"""`tfkit plot FILE TARGET`: draws the layers of a model."""

from __future__ import annotations

import argparse

from tfkit.src.base.terminal import say
from tfkit.src.data.utils.plotting.plot_model import plot_model
from tfkit.src.outer.cli import models


def run(args: argparse.Namespace) -> int:
    """Loads a model and writes a picture of it, in the format that the extension determines."""
    models.check_target(args.target, args.overwrite)
    plot_model(models.load(args), args.target, show_shapes=True, show_layer_names=True)
    say(f"{args.target}: written")
    return 0
