"""Measures the longest answer of a small request while one client sends a large one."""

import json
import random
import subprocess
import sys
import time

from loading.clients import Client, request_of
from loading.servers import FEATURES, tfkit_server

PATH = "/v1/models/load:predict"
SENDER = """
import http.client, sys
from loading.stalls import BODIES
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=120)
connection.request("POST", "/v1/models/load:predict", BODIES[sys.argv[2]](int(sys.argv[3])))
print(connection.getresponse().status)
"""


def _repeated(item, size):
    return b'{"inputs": [' + b",".join([item] * (size // (len(item) + 1))) + b"]}"


ROW = b"[" + b",".join([b"0.12345678"] * FEATURES) + b"]"
BODIES = {
    "rows": lambda size: _repeated(ROW, size),
    "numbers": lambda size: _repeated(b"1", size),
    "lists": lambda size: _repeated(b"[]", size),
    "objects": lambda size: _repeated(b'{"x":1}', size),
    "strings": lambda size: _repeated(b'""', size),
    "nested lists": lambda size: _repeated(b"[" * 50 + b"]" * 50, size),
}


def _answer(client):
    client.ask()
    while client.receive() is None:
        pass


def run(base, options):
    """Prints the longest answer of a small request next to each kind of large body, and without one."""
    row = [round(random.random(), 6) for _ in range(FEATURES)]
    small = request_of(PATH, json.dumps({"instances": [row]}).encode())
    size = int(options.megabytes * 10**6)
    with tfkit_server(base, options.options) as (_, port, _):
        client = Client(port, small)
        for _ in range(100):
            _answer(client)
        for name in ("none", *BODIES):
            command = [sys.executable, "-c", SENDER, str(port), name, str(size)]
            if name == "none":
                command = [sys.executable, "-c", "import time; time.sleep(3); print('-')"]
            client.times.clear()
            start = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
                while sender.poll() is None:
                    _answer(client)
                    time.sleep(0.002)
                status = sender.stdout.read().strip()
            times = sorted(client.times)
            print(
                f"{name:13} {options.megabytes:g} MB: status {status} after "
                f"{time.perf_counter() - start:4.1f} s; "
                f"{len(times):,} small requests beside it, ms: p50 {times[len(times) // 2] * 1e3:.1f}  "
                f"longest {times[-1] * 1e3:.0f}"
            )
    return True
