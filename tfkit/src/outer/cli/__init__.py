"""The command line: `tfkit inspect`, `verify`, `diff`, `convert`, `serve`, `launch`.

Each command is a module with `add_arguments(parser)` and `run(args)`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tfkit.src.base.quoting import shown
from tfkit.src.base.version import __version__
from tfkit.src.files.saving.errors import LoadError, MissingFileError
from tfkit.src.outer.cli import convert, diff, inspect, verify
from tfkit.src.outer.launch import command as launch
from tfkit.src.outer.serving import command as serve

_COMMANDS = {
    "inspect": (inspect, "what is in a file: configuration, weights, sizes; runs nothing"),
    "verify": (verify, "compare all checksums of a file"),
    "diff": (diff, "what differs between two files"),
    "convert": (convert, "read a model and save it in a different format"),
    "serve": (serve, "try exports out: answers TF Serving's requests"),
    "launch": (launch, "try distributed training out: runs a script in all processes of a cluster"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: the words after `tfkit`; the arguments of the process unless given.

    Returns:
        The exit code: 0; 1 for a file that is damaged, refused or differs; 2 for a command that cannot be
        run. Errors are printed in one line on the standard error stream.
    """
    parser = argparse.ArgumentParser(prog="tfkit", description="Works with model files of tfkit.")
    parser.add_argument("--version", action="version", version=f"tfkit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, summary) in _COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except (ImportError, OSError, TypeError, ValueError) as error:
        # One line: a message may have paragraphs, and quote what a file contains.
        text = " ".join(str(error).split())
        print(f"tfkit {args.command}: {shown(text, 4_000)}", file=sys.stderr)
        # 1 is an answer about the file, 2 says that the command could not be run.
        refused = isinstance(error, LoadError) and not isinstance(error, MissingFileError)
        return 1 if refused else 2
