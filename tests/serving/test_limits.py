"""What one client may cost the others: large bodies, requests that never end, and a reader that dies."""

import asyncio
import http.client
import itertools
import json
import os
import signal
import socket
import struct
import threading
import time

import grpc
import numpy as np
import pytest

from tests.serving.conftest import X, serving
from tfkit.src.outer.serving import offload
from tfkit.src.outer.serving.bodies import jobs
from tfkit.src.outer.serving.bodies.errors import MAX_STRINGS, Code, RequestError

ROWS = {"instances": X.tolist()}
DTYPES = {"": {"x": "float32"}, "s": {"x": "string"}}


@pytest.fixture
def worker():
    worker = offload.Worker(2**20)
    yield worker
    asyncio.run(worker.close())


def read(worker, body, job="predict_inputs", value=DTYPES):
    return asyncio.run(worker.read(job, value, [body]))


def test_the_reader_gives_what_is_read_here(worker):
    rows = [[1.5, 2.5]] * 20_000
    strings = [["a", "é"], ["", {"b64": "/w=="}]] * 10_000
    for request in ({"instances": rows}, {"signature_name": "s", "inputs": strings}):
        body = json.dumps(request).encode()
        assert len(body) > offload.LARGE
        (name, found) = read(worker, body)
        (expected_name, expected) = jobs.JOBS["predict_inputs"](DTYPES, jobs.body_of(body))
        assert name == expected_name
        assert found["x"].dtype == expected["x"].dtype
        np.testing.assert_array_equal(found["x"], expected["x"])
    outputs = {"y": np.array(rows, "float32"), "n": np.array([b"a"] * 20_000, object)}
    text = asyncio.run(worker.write("predict_answer", True, outputs))
    assert json.loads(text.tobytes())["predictions"][3] == {"y": [1.5, 2.5], "n": "a"}


def test_errors_come_back_from_the_reader(worker):
    blank = b" " * offload.LARGE
    for body, message in (
        (b"{" + blank, "JSON Parse error"),
        (b"[]" + blank, "Received: an empty list"),
    ):
        with pytest.raises(RequestError, match=message) as raised:
            read(worker, body)
        assert raised.value.code is Code.INVALID_ARGUMENT
    many = json.dumps({"signature_name": "s", "inputs": [""] * (MAX_STRINGS + 1)}).encode()
    with pytest.raises(RequestError, match=r"1,048,576 strings at most\. Received: 1,048,577"):
        read(worker, many)
    assert read(worker, b'{"signature_name": "none", "inputs": 1}' + blank) == (("none", False), {})


def test_a_reader_that_takes_too_much_or_dies_is_no_end(monkeypatch):
    monkeypatch.setattr(offload, "_MEMORY", 2**28)
    monkeypatch.setattr(offload, "_MEMORY_PER_BYTE", 0)
    worker = offload.Worker()
    lists = b'{"inputs": [' + b"[]," * 2_000_000 + b"[]]}"
    with pytest.raises(RequestError, match="more memory than a request may") as raised:
        read(worker, lists)
    assert raised.value.code is Code.RESOURCE_EXHAUSTED
    good = json.dumps({"instances": [[1.5]] * 20_000}).encode()
    assert read(worker, good)[1]["x"].shape == (20_000, 1)
    os.kill(worker._reader._process.pid, signal.SIGKILL)
    with pytest.raises(RequestError, match=r"has ended\. It is started again"):
        read(worker, good)
    assert read(worker, good)[1]["x"].shape == (20_000, 1)
    os.kill(worker._reader._process.pid, signal.SIGSTOP)
    worker._reader._connection.settimeout(0.1)
    with pytest.raises(RequestError, match="took longer than"):
        read(worker, good)
    assert read(worker, good)[1]["x"].shape == (20_000, 1)
    process = worker._reader._process
    asyncio.run(worker.close())
    assert process.returncode == 0  # It has ended by itself.


def test_others_are_answered_while_a_large_body_is_read(client):
    """Of 6 MB: read under Python's lock it would take seconds here, and they would wait."""
    body = b'{"inputs": [' + b",".join([b"[" * 20 + b"]" * 20] * 150_000) + b"]}"
    ended = threading.Event()
    answers = []

    def large():
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        connection.request("POST", "/v1/models/small:predict", body)
        answers.append(connection.getresponse().status)
        connection.close()
        ended.set()

    thread = threading.Thread(target=large)
    thread.start()
    times = []
    while not ended.is_set():
        start = time.perf_counter()
        assert client("small:predict", ROWS)[0] == 200
        times.append(time.perf_counter() - start)
    thread.join()
    assert answers == [400]
    assert len(times) > 10
    assert np.median(times) < 0.1  # The longest is what other work on the machine makes of it.


