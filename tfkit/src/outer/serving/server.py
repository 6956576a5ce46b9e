"""The whole server: models, REST and gRPC, from start to end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from tfkit.src.outer.serving import packages
from tfkit.src.outer.serving.arguments import Options
from tfkit.src.outer.serving.batching import Batcher
from tfkit.src.outer.serving.calls import Calls
from tfkit.src.outer.serving.grpc_service import grpc_server
from tfkit.src.outer.serving.health import Health
from tfkit.src.outer.serving.http_app import Arriving, Handler, http_app
from tfkit.src.outer.serving.metrics import Metrics
from tfkit.src.outer.serving.offload import Worker
from tfkit.src.outer.serving.service import Service
from tfkit.src.outer.serving.store import Store


@dataclasses.dataclass(frozen=True)
class Running:
    """A running server.

    Attributes:
        port: of REST.
        grpc_port: of gRPC.
        names: the models that are ready.
    """

    port: int
    grpc_port: int
    names: list[str]


@contextlib.asynccontextmanager
async def running(options: Options) -> AsyncIterator[Running]:
    """Async context manager for a server, which ends after its last responses.

    Raises:
        ImportError: without the packages of `tfkit-dl[serve]`.
        OSError: for a folder that does not exist, and for a port that is in use.
        ValueError: for a folder of versions, or a SavedModel, instead of a folder of models.
    """
    web = packages.web  # First of all, because it raises an error if the packages are missing.
    base = options.base.absolute()
    if any(entry.name.isdigit() and entry.is_dir() for entry in base.iterdir()):
        raise ValueError(
            f"Expected a folder of models, with BASE/name/number. Received: {str(base)!r}, which has "
            f"versions in it. Serve {str(base.parent)!r}."
        )
    if (base / "saved_model.pb").exists():
        raise ValueError(
            f"Expected a folder of models, with BASE/name/number. Received: {str(base)!r}, which is a "
            "SavedModel itself. `tfkit.export.to_serving(model, 'models', name='my_model')` writes it "
            "to 'models/my_model/1'; then serve 'models'."
        )
    async with contextlib.AsyncExitStack() as stack:
        metrics = Metrics()
        store = Store(base, options.num_versions, options.trusted, metrics)
        stack.push_async_callback(store.close)
        # Before the ports are open: whoever can connect finds models.
        await store.refresh()
        batcher = Batcher(options.batching_window, options.max_batch, options.threads, metrics)
        # The exit stack closes in reverse: first nothing more is accepted, then requests are
        # answered, and models are dropped last.
        stack.push_async_callback(batcher.close)
        worker = Worker(options.max_body)
        stack.push_async_callback(worker.close)
        worker.start()
        service = Service(store, batcher, worker)
        calls = Calls(metrics, store.has, options.log_requests)

        arriving = Arriving()
        handler = Handler(service, calls, metrics, arriving, options.max_body, options.read_timeout)
        runner = web.AppRunner(
            http_app(handler),
            access_log=None,
            # For the head of a request, from the first byte on: aiohttp has it since 3.14.4.
            keepalive_timeout=options.read_timeout,
            lingering_time=1.0,
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, options.host, options.port)
        await site.start()
        stack.push_async_callback(_stop_listening, site, arriving)

        server = grpc_server(service, calls, Health(store), options.max_body, options.read_timeout)
        grpc_port = _bind(server, options.host, options.grpc_port)
        await server.start()
        stack.push_async_callback(server.stop, 5.0)

        watching = asyncio.create_task(store.watch(options.poll))
        stack.push_async_callback(_cancel, watching)
        yield Running(runner.addresses[0][1], grpc_port, store.names())


def _bind(server: Any, host: str, port: int) -> int:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError as error:
        raise OSError(f"Cannot listen on {address} for gRPC: {error}") from None
    return int(bound)


async def _stop_listening(site: Any, arriving: Arriving) -> None:
    """Ends listening for REST, after the connections that the system has made are accepted and read.

    Closing resets the connections that are not yet accepted, and those whose request is not yet read. It also
    reads no more of a body that is arriving.
    """
    await asyncio.sleep(_GRACE)
    await site.stop()
    await asyncio.sleep(_GRACE)
    await arriving.ended()


_GRACE = 0.1  # Seconds; the event loop accepts and reads waiting data in a thousandth of that.


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
