"""TF Serving's gRPC interface: PredictionService and ModelService.

Reference: tensorflow_serving/apis/prediction_service.proto, model_service.proto
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from tfkit.serving import packages
from tfkit.serving.errors import Code, RequestError, invalid
from tfkit.serving.messages import (
    SIGNATURE_DEF,
    arrays_of,
    classification_result,
    examples_of,
    regression_result,
    tensor_of,
)
from tfkit.serving.offload import Arrays, num_bytes
from tfkit.serving.servable import Servable
from tfkit.serving.service import Answer, Read, Service

_log = logging.getLogger("tfkit.serving")
Method = Callable[[Any, Any], Awaitable[Any]]


def grpc_server(service: Service, max_body: int) -> Any:
    """The `grpc.aio` server, without a port.

    Args:
        service: what answers.
        max_body: bytes of the largest request that is read.
    """
    options = [
        ("grpc.max_receive_message_length", max_body),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),  # A port that is taken is an error.
    ]
    server = packages.grpc.aio.server(options=options)
    servicer = _Servicer(service, max_body)
    packages.prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(servicer, server)
    packages.model_service_pb2_grpc.add_ModelServiceServicer_to_server(servicer, server)
    return server


class _Servicer:
    """Both services; the methods have the protocol's names."""

    def __init__(self, service: Service, max_body: int) -> None:
        self._service = service
        self._max_body = max_body
        for name in ("Predict", "Classify", "Regress", "GetModelMetadata", "GetModelStatus"):
            setattr(self, name, _with_status(getattr(self, name)))
        self.MultiInference = self.HandleReloadConfigRequest = _with_status(_unimplemented)

    async def Predict(self, request: Any, context: Any) -> Any:
        async def read(servable: Servable) -> tuple[str, Arrays]:
            inputs = await self._service.worker.run(
                request.ByteSize(), lambda: arrays_of(request.inputs, self._max_body)
            )
            return request.model_spec.signature_name, inputs

        answer = await self._service.predict(*_asked(request.model_spec), read)
        outputs = answer.outputs
        names = list(request.output_filter) or list(outputs)
        if unknown := set(names) - outputs.keys():
            raise invalid(
                f"output_filter: expected outputs of the signature, {sorted(outputs)}. Received: "
                f"{sorted(unknown)}"
            )

        def write() -> Any:
            response = packages.predict_pb2.PredictResponse()
            for name in names:
                response.outputs[name].CopyFrom(tensor_of(outputs[name]))
            return response

        return await self._response(answer, write)

    async def Classify(self, request: Any, context: Any) -> Any:
        answer = await self._service.classify(*_asked(request.model_spec), self._examples(request))

        def write() -> Any:
            result = classification_result(**answer.outputs)
            return packages.classification_pb2.ClassificationResponse(result=result)

        return await self._response(answer, write)

    async def Regress(self, request: Any, context: Any) -> Any:
        answer = await self._service.regress(*_asked(request.model_spec), self._examples(request))

        def write() -> Any:
            result = regression_result(**answer.outputs)
            return packages.regression_pb2.RegressionResponse(result=result)

        return await self._response(answer, write)

    def _examples(self, request: Any) -> Read:
        async def read(servable: Servable) -> tuple[str, Arrays]:
            inputs = await self._service.worker.run(
                request.ByteSize(), lambda: examples_of(request.input)
            )
            return request.model_spec.signature_name, {"inputs": inputs}

        return read

    async def _response(self, answer: Answer, write: Callable[[], Any]) -> Any:
        """What `write` makes of the outputs, with who answered."""
        response = await self._service.worker.run(num_bytes(answer.outputs), write)
        spec = response.model_spec
        spec.name, spec.version.value = answer.servable.name, answer.servable.version
        spec.signature_name = answer.signature_name
        return response

    async def GetModelMetadata(self, request: Any, context: Any) -> Any:
        if list(request.metadata_field) != [SIGNATURE_DEF]:
            raise invalid(
                f"Expected metadata_field: ['{SIGNATURE_DEF}']. Received: {list(request.metadata_field)}"
            )
        return self._service.metadata(*_asked(request.model_spec))

    async def GetModelStatus(self, request: Any, context: Any) -> Any:
        return self._service.status(*_asked(request.model_spec))


async def _unimplemented(request: Any, context: Any) -> Any:
    message = f"tfkit serve does not answer {type(request).__name__}. TF Serving does."
    raise RequestError(Code.UNIMPLEMENTED, message)


def _asked(spec: Any) -> tuple[str, int | None]:
    """Name and version in a `ModelSpec`."""
    if spec.HasField("version_label"):
        raise invalid("tfkit serve has no version labels: name the version by its number.")
    return spec.name, spec.version.value if spec.HasField("version") else None


def _with_status(method: Method) -> Method:
    """The method, with errors as gRPC statuses."""

    async def answer(request: Any, context: Any) -> Any:
        try:
            return await method(request, context)
        except RequestError as error:
            code, message = error.code, error.message
        except Exception:
            _log.exception("%s", type(request).__name__)
            code, message = Code.INTERNAL, "Internal error. The server's log says more."
        statuses = {status.value[0]: status for status in packages.grpc.StatusCode}
        return await context.abort(statuses[code], message)

    return answer
