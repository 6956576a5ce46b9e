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
        host: address to listen on.
        port: port for REST; 0 for any free port.
        grpc_port: port for gRPC; 0 for any free port.
        max_body: maximum size of a request in bytes.
        batching_window: seconds that a request waits for others although it could run; with 0, only requests
            that have to wait anyway are batched.
        max_batch: maximum number of rows in a batch of requests; 1 turns batching off.
        read_timeout: seconds for the headers of a request, for its body, and for reading the response.
        num_versions: how many of the newest versions of each model are served.
        poll: seconds between two scans of the folder.
        threads: number of model runs at the same time.
        trusted: whether models may have operations that access files, other machines, processes or Python.
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
        "Serves the models in a folder, BASE/name/number, like TF Serving. For trying models out, not for "
        "production. Needs the packages of tfkit-dl[serve]."
    )
    default = Options(Path())
    parser.add_argument("base", metavar="BASE", type=Path, help="folder that contains name/number")
    add = parser.add_argument
    add("--host", default=default.host, help="address to listen on (default: %(default)s)")
    add(
        "--port",
        type=int,
        default=default.port,
        help="port for REST (default: %(default)s; 0: any)",
    )
    add("--grpc-port", type=int, default=default.grpc_port,
        help="port for gRPC (default: %(default)s; 0: any)")  # fmt: skip
    add("--max-body", type=at_least(1), default=default.max_body, metavar="BYTES",
        help="maximum size of a request (default: %(default)s)")  # fmt: skip
    add("--batching-window", type=_milliseconds, default=0.0, metavar="MS",
        help="milliseconds that a request waits for others even if a thread is free (default: 0; requests "
        "that have to wait anyway are batched in any case)")  # fmt: skip
    add("--max-batch", type=at_least(1), default=default.max_batch, metavar="ROWS",
        help="maximum rows in a batch of requests (default: %(default)s; 1: no batching)")  # fmt: skip
    add("--threads", type=at_least(1), default=default.threads, metavar="N",
        help="number of model runs at the same time (default: %(default)s)")  # fmt: skip
    add("--read-timeout", type=seconds, default=default.read_timeout, metavar="SECONDS",
        help="limit for the headers of a request, and for its body (default: %(default)s)")  # fmt: skip
    add("--log-requests", action="store_true",
        help="write a line of JSON about each request, without its values, to standard error")  # fmt: skip
    add("--num-versions", type=at_least(1), default=default.num_versions, metavar="N",
        help="how many of the newest versions of a model to serve (default: %(default)s)")  # fmt: skip
    add("--trusted", action="store_true",
        help="also serve models with operations that access files, processes or Python")  # fmt: skip


def _milliseconds(text: str) -> float:
    if not 0 <= float(text) <= 10_000:
        raise ValueError
    return float(text) / 1000
