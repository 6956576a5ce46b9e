"""TF Serving's gRPC interface: PredictionService and ModelService.

Reference: tensorflow_serving/apis/prediction_service.proto, model_service.proto
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tfkit.src.outer.serving import packages
from tfkit.src.outer.serving.bodies import protos
from tfkit.src.outer.serving.bodies.errors import Code, RequestError, invalid
from tfkit.src.outer.serving.calls import Call, Calls
from tfkit.src.outer.serving.health import NAME as HEALTH
from tfkit.src.outer.serving.health import Health, watch_handler
from tfkit.src.outer.serving.messages import (
    SIGNATURE_DEF,
    classification_result,
    regression_result,
    tensor_of,
)
from tfkit.src.outer.serving.offload import LARGE, Arrays, num_bytes
from tfkit.src.outer.serving.servable import Servable, with_bfloat16
from tfkit.src.outer.serving.service import Answer, Read, Service

_log = logging.getLogger("tfkit.serving")
_PACKAGE = "tensorflow.serving"
Method = Callable[[bytes, str], Awaitable[bytes]]  # of the request and its sender


def grpc_server(
    service: Service, calls: Calls, health: Health, max_body: int, read_timeout: float
) -> Any:
    """Returns the `grpc.aio` server, without a port.

    Args:
        service: the service that answers requests.
        calls: the counter and log of predictions.
        health: the service that answers load balancers.
        max_body: bytes of the largest request that is read.
        read_timeout: seconds until a whole request must be here.
    """
    options = [
        ("grpc.max_receive_message_length", max_body),
        ("grpc.max_send_message_length", -1),  # no limit
        ("grpc.so_reuseport", 0),  # A port that is in use is an error.
        ("grpc.server_handshake_timeout_ms", int(read_timeout * 1000)),
    ]
    server = packages.grpc.aio.server(options=options)
    methods = _Methods(service, calls, max_body)
    for name, found in (
        (f"{_PACKAGE}.PredictionService", methods.of_predictions),
        (f"{_PACKAGE}.ModelService", methods.of_models),
        (HEALTH, {"Check": lambda content, peer: health.check(content)}),
    ):
        handlers = {each: _handler(each, answer, read_timeout) for each, answer in found.items()}
        if name == HEALTH:
            handlers["Watch"] = watch_handler(health)
        server.add_generic_rpc_handlers(
            (packages.grpc.method_handlers_generic_handler(name, handlers),)
        )
    return server


class _Methods:
    """Maps the bytes of requests to the bytes of responses, by the protocol's names."""

    def __init__(self, service: Service, calls: Calls, max_body: int) -> None:
        self._service = service
        self._calls = calls
        self._files = protos.files_of(packages.predict_pb2.DESCRIPTOR)
        self._more_files = protos.files_of(packages.prediction_log_pb2.DESCRIPTOR)
        self._max_body = max_body
        self.of_predictions: dict[str, Method] = {
            "Predict": partial(self._counted, self.predict),
            "Classify": partial(self._counted, self.classify),
            "Regress": partial(self._counted, self.regress),
            "GetModelMetadata": self.metadata,
            "MultiInference": partial(_unimplemented, "MultiInference"),
        }
        self.of_models: dict[str, Method] = {
            "GetModelStatus": self.status,
            "HandleReloadConfigRequest": partial(_unimplemented, "HandleReloadConfigRequest"),
        }

    async def _counted(
        self, method: Callable[[bytes, Call], Awaitable[bytes]], content: bytes, peer: str
    ) -> bytes:
        call = Call(method.__name__, "GRPC", peer, bytes_in=len(content))
        with self._calls.counted(call):
            response = await method(content, call)
            call.bytes_out = len(response)
        return response

    async def predict(self, content: bytes, call: Call) -> bytes:
        if len(content) <= LARGE:
            request = protos.decoded(packages.predict_pb2.PredictRequest, content)
            asked, inputs = protos.predict_request(request, self._max_body)
        else:
            # The other process has no TensorFlow, and gets descriptions of the messages.
            value = self._files, self._max_body
            asked, inputs = await self._service.worker.read("predict_message", value, [content])
        (name, version, signature_name), names, narrow = asked
        call.model = name

        async def read(servable: Servable) -> tuple[str, Arrays]:
            return signature_name, with_bfloat16(inputs, narrow) if narrow else inputs

        call.answer = answer = await self._service.predict(name, version, read)
        outputs = answer.outputs
        if unknown := set(names) - outputs.keys():
            raise invalid(
                f"output_filter: expected outputs of the signature, {sorted(outputs)}. Received: "
                f"{sorted(unknown)[:10]}"
            )
        if names:
            outputs = {each: outputs[each] for each in names}

        def write() -> Any:
            response = packages.predict_pb2.PredictResponse()
            for each, array in outputs.items():
                response.outputs[each].CopyFrom(tensor_of(array))
            return response

        return await self._response(answer, write)

    async def classify(self, content: bytes, call: Call) -> bytes:
        (name, version, _), read = await self._examples("Classification", content)
        call.model = name
        call.answer = answer = await self._service.classify(name, version, read)

        def write() -> Any:
            result = classification_result(**answer.outputs)
            return packages.classification_pb2.ClassificationResponse(result=result)

        return await self._response(answer, write)

    async def regress(self, content: bytes, call: Call) -> bytes:
        (name, version, _), read = await self._examples("Regression", content)
        call.model = name
        call.answer = answer = await self._service.regress(name, version, read)

        def write() -> Any:
            result = regression_result(**answer.outputs)
            return packages.regression_pb2.RegressionResponse(result=result)

        return await self._response(answer, write)

    async def _examples(self, kind: str, content: bytes) -> tuple[Any, Read]:
        """Returns the requested model, and a function that returns the examples."""
        if len(content) <= LARGE:
            module = getattr(packages, f"{kind.lower()}_pb2")
            request = protos.decoded(getattr(module, f"{kind}Request"), content)
            asked, inputs = protos.examples_request(request)
        else:
            value = self._more_files, f"{_PACKAGE}.{kind}Request"
            asked, inputs = await self._service.worker.read("examples_message", value, [content])

        async def read(servable: Servable) -> tuple[str, Arrays]:
            return asked[0][2], inputs

        return asked[0], read

    async def _response(self, answer: Answer, write: Callable[[], Any]) -> bytes:
        """Returns the response that `write` makes of the outputs, with the name and version of the model."""

        def written() -> bytes:
            response = write()
            spec = response.model_spec
            spec.name, spec.version.value = answer.servable.name, answer.servable.version
            spec.signature_name = answer.signature_name
            return bytes(response.SerializeToString())

        return await self._service.worker.run(num_bytes(answer.outputs), written)

    async def metadata(self, content: bytes, peer: str) -> bytes:
        _check_small(content)
        message_type = packages.get_model_metadata_pb2.GetModelMetadataRequest
        request = protos.decoded(message_type, content)
        if list(request.metadata_field) != [SIGNATURE_DEF]:
            raise invalid(
                f"Expected metadata_field: ['{SIGNATURE_DEF}']. Received: {list(request.metadata_field)[:10]}"
            )
        name, version, _ = protos.model_of(request.model_spec)
        return bytes(self._service.metadata(name, version).SerializeToString())

    async def status(self, content: bytes, peer: str) -> bytes:
        _check_small(content)
        message_type = packages.get_model_status_pb2.GetModelStatusRequest
        name, version, _ = protos.model_of(protos.decoded(message_type, content).model_spec)
        return bytes(self._service.status(name, version).SerializeToString())


