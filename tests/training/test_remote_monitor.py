import http.server
import json
import socket
import threading
import urllib.parse

import numpy as np
import pytest

import tfkit
from tfkit.src.training.callbacks import remote_monitor


@pytest.fixture
def server():
    """Keeps the bodies of what it gets."""
    received = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            received.append((self.path, dict(self.headers), body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", received
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("as_json", [False, True])
def test_results_are_sent(server, as_json):
    root, received = server
    monitor = tfkit.callbacks.RemoteMonitor(
        root, "/here", field="f", headers={"X-Key": "k"}, send_as_json=as_json
    )
    monitor.on_epoch_end(2, {"loss": np.float32(0.5), "all": np.arange(2)})
    ((path, headers, body),) = received
    assert (path, headers["X-Key"]) == ("/here", "k")
    content = body if as_json else urllib.parse.parse_qs(body)["f"][0]
    assert json.loads(content) == {"epoch": 2, "loss": 0.5, "all": [0, 1]}
    assert headers["Content-Type"].endswith("json" if as_json else "urlencoded")


def test_training_goes_on_without_a_server():
    monitor = tfkit.callbacks.RemoteMonitor("http://127.0.0.1:1")
    with pytest.warns(UserWarning, match=r"epoch 1 did not reach http://127.0.0.1:1"):
        monitor.on_epoch_end(0, {"loss": 1.0})
    with pytest.raises(ValueError, match="`root` must be"):
        tfkit.callbacks.RemoteMonitor("file:///etc")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"\x1b[2J" + b"a" * 9_000 + b"\r\n\r\n", "a{100}"),
        (b"", "closed connection"),
        (b"HTTP/1.1 500 \x1b[2J\r\n\r\n", "500"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 300 + b"\r\n", "headers"),
        (b"HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "302"),
        (b"HTTP/1.1 302 F\r\nLocation: file:///etc/passwd\r\n\r\n", "302"),
        (None, "not answered within"),
    ],
)
def test_answers_that_attack(answer, problem, monkeypatch):
    monkeypatch.setattr(remote_monitor, "_TIMEOUT", 0.5 if answer is None else 30)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def serve():
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as request:
                # To its end: the system resets a connection that is closed with bytes unread.
                head = list(iter(request.readline, b"\r\n"))
                (size,) = [
                    int(line[15:]) for line in head if line.lower().startswith(b"content-length:")
                ]
                request.read(size)
                if answer is not None:
                    connection.sendall(answer)
                while answer is None and not ended.wait(
                    0.1
                ):  # Before it times out, always one more.
                    connection.sendall(b"H")

        thread = threading.Thread(target=serve)
        thread.start()
        monitor = tfkit.callbacks.RemoteMonitor(f"http://127.0.0.1:{listening.getsockname()[1]}")
        with pytest.warns(UserWarning, match=problem) as warned:
            monitor.on_epoch_end(0, {"loss": 1.0})
        if answer is None:
            with pytest.warns(UserWarning, match="earlier request"):
                monitor.on_epoch_end(1, {"loss": 1.0})
        ended.set()
        thread.join()
        monitor._sending.join()
    for warning in warned:
        assert len(str(warning.message)) < 400
        assert str(warning.message).isprintable()
