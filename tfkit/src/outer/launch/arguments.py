"""The arguments of `tfkit launch`."""

from __future__ import annotations

import argparse

from tfkit.src.outer.arguments import at_least, seconds

ENGINES = ("tensorflow", "jax")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to a parser; `run` receives the parsed ones."""
    parser.description = (
        "Runs a script in every process of a cluster on this machine, with TF_CONFIG set: to try distributed "
        "training out. Without --ps every worker runs the script (MultiWorkerMirroredStrategy); with --ps a "
        "chief runs it, and workers and parameter servers serve (ParameterServerStrategy). With --engine jax "
        "the script's `keras.distribution.initialize()` connects the workers."
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
    add(
        "--engine",
        choices=ENGINES,
        default="tensorflow",
        help="what trains: for jax, what `keras.distribution.initialize()` reads is set, and not "
        "TF_CONFIG (default: %(default)s)",
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
