"""The command `tfkit launch SCRIPT`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfkit.src.outer.launch.cluster import make_tasks
from tfkit.src.outer.launch.processes import Processes
from tfkit.src.outer.launch.server import serve


def run(args: argparse.Namespace) -> int:
    """Runs a script in all processes of a cluster, or serves one task.

    Args:
        args: the parsed arguments of `add_arguments`.

    Returns:
        The exit code: 0 if all processes succeed; that of the first one to fail; 128 plus the number of the
        signal that ended the processes.

    Raises:
        ValueError: without a script, and for `--server` without `TF_CONFIG`.
        FileNotFoundError: for a script that does not exist.
    """
    if args.server:
        serve()
        return 0
    if args.script is None:
        raise ValueError("SCRIPT is missing. Pass the Python file that every process is to run.")
    if not args.module and not Path(args.script).is_file():
        raise FileNotFoundError(f"There is no script {args.script}.")
    command = [sys.executable, *(["-m"] if args.module else []), args.script, *args.arguments]
    tasks = make_tasks(args.workers, args.ps)
    return Processes(tasks, command, args.restarts, args.grace, sys.stdout).run()
