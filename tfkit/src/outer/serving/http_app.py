"""TF Serving's REST interface.

Reference: https://www.tensorflow.org/tfx/serving/api_rest
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np

from tfkit.src.outer.serving import packages
from tfkit.src.outer.serving.bodies.errors import HTTP_STATUS, RequestError, invalid, shortened
from tfkit.src.outer.serving.bodies.rest_json import check_dtype
from tfkit.src.outer.serving.calls import Call, Calls
from tfkit.src.outer.serving.messages import SIGNATURE_DEF
from tfkit.src.outer.serving.metrics import PATH, Metrics
from tfkit.src.outer.serving.offload import Arrays, Body
from tfkit.src.outer.serving.servable import Servable
from tfkit.src.outer.serving.service import Read, Service

_log = logging.getLogger("tfkit.serving")
_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+))?"
_METHOD = re.compile(_MODEL + ":(?P<method>predict|classify|regress)")
_QUESTION = re.compile(_MODEL + "(?P<metadata>/metadata)?")
_HEALTH = re.compile(
    r"/v2/(?:health|models/(?P<name>[^/]+)(?:/versions/(?P<version>\d+))?)/(?P<what>live|ready)"
)
_JSON = "application/json; charset=utf-8"
_PART = 256 * 2**10  # bytes that are sent at once
_LARGEST_VERSION = 2**63 - 1


class Arriving:
    """The requests whose bodies are being read."""

    def __init__(self) -> None:
        self._requests: set[object] = set()

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Context manager for the time in which the body of a request is read."""
        request = object()
        self._requests.add(request)
        try:
            yield
        finally:
            self._requests.discard(request)

    async def ended(self) -> None:
        """Waits until the bodies that are being read now are complete, or have taken too long."""
        waited_for = set(self._requests)
        while waited_for & self._requests:
            await asyncio.sleep(_PAUSE)


_PAUSE = 0.02  # seconds


def http_app(handler: Handler) -> Any:
    """Returns the application, which `handler` answers for."""
    app = packages.web.Application(middlewares=[packages.web.middleware(_with_errors_as_json)])
    # One route for all paths, so that errors of paths have TF Serving's form, too.
    app.router.add_route("*", "/{path:.*}", handler.answer)
    return app


