"""The command `tfkit launch SCRIPT`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfkit.src.outer.launch.cluster import jax_variables, make_tasks, tensorflow_variables
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
        ValueError: without a script, for `--server` without `TF_CONFIG`, and for `--ps` with JAX.
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
    if args.engine == "jax" and args.ps:
        raise ValueError(
            "`--engine jax` has no parameter servers: weights are divided among workers. Leave `--ps` out."
        )
    tasks = make_tasks(args.workers, args.ps)
    variables = jax_variables if args.engine == "jax" else tensorflow_variables
    return Processes(tasks, command, args.restarts, args.grace, sys.stdout, variables).run()
