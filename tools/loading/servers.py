"""The tested servers, each in a separate process, and the model that they serve."""

import contextlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FEATURES = 64
EXPORT = f"""
import sys
import tfkit
model = tfkit.Sequential([tfkit.Input(({FEATURES},), name="x")])
for units in (int(sys.argv[2]), int(sys.argv[2]), 10):
    model.add(tfkit.layers.Dense(units, activation="relu"))
model.export(sys.argv[1], verbose=False)
"""


def export(base, units):
    """Writes the model `load`."""
    (base / "load").mkdir(parents=True)
    command = [sys.executable, "-c", EXPORT, str(base / "load" / "1"), str(units)]
    subprocess.run(command, check=True, cwd=ROOT)


@contextlib.contextmanager
def _process(command):
    """Context manager for a process: its id, and the ports that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            ports = re.findall(r":(\d+)", process.stdout.readline())
            if not ports:
                raise RuntimeError(f"The server has not started: {command}")
            yield process.pid, *map(int, ports)
        finally:
            process.terminate()


def tfkit_server(base, options=()):
    """Returns `tfkit serve`: its process, and the ports of REST and gRPC."""
    command = [sys.executable, "-m", "tfkit", "serve", str(base), "--port", "0", "--grpc-port", "0"]
    return _process([*command, *options])


def bare_server(base):
    """Returns aiohttp around `tf.saved_model.load`: its process and its port."""
    return _process([sys.executable, "-m", "loading.bare", str(base / "load" / "1")])
