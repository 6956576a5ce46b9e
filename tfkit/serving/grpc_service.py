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
from tfkit.serving.offload import num_bytes
from tfkit.serving.servable import DEFAULT, Servable
from tfkit.serving.service import Service

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
        servable, outputs = await self._service.predict(
            *_asked(request.model_spec),
            lambda _: arrays_of(request.inputs, self._max_body),
            request.ByteSize(),
        )
        names = list(request.output_filter) or list(outputs)
        if unknown := set(names) - outputs.keys():
            raise invalid(
                f"output_filter: expected outputs of the signature, {sorted(outputs)}. Received: "
                f"{sorted(unknown)}"
            )
        response = packages.predict_pb2.PredictResponse()
        _answered_by(response.model_spec, servable, request)

        def write() -> None:
            for name in names:
                response.outputs[name].CopyFrom(tensor_of(outputs[name]))

        await self._service.worker.run(num_bytes(outputs), write)
        return response

    async def Classify(self, request: Any, context: Any) -> Any:
        examples = examples_of(request.input)
        servable, rows = await self._service.classify(*_asked(request.model_spec), examples)
        response = packages.classification_pb2.ClassificationResponse(
            result=classification_result(rows)
        )
        _answered_by(response.model_spec, servable, request)
        return response

    async def Regress(self, request: Any, context: Any) -> Any:
        examples = examples_of(request.input)
        servable, values = await self._service.regress(*_asked(request.model_spec), examples)
        response = packages.regression_pb2.RegressionResponse(result=regression_result(values))
        _answered_by(response.model_spec, servable, request)
        return response

    async def GetModelMetadata(self, request: Any, context: Any) -> Any:
        if list(request.metadata_field) != [SIGNATURE_DEF]:
            raise invalid(
                f"Expected metadata_field: ['{SIGNATURE_DEF}']. Received: {list(request.metadata_field)}"
            )
        return self._service.metadata(*_asked(request.model_spec)[:2])

    async def GetModelStatus(self, request: Any, context: Any) -> Any:
        return self._service.status(*_asked(request.model_spec)[:2])


async def _unimplemented(request: Any, context: Any) -> Any:
    message = f"tfkit serve does not answer {type(request).__name__}. TF Serving does."
    raise RequestError(Code.UNIMPLEMENTED, message)


def _asked(spec: Any) -> tuple[str, int | None, str]:
    """Name, version and signature in a `ModelSpec`."""
    if spec.HasField("version_label"):
        raise invalid("tfkit serve has no version labels: name the version by its number.")
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.signature_name


def _answered_by(spec: Any, servable: Servable, request: Any) -> None:
    """Says in the `ModelSpec` of a response who answered."""
    spec.name = servable.name
    spec.version.value = servable.version
    spec.signature_name = request.model_spec.signature_name or DEFAULT


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