async def _unimplemented(method: str, content: bytes, peer: str) -> bytes:
    message = f"tfkit serve does not answer {method}. TF Serving does."
    raise RequestError(Code.UNIMPLEMENTED, message)


def _check_small(content: bytes) -> None:
    if len(content) > LARGE:
        raise RequestError(
            Code.RESOURCE_EXHAUSTED,
            f"Expected a request of {LARGE:,} bytes at most. Received: {len(content):,}",
        )


def _handler(name: str, method: Method, read_timeout: float) -> Any:
    """Returns the method for gRPC, with a time limit for the arrival of a request, and errors as statuses.

    A request is taken as a stream with one message, which is the same on the wire: gRPC's own way would
    wait for the message for ever.
    """
    # gRPC names a status by an object, whose value begins with the code.
    statuses = {status.value[0]: status for status in packages.grpc.StatusCode}

    async def answer(requests: Any, context: Any) -> Any:
        try:
            async with asyncio.timeout(read_timeout):
                content = await anext(aiter(requests), None)
        except TimeoutError:
            text = f"The request did not come within {read_timeout:g} seconds."
            return await context.abort(statuses[Code.DEADLINE_EXCEEDED], text)
        try:
            if content is None:
                raise invalid("Expected a message. Received: none")
            return await method(content, context.peer())
        except RequestError as error:
            code, message = error.code, error.message
        except Exception:
            _log.exception("%s", name)
            code, message = Code.INTERNAL, "Internal error. The server's log says more."
        # A status is text, and UTF-8 cannot encode unpaired surrogates.
        return await context.abort(statuses[code], message.encode(errors="replace").decode())

    return packages.grpc.stream_unary_rpc_method_handler(answer)
