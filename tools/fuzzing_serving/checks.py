"""Checks answers over REST and over gRPC."""

import http.client
import json

import grpc

CODES = {
    "OK",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "RESOURCE_EXHAUSTED",
    "UNIMPLEMENTED",
    "OUT_OF_RANGE",
}
STATUSES = {200, 400, 404, 413, 501, 503}
SECONDS = 2.0
METHODS = (
    "Predict",
    "Predict",
    "Predict",
    "Classify",
    "Regress",
    "GetModelMetadata",
    "MultiInference",
)


def rest(port: int, path: str, body: bytes) -> str:
    """Returns the problem of the answer to a body; empty for a good one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", f"/v1/models/{path}", body)
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error!r}"
    finally:
        connection.close()
    if answer.status not in STATUSES:
        return f"status {answer.status}: {content[:200]!r}"
    try:
        found = json.loads(content)
    except ValueError:
        return f"no JSON: {content[:200]!r}"
    if (answer.status == 200) == ("error" in found):
        return f"status {answer.status} with {sorted(found)}"
    if answer.status != 200 and not 0 < len(found["error"]) <= 2_010:
        return f"an error of {len(found['error'])} letters"
    return ""


def over_grpc(channel, method: str, message: bytes) -> str:
    """Returns the problem of the answer to the bytes of a message; empty for a good one."""
    call = channel.unary_unary(f"/tensorflow.serving.PredictionService/{method}")
    try:
        call(message, timeout=30)
    except grpc.RpcError as error:
        if error.code().name not in CODES:
            return f"{error.code().name}: {error.details()[:200]}"
        if not error.details():
            return f"{error.code().name} without a reason"
    return ""
