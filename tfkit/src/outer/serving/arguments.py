"""The options of `tfkit serve`, and the arguments that set them."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from tfkit.src.outer.arguments import at_least, seconds


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of the server.

    Args:
        base: folder of the models, `base/name/number`.
        host: address to listen at.
        port: of REST; 0 for any that is free.
        grpc_port: of gRPC; 0 for any that is free.
        max_body: bytes of the largest request.
        batching_window: seconds that a request waits for others although it could run; with 0 requests are
            joined where they have to wait anyway.
        max_batch: rows at which nothing more is joined; 1 joins none.
        read_timeout: seconds for the head of a request, for its body, and for reading the response.
        num_versions: how many versions of each model are served, the newest.
        poll: seconds between two scans of the folder.
        threads: how many runs there are at once.
        trusted: whether models may have operations on files, other machines, processes or Python.
        log_requests: whether a line is logged for each request, by `tfkit.src.outer.serving.requests`.
    """

    base: Path
    host: str = "127.0.0.1"
    port: int = 8501
    grpc_port: int = 8500
    max_body: int = 16 * 2**20
    batching_window: float = 0.0
    max_batch: int = 64
    read_timeout: float = 60.0
    num_versions: int = 1
    poll: float = 1.0
    threads: int = 2
    trusted: bool = False
    log_requests: bool = False


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
