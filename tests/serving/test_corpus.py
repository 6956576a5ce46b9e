"""Requests found by hand or by `tools/fuzz_serving`: each gets an answer that is no internal error."""

import http.client
import json
import random
from itertools import islice
from pathlib import Path

import grpc
import pytest

CORPUS = sorted(Path(__file__).with_name("corpus").iterdir())
CODES = {
    "OK",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OUT_OF_RANGE",
    "RESOURCE_EXHAUSTED",
    "UNIMPLEMENTED",
}


@pytest.mark.parametrize("method", ["predict", "classify", "regress"])
def test_bodies_over_rest(client, method):
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    for path in CORPUS:
        if path.suffix == ".json":
            connection.request("POST", f"/v1/models/small:{method}", path.read_bytes())
            answer = connection.getresponse()
            found = json.loads(answer.read())
            assert answer.status in (200, 400, 404, 501), (path.name, answer.status, found)
            assert ("error" in found) == (answer.status != 200), path.name
    connection.close()


def outcome(call, message):
    try:
        call(message, timeout=30)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return "OK", ""


@pytest.mark.parametrize("method", ["Predict", "Classify", "Regress", "GetModelMetadata"])
def test_messages_over_grpc(client, method):
    with grpc.insecure_channel(client.grpc_address) as channel:
        call = channel.unary_unary(f"/tensorflow.serving.PredictionService/{method}")
        for path in CORPUS:
            if path.suffix == ".message":
                code, details = outcome(call, path.read_bytes())
                assert code in CODES, (path.name, code, details)
                assert bool(details) == (code != "OK"), path.name


def test_the_good_ones_are_good(client):
    for name, keys in (("rows", "predictions"), ("columns", "outputs"), ("total", "outputs")):
        body = Path(__file__).with_name("corpus") / f"{name}.json"
        status, answer = client("small:predict", body.read_bytes())
        assert (status, list(answer)) == (200, [keys])


def test_a_few_requests_of_the_fuzzer(client, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "tools"))
    from fuzzing_serving import checks
    from fuzzing_serving.__main__ import requests

    kinds = set()
    with grpc.insecure_channel(client.grpc_address) as channel:
        for kind, where, content in islice(requests(random.Random(0)), 200):
            kinds.add(kind)
            if kind == "rest":
                wrong = checks.rest(client.port, where, content)
            else:
                wrong = checks.over_grpc(channel, where, content)
            assert not wrong, (where, content)
    assert kinds == {"rest", "grpc"}
