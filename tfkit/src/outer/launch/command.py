"""The command `tfkit launch SCRIPT`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfkit.src.outer.arguments import at_least, seconds
from tfkit.src.outer.launch.cluster import make_tasks
from tfkit.src.outer.launch.processes import Processes
from tfkit.src.outer.launch.server import serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to a parser; `run` receives the parsed ones."""
    parser.description = (
        "Runs a script in every process of a cluster on this machine, with TF_CONFIG set: to try distributed "
        "training out. Without --ps every worker runs the script (MultiWorkerMirroredStrategy); with --ps a "
        "chief runs it, and workers and parameter servers serve (ParameterServerStrategy)."
    )
    add = parser.add_argument
    add(
        "--workers",
        type=at_least(1),
        default=2,
        metavar="N",
        help="worker processes (default: %(default)s)",
    )
    add(
        "--ps",
        type=at_least(0),
        default=0,
        metavar="N",
        help="parameter servers (default: %(default)s)",
    )
    add("--restarts", type=at_least(0), default=0, metavar="N",
        help="how many times processes that fail are started again (default: %(default)s); the script "
        "continues from what it has saved, as with BackupAndRestore")  # fmt: skip
    add("--grace", type=seconds, default=10.0, metavar="SECONDS",
        help="time to save and to end after a signal, before a kill (default: %(default)s)")  # fmt: skip
    add("--server", action="store_true",
        help="serve the task in TF_CONFIG, a worker or parameter server of any cluster")  # fmt: skip
    add("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    add("script", metavar="SCRIPT", nargs="?", help="the Python file to run")
    add("arguments", metavar="...", nargs=argparse.REMAINDER, help="its arguments")


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
