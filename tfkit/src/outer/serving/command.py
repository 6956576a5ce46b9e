"""The command `tfkit serve BASE`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from tfkit.src.outer.arguments import at_least, seconds
from tfkit.src.outer.serving.server import Options, running


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


def run(args: argparse.Namespace) -> int:
    """Serves until it is interrupted or terminated.

    Args:
        args: the parsed arguments of `add_arguments`.

    Returns:
        The exit code.

    Raises:
        ImportError: without the packages of `tfkit-dl[serve]`.
        OSError: for a folder that does not exist, and for a port that is in use.
        ValueError: for a folder of versions instead of a folder of models.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    options = Options(
        base=args.base,
        host=args.host,
        port=args.port,
        grpc_port=args.grpc_port,
        max_body=args.max_body,
        batching_window=args.batching_window,
        max_batch=args.max_batch,
        threads=args.threads,
        read_timeout=args.read_timeout,
        log_requests=args.log_requests,
        num_versions=args.num_versions,
        trusted=args.trusted,
    )
    asyncio.run(_serve(options))
    return 0


async def _serve(options: Options) -> None:
    ended = asyncio.Event()
    # A signal only ends the wait below, so that open requests are answered first.
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with running(options) as server:
        print(
            f"REST at http://{options.host}:{server.port}, gRPC at {options.host}:{server.grpc_port}"
        )
        for name in server.names:
            print(f"  curl http://{options.host}:{server.port}/v1/models/{name}")
        sys.stdout.flush()
        await ended.wait()


def _milliseconds(text: str) -> float:
    if not 0 <= float(text) <= 10_000:
        raise ValueError
    return float(text) / 1000
