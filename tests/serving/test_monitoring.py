"""What an operator looks at: metrics, health, and the request log."""

import json
import logging
import re
import urllib.error
import urllib.request

import grpc
import pytest
from tensorflow_serving.apis import predict_pb2

from tests.serving.conftest import X, serving
from tfkit.src.outer.serving.metrics import Counter, Histogram

ROWS = {"instances": X.tolist()}


def get(client, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{client.port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def logged(base, caplog):
    """A server of its own, so that its numbers are those of the test."""
    caplog.set_level(logging.INFO, "tfkit.serving.requests")
    with serving(base, log_requests=True) as client:
        yield client, caplog


def ask_over_grpc(client, name, **spec):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    with grpc.insecure_channel(client.grpc_address) as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        with pytest.raises(grpc.RpcError):
            call(request.SerializeToString(), timeout=30)


def test_metrics_have_the_names_of_tf_serving(logged):
    client, _ = logged
    assert client("small:predict", ROWS)[0] == 200
    assert client("small:predict", {"instances": [[1]]})[0] == 400
    for name in ("none", 'no"ne'):
        ask_over_grpc(client, name)
    status, text = get(client, "/monitoring/prometheus/metrics")
    assert status == 200
    lines = text.splitlines()
    serving_name = ":tensorflow:serving"
    for line in (
        f'{serving_name}:request_count{{model_name="small",status="OK"}} 1',
        f'{serving_name}:request_count{{model_name="small",status="INVALID_ARGUMENT"}} 1',
        # Names that anybody may make up are one.
        f'{serving_name}:request_count{{model_name="",status="NOT_FOUND"}} 2',
        f'{serving_name}:request_latency_count{{model_name="small",API="predict",entrypoint="REST"}} 2',
        f'{serving_name}:request_latency_count{{model_name="",API="predict",entrypoint="GRPC"}} 2',
        f'{serving_name}:runtime_latency_count{{model_name="small",API="Predict",runtime="TF1"}} 1',
        f'{serving_name}:request_example_count_total{{model="small"}} 2',
        f'{serving_name}:request_example_counts_bucket{{model="small",le="2"}} 1',
        f"# TYPE {serving_name}:request_latency histogram",
    ):
        assert line in lines
    assert any(line.startswith(":tensorflow:core:graph_runs{} ") for line in lines)
    assert any('small/3",status="success"} 1' in line for line in lines)
    form = re.compile(r'[a-zA-Z_:]+(\{([a-zA-Z_]+="([^"\\]|\\.)*",?)*\})? [0-9.e+]+')
    assert all(line.startswith("# ") or form.fullmatch(line) for line in lines)


def test_buckets_count_what_is_at_most_their_limit():
    histogram = Histogram("/a/b", "help", ("l",), 10, 1.8, 3)
    for value in (1, 10, 11, 18, 1e9):
        histogram.add('x"\n\\', value=value)
    label = r'l="x\"\n\\"'
    assert histogram.lines() == [
        f':a:b_bucket{{{label},le="10"}} 2',
        f':a:b_bucket{{{label},le="18"}} 4',
        f':a:b_bucket{{{label},le="32.4"}} 4',
        f':a:b_bucket{{{label},le="+Inf"}} 5',
        f":a:b_sum{{{label}}} 1.00000004e+09",
        f":a:b_count{{{label}}} 5",
    ]
    counter = Counter("/c", "help")
    counter.add(by=2)
    assert counter.lines() == [":c{} 2"]


def test_the_log_has_a_line_for_each_request_and_no_value(logged):
    client, caplog = logged
    assert client("small:predict", {"instances": [[12345.5, 2, 3]]})[0] == 200
    assert client("no\x1b[31m:predict".replace("\x1b", "%1b"), {"instances": [[12345.5]]})[0] == 404
    ask_over_grpc(client, "none\n")
    lines = [each.getMessage() for each in caplog.records if each.name == "tfkit.serving.requests"]
    assert not any("12345" in line or "\n" in line or "\x1b" in line for line in lines)
    good, bad, third = map(json.loads, lines)
    times = [each.pop("ms") for each in (good, bad, third)]
    assert all(ms > 0 for ms in times)
    sizes = good.pop("bytes_in"), good.pop("bytes_out")
    assert sizes[0] == len(json.dumps({"instances": [[12345.5, 2, 3]]}))
    assert sizes[1] > 20
    assert re.fullmatch(r"20..-..-..T..:..:..\.\d{3}\+00:00", good.pop("time"))
    assert good == {
        "peer": "127.0.0.1",
        "entrypoint": "REST",
        "api": "predict",
        "model": "small",
        "version": 3,
        "signature": "serving_default",
        "status": "OK",
        "examples": 1,
    }
    assert (bad["model"], bad["status"], bad["version"]) == ("no\x1b[31m", "NOT_FOUND", None)
    assert (third["entrypoint"], third["model"]) == ("GRPC", "none\n")


def test_nothing_is_logged_unless_asked(client, caplog):
    caplog.set_level(logging.INFO)
    client("small:predict", ROWS)
    assert not [each for each in caplog.records if each.name == "tfkit.serving.requests"]


@pytest.mark.parametrize(
    ("path", "status", "answer"),
    [
        ("/v2/health/live", 200, {"live": True}),
        ("/v2/health/ready", 200, {"ready": True}),
        ("/v2/models/small/ready", 200, {"ready": True}),
        ("/v2/models/small/versions/3/ready", 200, {"ready": True}),
        ("/v2/models/small/versions/4/ready", 503, {"ready": False}),
        ("/v2/models/broken/ready", 503, {"ready": False}),
        ("/v2/models/none/ready", 503, {"ready": False}),
    ],
)
def test_health_over_rest(client, path, status, answer):
    found, content = get(client, path)
    assert (found, json.loads(content)) == (status, answer)


def test_a_server_without_models_is_alive_and_not_ready(tmp_path):
    with serving(tmp_path) as client:
        assert get(client, "/v2/health/live")[0] == 200
        assert get(client, "/v2/health/ready")[0] == 503
        with grpc.insecure_channel(client.grpc_address) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert check(b"", timeout=30) == b"\x08\x02"


def test_health_over_grpc(client):
    def request(service):
        return b"\x0a" + bytes([len(service)]) + service.encode()

    with grpc.insecure_channel(client.grpc_address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        for service, status in (
            ("", 1),
            ("small", 1),
            ("broken", 2),
            ("tensorflow.serving.PredictionService", 1),
        ):
            assert check(request(service), timeout=30) == bytes([8, status])
        with pytest.raises(grpc.RpcError) as raised:
            check(request("none"), timeout=30)
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        for service, status in (("small", 1), ("none", 3)):
            responses = watch(request(service), timeout=30)
            assert next(responses) == bytes([8, status])
            responses.cancel()
