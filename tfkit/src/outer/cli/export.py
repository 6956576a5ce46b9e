"""`tfkit export SOURCE TARGET`: writes a model for inference."""

from __future__ import annotations

import argparse
from typing import Any

from tfkit.src.base.terminal import say
from tfkit.src.export.formats import format_of
from tfkit.src.outer.cli import models


def run(args: argparse.Namespace) -> int:
    """Loads a model and exports it, in the format that the extension of the target determines."""
    models.check_target(args.target, args.overwrite)
    format = format_of(args.target, args.format)
    if args.select_tf_ops and format != "litert":
        raise ValueError(f"--select-tf-ops is an option of LiteRT. The format is {format!r}.")
    options: dict[str, Any] = {"enable_select_tf_ops": True} if args.select_tf_ops else {}
    models.load(args).export(args.target, format, verbose=False, **options)
    say(f"{args.target}: written")
    return 0
