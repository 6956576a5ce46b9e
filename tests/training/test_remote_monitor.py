import http.server
import json
import threading
import urllib.parse

import numpy as np
import pytest

import tfkit


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
