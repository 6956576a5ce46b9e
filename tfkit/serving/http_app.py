"""TF Serving's REST interface.

Reference: https://www.tensorflow.org/tfx/serving/api_rest
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from tfkit.serving import packages, rest_json
from tfkit.serving.errors import HTTP_STATUS, RequestError, invalid
from tfkit.serving.messages import SIGNATURE_DEF
from tfkit.serving.offload import num_bytes
from tfkit.serving.service import Service

_log = logging.getLogger("tfkit.serving")
_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+))?"
_METHOD = re.compile(_MODEL + ":(?P<method>predict|classify|regress)")
_QUESTION = re.compile(_MODEL + "(?P<metadata>/metadata)?")
_LARGEST_VERSION = 2**63 - 1
Json = dict[str, Any]


def http_app(service: Service, max_body: int) -> Any:
    """The `aiohttp` application.

    Args:
        service: what answers.
        max_body: bytes of the largest request that is read.
    """
    app = packages.web.Application(
        client_max_size=max_body, middlewares=[packages.web.middleware(_with_errors_as_json)]
    )
    app.router.add_route("*", "/{path:.*}", _Handler(service).answer)
    return app


class _Handler:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, request: Any) -> Any:
        if request.method == "POST" and (found := _METHOD.fullmatch(request.path)):
            answer = getattr(self, found["method"])
            body = await request.read()
            parsed = await self._service.worker.run(len(body), lambda: rest_json.parse(body))
            return await answer(found["name"], _version(found["version"]), parsed, len(body))
        if request.method == "GET" and (found := _QUESTION.fullmatch(request.path)):
            answer = self.metadata if found["metadata"] else self.status
            return _json(answer(found["name"], _version(found["version"])))
        raise invalid(f"Malformed request: {request.method} {request.path}")

    async def predict(self, name: str, version: int | None, body: Json, size: int) -> Any:
        in_rows = False

        def read(signature: Any) -> rest_json.Arrays:
            nonlocal in_rows
            inputs, in_rows = rest_json.predict_inputs(body, signature.inputs)
            return inputs

        signature_name = rest_json.signature_name(body)
        _, outputs = await self._service.predict(name, version, signature_name, read, size)
        return await self._response(
            num_bytes(outputs),
            lambda: rest_json.predict_answer(outputs, in_rows),
        )

    async def classify(self, name: str, version: int | None, body: Json, size: int) -> Any:
        examples = await self._service.worker.run(size, lambda: rest_json.examples(body))
        signature_name = rest_json.signature_name(body)
        _, result = await self._service.classify(name, version, signature_name, examples)
        return await self._response(size, lambda: rest_json.classification(result))

    async def regress(self, name: str, version: int | None, body: Json, size: int) -> Any:
        examples = await self._service.worker.run(size, lambda: rest_json.examples(body))
        signature_name = rest_json.signature_name(body)
        _, values = await self._service.regress(name, version, signature_name, examples)
        return await self._response(size, lambda: rest_json.regression(values))

    async def _response(self, size: int, answer: Callable[[], Json]) -> Any:
        """The response with an answer that is made of so many bytes."""
        return await self._service.worker.run(size, lambda: _json(answer()))

    def metadata(self, name: str, version: int | None) -> Any:
        response = self._service.metadata(name, version)
        signatures = packages.get_model_metadata_pb2.SignatureDefMap()
        response.metadata[SIGNATURE_DEF].Unpack(signatures)
        spec = {**_plain(response.model_spec), "signature_name": ""}
        spec["version"] = str(response.model_spec.version.value)
        return {"model_spec": spec, "metadata": {SIGNATURE_DEF: _plain(signatures)}}

    def status(self, name: str, version: int | None) -> Any:
        return _plain(self._service.status(name, version))


def _version(digits: str | None) -> int | None:
    if digits is not None and (len(digits) > 19 or int(digits) > _LARGEST_VERSION):
        raise invalid(f"Failed to convert version: {digits[:30]} to numeric.")
    return None if digits is None else int(digits)


def _plain(message: Any) -> Any:
    """A message as JSON, with all fields, as TF Serving writes it."""
    return packages.json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _json(answer: Any, status: int = 200) -> Any:
    text = json.dumps(answer, separators=(", ", ": "))
    return packages.web.Response(text=text + "\n", status=status, content_type="application/json")


async def _with_errors_as_json(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    try:
        return await handler(request)
    except RequestError as error:
        return _json({"error": error.message}, HTTP_STATUS.get(error.code, 500))
    except packages.web.HTTPException as error:
        # Of the library: a body that is too large, bad headers.
        return _json({"error": error.text or error.reason}, error.status)
    except Exception:
        _log.exception("%s %s", request.method, request.path)
        return _json({"error": "Internal error. The server's log says more."}, 500)
