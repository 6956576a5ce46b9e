"""The command `tfkit serve BASE`."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import logging
import signal
import sys

from tfkit.src.outer.serving.arguments import Options
from tfkit.src.outer.serving.server import running


def run(args: argparse.Namespace) -> int:
    """Serves until it is interrupted or terminated.

    Args:
        args: the parsed arguments of `add_arguments`.

    Returns:
        The exit code.

    Raises:
        ImportError: without the packages of `tfkit-dl[serve]`.
        OSError: for a folder that does not exist, and for a port that is in use.
        ValueError: for a folder of versions, or a SavedModel, instead of a folder of models.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    names = [each.name for each in dataclasses.fields(Options)]
    given = {name: value for name, value in vars(args).items() if name in names}
    asyncio.run(_serve(Options(**given)))
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
        if not server.names:
            print(f"  no models yet: a version in {options.base}/NAME/NUMBER will be served")
        sys.stdout.flush()
        await ended.wait()
