"""The server: REST and gRPC give what the model gives, and errors that say what is wrong."""

import asyncio
import base64
import http.client
import json
import socket

import grpc
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import json_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from tests.serving.conftest import LABELS, X
from tfkit.src.outer.serving.server import Options, running

EXAMPLES = {"examples": [{"x": row} for row in X.tolist()]}


@pytest.fixture(scope="module")
def channel(client):
    with grpc.insecure_channel(client.grpc_address) as channel:
        yield channel


@pytest.fixture(scope="module")
def prediction(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def predict_request(signature="", name="small", version=None, **inputs):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


# --- Answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["small:predict", "small/versions/3:predict"])
def test_rows_and_columns_over_rest(client, model, path):
    expected = model(X).numpy()
    status, answer = client(path, {"instances": X.tolist()})
    assert (status, list(answer)) == (200, ["predictions"])
    np.testing.assert_allclose(answer["predictions"], expected, rtol=1e-6)
    status, answer = client(path, {"signature_name": "serve", "inputs": {"x": X.tolist()}})
    assert (status, list(answer)) == (200, ["outputs"])
    np.testing.assert_allclose(answer["outputs"], expected, rtol=1e-6)


def test_an_answer_over_grpc(prediction, model):
    response = prediction.Predict(predict_request(x=X), timeout=30)
    (name,) = response.outputs
    np.testing.assert_allclose(tf.make_ndarray(response.outputs[name]), model(X), rtol=1e-6)
    spec = response.model_spec
    assert (spec.name, spec.version.value) == ("small", 3)
    assert spec.signature_name == "serving_default"


def test_no_rows_over_grpc(prediction):
    response = prediction.Predict(predict_request(x=X[:0]), timeout=30)
    assert tf.make_ndarray(next(iter(response.outputs.values()))).shape == (0, 2)


def test_strings_and_bytes(client, prediction):
    raw = {"b64": base64.b64encode(b"b\xff").decode()}
    body = {"signature_name": "spell", "instances": [{"words": "ab"}]}
    assert client("small:predict", body)[1] == {
        "predictions": [{"n": 2, "raw_bytes": {"b64": "YWI="}, "upper": "AB"}]
    }
    body = {"signature_name": "spell", "inputs": ["é", raw]}
    status, answer = client("small:predict", body)
    assert (status, "upper" in answer["error"], "UTF-8" in answer["error"]) == (400, True, True)

    request = predict_request("spell", words=[b"b\xff"])
    request.output_filter.append("raw_bytes")
    response = prediction.Predict(request, timeout=30)
    assert list(response.outputs) == ["raw_bytes"]
    assert tf.make_ndarray(response.outputs["raw_bytes"]).tolist() == [b"b\xff"]


def test_outputs_without_rows_come_in_columns(client):
    body = {"signature_name": "total", "inputs": [1, 2, 3]}
    assert client("small:predict", body) == (200, {"outputs": 6})
    body = {"signature_name": "total", "instances": [1, 2, 3]}
    status, answer = client("small:predict", body)
    assert status == 400
    assert "cannot be answered in rows" in answer["error"]


def test_classify_and_regress(client, prediction, model):
    scores = model(X).numpy()
    status, answer = client("small:classify", {"signature_name": "labels", **EXAMPLES})
    assert status == 200
    for row, expected in zip(answer["results"], scores, strict=True):
        assert [label for label, _ in row] == LABELS
        np.testing.assert_allclose([score for _, score in row], expected, rtol=1e-6)
    status, answer = client("small:regress", {"signature_name": "first", **EXAMPLES})
    assert status == 200
    np.testing.assert_allclose(answer["results"], scores[:, 0], rtol=1e-6)

    for kind, signature in (("Classification", "labels"), ("Regression", "first")):
        module = classification_pb2 if kind == "Classification" else regression_pb2
        request = getattr(module, f"{kind}Request")()
        request.model_spec.name, request.model_spec.signature_name = "small", signature
        shared = request.input.example_list_with_context  # One half of the feature each.
        for row in X:
            example = shared.examples.add()
            example.features.feature["x"].float_list.value.extend(row)
        method = prediction.Classify if kind == "Classification" else prediction.Regress
        response = method(request, timeout=30)
        assert response.model_spec.version.value == 3
        if kind == "Regression":
            values = [each.value for each in response.result.regressions]
            np.testing.assert_allclose(values, scores[:, 0], rtol=1e-6)
        else:
            classes = [list(each.classes) for each in response.result.classifications]
            assert [[each.label for each in row] for row in classes] == [LABELS, LABELS]
            found = [[each.score for each in row] for row in classes]
            np.testing.assert_allclose(found, scores, rtol=1e-6)


def test_status_is_the_real_message(client, channel):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "small"
    response = model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(request, timeout=30)
    for path in ("small", "small/versions/3"):
        status, answer = client(path)
        parsed = json_format.ParseDict(answer, get_model_status_pb2.GetModelStatusResponse())
        assert (status, parsed) == (200, response)
    ok = {"error_code": "OK", "error_message": ""}
    assert answer == {
        "model_version_status": [{"version": "3", "state": "AVAILABLE", "status": ok}]
    }


def test_metadata_is_the_real_message(client, prediction, base):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "small"
    response = prediction.GetModelMetadata(request, timeout=30)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    file = (base / "small" / "3" / "saved_model.pb").read_bytes()
    written = saved_model_pb2.SavedModel.FromString(file).meta_graphs[0].signature_def
    assert dict(signatures.signature_def) == dict(written)
    status, answer = client("small/versions/3/metadata")
    assert status == 200
    assert answer["model_spec"] == {"name": "small", "signature_name": "", "version": "3"}
    parsed = json_format.ParseDict(
        answer["metadata"]["signature_def"], get_model_metadata_pb2.SignatureDefMap()
    )
    assert parsed == signatures
    assert answer["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"] == {
        "x": {
            "dtype": "DT_FLOAT",
            "tensor_shape": {
                "dim": [{"size": "-1", "name": ""}, {"size": "3", "name": ""}],
                "unknown_rank": False,
            },
            "name": "serving_default_x:0",
        }
    }


def test_a_model_that_does_not_load_says_why_in_its_status(client):
    status, answer = client("broken")
    (version,) = answer["model_version_status"]
    assert (status, version["state"]) == (200, "END")
    assert version["status"]["error_code"] == "UNKNOWN"
    assert "saved_model.pb" in version["status"]["error_message"]


# --- Errors -----------------------------------------------------------------------------------------

ROW = {"instances": [[1, 2, 3]]}


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("none:predict", ROW, 404, "Servable not found for request: Latest(none)"),
        ("broken:predict", ROW, 404, "Servable not found for request: Latest(broken)"),
        (
            "small/versions/9:predict",
            ROW,
            404,
            "Servable not found for request: Specific(small, 9)",
        ),
        ("none", None, 404, "Could not find any versions of model none"),
        ("small/versions/9", None, 404, "Could not find version 9 of model small"),
        ("none/metadata", None, 404, "Servable not found"),
        ("small/versions/" + "9" * 30, None, 400, "Failed to convert version"),
        ("small/versions/x", None, 400, "Malformed request: GET /v1/models/small/versions/x"),
        ("small:predict", None, 400, "Malformed request: GET /v1/models/small:predict"),
        ("small", ROW, 400, "Malformed request: POST /v1/models/small"),
        ("small:explain", ROW, 400, "Malformed request"),
        ("small:predict", b"{", 400, "JSON Parse error"),
        ("small:predict", {"rows": []}, 400, "one of the keys 'instances'"),
        ("small:predict", {"instances": [[1, 2]]}, 400, "Input 'x' expects shape (None, 3)"),
        ("small:predict", {"inputs": 3}, 400, "Input 'x' expects shape (None, 3). Received: ()"),
        ("small:predict", {**ROW, "signature_name": "no"}, 400, '"no" not found in signature def'),
        ("small:classify", EXAMPLES, 400, 'Signature "serving_default" has the method name'),
        ("small:regress", {**EXAMPLES, "signature_name": "labels"}, 400, "method name"),
        ("small:classify", {"signature_name": "labels"}, 400, "list of objects as 'examples'"),
        (
            "small:classify",
            {"signature_name": "labels", "examples": [{"y": 1.0}]},
            400,
            "Feature: x (data type: float) is required",
        ),
        (
            "small:predict",
            {"signature_name": "positive", "inputs": [0]},
            400,
            "assertion failed",
        ),
    ],
)
def test_errors_over_rest(client, path, body, status, message):
    found, answer = client(path, body)
    assert list(answer) == ["error"]
    assert message in answer["error"]
    assert found == status
    assert "Traceback" not in answer["error"]


