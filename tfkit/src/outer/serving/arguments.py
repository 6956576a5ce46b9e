"""The arguments of `tfkit serve`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tfkit.src.outer.arguments import at_least, seconds
from tfkit.src.outer.serving.options import Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to a parser; `run` receives the parsed ones."""
    parser.description = (
        "Serves the models in a folder, BASE/name/number, as TF Serving would: to try them out, not for "
        "production. Needs the packages of tfkit-dl[serve]."
    )
    default = Options(Path())
    parser.add_argument("base", metavar="BASE", type=Path, help="folder with name/number below it")
    add = parser.add_argument
    add("--host", default=default.host, help="address to listen at (default: %(default)s)")
    add("--port", type=int, default=default.port, help="of REST (default: %(default)s; 0: any)")
    add("--grpc-port", type=int, default=default.grpc_port, help="of gRPC (default: %(default)s)")
    add("--max-body", type=at_least(1), default=default.max_body, metavar="BYTES",
        help="largest request (default: %(default)s)")  # fmt: skip
    add("--batching-window", type=_milliseconds, default=0.0, metavar="MS",
        help="milliseconds that a request waits for others to run with although the model is free "
        "(default: 0; those that find it busy are joined in any case)")  # fmt: skip
    add("--max-batch", type=at_least(1), default=default.max_batch, metavar="ROWS",
        help="most rows of joined requests (default: %(default)s; 1 joins none)")  # fmt: skip
    add("--threads", type=at_least(1), default=default.threads, metavar="N",
        help="runs of models at once (default: %(default)s)")  # fmt: skip
    add("--read-timeout", type=seconds, default=default.read_timeout, metavar="SECONDS",
        help="for the head of a request, and for its body (default: %(default)s)")  # fmt: skip
    add("--log-requests", action="store_true",
        help="write a line of JSON about each request, without its values, to standard error")  # fmt: skip
    add("--num-versions", type=at_least(1), default=default.num_versions, metavar="N",
        help="how many versions of a model to serve, the newest (default: %(default)s)")  # fmt: skip
    add("--trusted", action="store_true",
        help="also serve models with operations on files, processes or Python")  # fmt: skip


def _milliseconds(text: str) -> float:
    if not 0 <= float(text) <= 10_000:
        raise ValueError
    return float(text) / 1000