@dataclasses.dataclass(frozen=True)
class Handler:
    """Answers requests.

    Args:
        service: answers them.
        calls: the counter and log of predictions.
        metrics: the metrics for Prometheus.
        arriving: registers the requests whose bodies are being read.
        max_body: bytes of the largest request that is read.
        read_timeout: seconds for the arrival of the whole body, and for reading the whole response.
    """

    service: Service
    calls: Calls
    metrics: Metrics
    arriving: Arriving
    max_body: int
    read_timeout: float

    async def answer(self, request: Any) -> Any:
        """Returns the response to a request."""
        if request.method == "POST" and (found := _METHOD.fullmatch(request.path)):
            call = Call(found["method"], "REST", str(request.remote), found["name"])
            with self.calls.counted(call):
                text = await self._answer(request, call, _version(found["version"]))
            return await self._response(request, text)
        if request.method == "GET" and (found := _QUESTION.fullmatch(request.path)):
            answer = self.metadata if found["metadata"] else self.status
            return _json(answer(found["name"], _version(found["version"])))
        if request.method == "GET" and request.path == PATH:
            return packages.web.Response(text=self.metrics.text(), content_type="text/plain")
        if request.method == "GET" and (found := _HEALTH.fullmatch(request.path)):
            return self._health(found["what"], found["name"], _version(found["version"]))
        raise invalid(f"Malformed request: {request.method} {shortened(request.path, 200)}")

    def _health(self, what: str, name: str | None, version: int | None) -> Any:
        """Returns whether the server runs, and whether a model is ready, as in KServe's protocol."""
        is_well = what == "live" or self.service.is_ready(name, version)
        return _json({what: is_well}, 200 if is_well else 503)

    async def _answer(self, request: Any, call: Call, version: int | None) -> np.ndarray:
        """Returns the bytes of the response to a predict, classify or regress request."""
        with self.arriving.noted():
            body = await self._body(request)
        call.bytes_in = sum(map(len, body))
        text: np.ndarray = await getattr(self, call.api)(call, version, body)
        call.bytes_out = text.size
        return text

    async def _body(self, request: Any) -> Body:
        """Returns the parts of a body, as they arrived."""
        parts: list[bytearray] = []
        received = 0
        size = request.content_length or 0
        try:
            async with asyncio.timeout(self.read_timeout):
                while size <= self.max_body and (part := await request.content.readany()):
                    if parts and len(parts[-1]) < _PART:
                        parts[-1] += part  # A client may send single bytes.
                    else:
                        parts.append(bytearray(part))
                    received += len(part)
                    # A client may declare fewer bytes than it sends, or none.
                    size = max(size, received)
        except TimeoutError:
            raise packages.web.HTTPRequestTimeout(
                text=f"The request did not come within {self.read_timeout:g} seconds."
            ) from None
        if size > self.max_body:
            raise packages.web.HTTPRequestEntityTooLarge(self.max_body, size)
        return parts

    async def predict(self, call: Call, version: int | None, body: Body) -> np.ndarray:
        """Returns the outputs of a model, as JSON."""
        # Known when the request is read, and needed for the form of the response.
        in_rows = False

        async def read(servable: Servable) -> tuple[str, Arrays]:
            nonlocal in_rows
            (signature_name, in_rows), inputs = await self.service.worker.read(
                "predict_inputs", servable.dtypes, body
            )
            return signature_name, inputs

        call.answer = answer = await self.service.predict(call.model, version, read)
        for each, array in answer.outputs.items():
            if array.dtype != object:
                check_dtype(f"Output {each!r}", array.dtype.name)
        return await self.service.worker.write("predict_answer", in_rows, answer.outputs)

    async def classify(self, call: Call, version: int | None, body: Body) -> np.ndarray:
        """Returns classes and their scores, as JSON."""
        read = self._examples(body)
        call.answer = answer = await self.service.classify(call.model, version, read)
        return await self.service.worker.write("classification", None, answer.outputs)

    async def regress(self, call: Call, version: int | None, body: Body) -> np.ndarray:
        """Returns a number for each example, as JSON."""
        read = self._examples(body)
        call.answer = answer = await self.service.regress(call.model, version, read)
        return await self.service.worker.write("regression", None, answer.outputs)

    def _examples(self, body: Body) -> Read:
        async def read(servable: Servable) -> tuple[str, Arrays]:
            return await self.service.worker.read("examples", None, body)

        return read

    async def _response(self, request: Any, text: np.ndarray) -> Any:
        """Returns the response with a text in UTF-8; a large one is sent in parts."""
        if text.size <= _PART:
            return _json_response(text.tobytes())
        response = packages.web.StreamResponse(headers={"Content-Type": _JSON})
        response.content_length = text.size
        try:
            async with asyncio.timeout(self.read_timeout):
                await response.prepare(request)
                for start in range(0, text.size, _PART):
                    await response.write(text[start : start + _PART].tobytes())
                await response.write_eof()
        except TimeoutError:  # The client does not read the response.
            # Closing politely would wait for the client to read.
            request.transport.abort()
        return response

    def metadata(self, name: str, version: int | None) -> Any:
        """Returns the signatures of a model."""
        response = self.service.metadata(name, version)
        signatures = packages.get_model_metadata_pb2.SignatureDefMap()
        # JSON shows the signatures themselves, without the `Any` that they are packed in.
        response.metadata[SIGNATURE_DEF].Unpack(signatures)
        spec = {**_plain(response.model_spec), "signature_name": ""}
        spec["version"] = str(response.model_spec.version.value)
        return {"model_spec": spec, "metadata": {SIGNATURE_DEF: _plain(signatures)}}

    def status(self, name: str, version: int | None) -> Any:
        """Returns the states of the versions of a model."""
        return _plain(self.service.status(name, version))


def _version(digits: str | None) -> int | None:
    # The length first: Python refuses to parse numbers of thousands of digits, with another error.
    if digits is not None and (len(digits) > 19 or int(digits) > _LARGEST_VERSION):
        raise invalid(f"Failed to convert version: {digits[:30]} to numeric.")
    return None if digits is None else int(digits)


def _plain(message: Any) -> Any:
    """Returns a message as JSON, with all fields, as TF Serving writes it."""
    return packages.json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _json(answer: Any, status: int = 200) -> Any:
    return _json_response((json.dumps(answer, separators=(", ", ": ")) + "\n").encode(), status)


def _json_response(body: bytes, status: int = 200) -> Any:
    return packages.web.Response(body=body, status=status, headers={"Content-Type": _JSON})


async def _with_errors_as_json(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    try:
        return await handler(request)
    except RequestError as error:
        return _json({"error": error.message}, HTTP_STATUS.get(error.code, 500))
    except packages.web.HTTPException as error:
        # Raised by the library: the body is too large, or headers are invalid.
        return _json({"error": error.text or error.reason}, error.status)
    except Exception:
        _log.exception("%s %s", request.method, request.path)
        return _json({"error": "Internal error. The server's log says more."}, 500)