def wrong_tensor(request):
    request.inputs["x"].tensor_content = b"123"


def huge_tensor(request):
    request.inputs["x"].tensor_shape.dim[0].size = 2**40
    del request.inputs["x"].float_val[1:]
    request.inputs["x"].tensor_content = b""


def unknown_type(request):
    request.inputs["x"].dtype = 999


def label(request):
    request.model_spec.version_label = "stable"


def filtered(request):
    request.output_filter.append("z")


@pytest.mark.parametrize(
    ("request_or_change", "code", "message"),
    [
        (predict_request(name="none", x=X), "NOT_FOUND", "Servable not found"),
        (predict_request(version=9, x=X), "NOT_FOUND", r"Specific\(small, 9\)"),
        (predict_request("no", x=X), "INVALID_ARGUMENT", "not found in signature def"),
        (predict_request(y=X), "INVALID_ARGUMENT", r"takes the inputs \['x'\]"),
        (predict_request(x=X[:, :2]), "INVALID_ARGUMENT", "expects shape"),
        (predict_request(x=X.astype("float64")), "INVALID_ARGUMENT", "expects dtype float32"),
        (predict_request("positive", numbers=[0]), "INVALID_ARGUMENT", "assertion failed"),
        (wrong_tensor, "INVALID_ARGUMENT", "'x' is not a tensor"),
        (huge_tensor, "INVALID_ARGUMENT", "'x' is not a tensor: an array of .* is larger than"),
        (unknown_type, "INVALID_ARGUMENT", "'x' is not a tensor"),
        (label, "INVALID_ARGUMENT", "no version labels"),
        (filtered, "INVALID_ARGUMENT", "output_filter: expected outputs .*Received: .'z'"),
    ],
)
def test_errors_over_grpc(prediction, request_or_change, code, message):
    request = request_or_change
    if callable(request_or_change):
        request = predict_request(x=X)
        request_or_change(request)
    with pytest.raises(grpc.RpcError, match=message) as raised:
        prediction.Predict(request, timeout=30)
    assert raised.value.code().name == code
    assert "Traceback" not in raised.value.details()


