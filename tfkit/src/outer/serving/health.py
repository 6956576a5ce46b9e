"""gRPC's health service, for load balancers: whether the server, or a model, is ready.

Reference: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from google.protobuf import descriptor_pb2

from tfkit.src.outer.serving import packages
from tfkit.src.outer.serving.bodies import protos
from tfkit.src.outer.serving.bodies.errors import Code, RequestError
from tfkit.src.outer.serving.store import Store

NAME = "grpc.health.v1.Health"
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = 1, 2, 3
_SERVICES = {"", NAME, "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"}
_SECONDS = 0.5  # between two checks, for watching clients


def _request_type() -> Any:
    """Returns `HealthCheckRequest`, which has one string, without the package `grpcio-health-checking`."""
    file = descriptor_pb2.FileDescriptorProto(name="health.proto", package="grpc.health.v1")
    message = file.message_type.add(name="HealthCheckRequest")
    message.field.add(name="service", number=1, type=9, label=1)  # an optional string
    return protos.message_class((file.SerializeToString(),), "grpc.health.v1.HealthCheckRequest")


class Health:
    """Reports for the whole server, and for each model by its name, whether it is ready.

    Args:
        store: the models.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._request_type = _request_type()

    async def check(self, content: bytes) -> bytes:
        """Returns the present status: the bytes of the response to the bytes of a request.

        Raises:
            RequestError: for a name that is neither a service nor a model.
        """
        status = self._status(self._service_of(content))
        if status == _SERVICE_UNKNOWN:
            raise RequestError(Code.NOT_FOUND, "Expected the name of a model, or none.")
        return _response(status)

    async def watch(self, content: bytes, context: Any) -> AsyncIterator[bytes]:
        """Yields the present status, and each change of it."""
        service = self._service_of(content)
        last = None
        while True:
            status = self._status(service)
            if status != last:
                yield _response(status)
            last = status
            # The store has no notifications; a check is a look into a dict.
            await asyncio.sleep(_SECONDS)

    def _service_of(self, content: bytes) -> str:
        return str(protos.decoded(self._request_type, content).service)

    def _status(self, service: str) -> int:
        if service in _SERVICES:
            return _SERVING if self._store.names() else _NOT_SERVING
        if not self._store.has(service):
            return _SERVICE_UNKNOWN
        return _SERVING if service in self._store.names() else _NOT_SERVING


def watch_handler(health: Health) -> Any:
    """Returns the method `Watch` for gRPC."""

    async def watch(content: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            async for response in health.watch(content, context):
                yield response
        except RequestError as error:
            await context.abort(packages.grpc.StatusCode.INVALID_ARGUMENT, error.message)

    return packages.grpc.unary_stream_rpc_method_handler(watch)


def _response(status: int) -> bytes:
    return bytes([8, status])  # field 1, a number