# --- Requests that never end --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def impatient(base):
    with serving(base, read_timeout=0.5) as client:
        yield client


HEAD = b"POST /v1/models/small:predict HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize(
    ("sent", "drip", "expected"),
    [
        (b"", b"", b""),
        (HEAD, b"", b""),
        (HEAD, b"A: b\r\n", b""),
        (b"GET /v1/models/small HTTP/1.1\r\nHost: a\r\n\r\n" + HEAD, b"", b"HTTP/1.1 200"),
        (HEAD + b"Content-Length: 100\r\n\r\n{", b"", b"HTTP/1.1 408"),
        (HEAD + b"Content-Length: 100\r\n\r\n{", b" ", b"HTTP/1.1 408"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"1\r\n \r\n", b"HTTP/1.1 408"),
    ],
    ids=["nothing", "head", "head bit by bit", "second head", "body", "body bit by bit", "chunks"],
)
def test_half_a_request_is_not_waited_for(impatient, sent, drip, expected):
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=10) as connection:
        start = time.monotonic()
        connection.sendall(sent)
        if drip:
            connection.settimeout(0.05)
        received = b""
        for _ in itertools.count():
            try:
                part = connection.recv(1000)
            except TimeoutError:
                connection.sendall(drip)
                continue
            except ConnectionError:
                break
            if not part:
                break
            received += part
        assert time.monotonic() - start < 8
    assert received.startswith(expected)
    assert bool(received) == bool(expected)


def test_a_call_without_a_message_is_not_waited_for(impatient):
    with grpc.insecure_channel(impatient.grpc_address) as channel:
        call = channel.stream_unary("/tensorflow.serving.PredictionService/Predict")
        ended = threading.Event()

        def nothing():
            ended.wait(20)
            yield from ()

        with pytest.raises(grpc.RpcError, match=r"did not come within 0\.5 seconds") as raised:
            call(nothing(), timeout=20)
        assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        ended.set()
        with pytest.raises(grpc.RpcError, match=r"Expected a message\. Received: none"):
            call(iter(()), timeout=20)
        with pytest.raises(grpc.RpcError, match="Expected a PredictRequest: ") as raised:
            call(iter([b"\xff"]), timeout=20)
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def frame(kind, flags, stream, content=b""):
    """A frame of HTTP/2 (RFC 9113, 4.1)."""
    head = struct.pack(">IBBI", len(content), kind, flags, stream)
    return head[1:] + content


def grpc_call(stream, content):
    """The frames of a call of `Predict` whose only DATA frame has this content, and no end."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/tensorflow.serving.PredictionService/Predict",
        ":authority": "a",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    head = b""
    for name, value in fields.items():  # Literals that are not indexed (RFC 7541, 6.2.2).
        head += bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return frame(1, 4, stream, head) + frame(0, 0, stream, content)


def test_half_a_message_is_not_waited_for(impatient):
    """The client stops inside the message, and keeps its connection: once, and in many calls at a time."""
    message = b"\0" + struct.pack(">I", 1_000) + b"\x0a\x07"
    streams = range(1, 200, 2)
    with socket.create_connection(("127.0.0.1", impatient.grpc_port), timeout=10) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
        connection.sendall(frame(4, 1, 0))
        connection.sendall(b"".join(grpc_call(stream, message) for stream in streams))
        status, _ = impatient("small:predict", ROWS)
        assert status == 200
        start, ended, received = time.monotonic(), set(), b""
        while len(ended) < len(streams):
            assert time.monotonic() - start < 8
            while len(received) < 9 or len(received) < 9 + int.from_bytes(received[:3]):
                part = connection.recv(1 << 16)
                assert part, "the server has closed the connection"
                received += part
            size, kind, flags = int.from_bytes(received[:3]), received[3], received[4]
            if kind == 1 and flags & 1:  # The last header fields of a call: its status.
                ended.add(int.from_bytes(received[5:9]))
            received = received[9 + size :]
        assert ended == set(streams)
        status, _ = impatient("small:predict", ROWS)
        assert status == 200


def test_messages_of_errors_have_an_end(client):
    body = {"instances": [{"x" * 100_000: 1}], "inputs": {str(i): 1 for i in range(10_000)}}
    for request in ({"instances": body["instances"]}, body, {"inputs": "x" * 100_000}):
        status, answer = client("small:predict", request)
        assert status == 400
        assert len(answer["error"]) < 2_100