def test_what_only_tf_serving_answers(prediction, channel):
    with pytest.raises(grpc.RpcError, match="does not answer MultiInference") as raised:
        prediction.MultiInference(inference_pb2.MultiInferenceRequest(), timeout=30)
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["x"])
    with pytest.raises(grpc.RpcError, match=r"Expected metadata_field: .*Received: .'x'"):
        prediction.GetModelMetadata(request, timeout=30)


def test_other_paths_are_malformed_too(client):
    connection = http.client.HTTPConnection("127.0.0.1", client.port)
    for method, path in (("GET", "/"), ("DELETE", "/v1/models/small"), ("GET", "/v1/models/a%2Fb")):
        connection.request(method, path)
        answer = connection.getresponse()
        assert answer.status == 400
        assert b"Malformed request" in answer.read()
    connection.close()


def test_clients_that_are_connected_when_the_server_ends_are_answered(base):
    body = json.dumps({"instances": X.tolist()}).encode()
    head = (
        f"POST /v1/models/small:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    async def serve():
        async with running(Options(base, port=0, grpc_port=0)) as server:
            # Without an `await`: the system connects them, and the server has accepted none.
            clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
            for client in clients:
                client.sendall(head.encode() + body)
            return clients

    for client in asyncio.run(serve()):
        with client:
            client.settimeout(10)
            assert client.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_body_that_is_arriving_when_the_server_ends_is_read_to_its_end(base):
    body = json.dumps({"instances": X.tolist()}).encode()
    head = (
        f"POST /v1/models/small:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    async def serve():
        async with running(Options(base, port=0, grpc_port=0, read_timeout=10.0)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head.encode() + body[:5])
            await writer.drain()
            await asyncio.sleep(0.1)
            rest = asyncio.get_running_loop().call_later(0.5, writer.write, body[5:])
        assert rest.when() < asyncio.get_running_loop().time()
        answer = await reader.read(1000)
        writer.close()
        return answer

    assert asyncio.run(serve()).startswith(b"HTTP/1.1 200")
