"""`tfkit run`: a program that is written for Keras, on tfkit."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from tfkit.src.outer import as_keras

_USAGE = "tfkit run SCRIPT [ARGUMENT ...] | -m MODULE ... | -c CODE ... | PROGRAM ..."


def run(args: argparse.Namespace) -> int:
    """Replaces this process by the program; its child processes use tfkit as well.

    Raises:
        OSError: if there is no such file or program.
        ValueError: if there are no arguments.
    """
    if not args.program:
        raise ValueError(f"Expected a program. Usage: {_USAGE}")
    first, *rest = args.program
    if first in ("-h", "--help"):
        print(f"usage: {_USAGE}\n\nRuns a program that is written for Keras on tfkit.")
        return 0
    folders = [
        str(Path(as_keras.__file__).with_name("first_on_path")),
        os.environ.get("PYTHONPATH", ""),
    ]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    os.environ["TFKIT_AS_KERAS"] = "1"
    if first.startswith("-") or Path(first).suffix == ".py" or Path(first).is_dir():
        command = [sys.executable, first, *rest]
    else:
        found = shutil.which(first)
        if found is None:
            raise FileNotFoundError(
                f"There is no program {first!r} on `PATH`. Expected a Python file, `-m MODULE`, "
                "`-c CODE`, or the name of a program."
            )
        command = [found, *rest]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)
