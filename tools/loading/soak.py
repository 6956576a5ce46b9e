"""Runs a minute of clients over REST and gRPC: checks errors and growth, and measures latencies.

Half of the clients use REST, half gRPC, one row each time, one request after the other. They
share the machine with the server, so the times are those of both. At the end the C client says what
one run of the model takes without any server.
"""

import contextlib
import http.client
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
import numpy as np
import psutil
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from loading.servers import FEATURES, tfkit_server

ROOT = Path(__file__).resolve().parents[2]
ALLOWED_GROWTH = 0.05  # of the memory after the first third


@contextlib.contextmanager
def rest(port, row):
    """Context manager for a function that sends a request over REST, on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"instances": [row.tolist()]})

    def ask():
        connection.request("POST", "/v1/models/load:predict", body)
        answer = connection.getresponse()
        content = json.load(answer)
        if answer.status != 200:
            raise RuntimeError(content)
        return content["predictions"][0]

    with contextlib.closing(connection):
        yield ask


@contextlib.contextmanager
def over_grpc(port, row):
    """Context manager for a function that sends a request over gRPC, on one connection."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "load"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(row[None]))

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

        def ask():
            response = stub.Predict(request, timeout=60)
            return tf.make_ndarray(next(iter(response.outputs.values())))[0]

        yield ask


def client(connection, ended, times, errors):
    """Sends requests until the end; each answer must equal the first one."""
    try:
        with connection as ask:
            first = np.array(ask())
            while not ended.is_set():
                start = time.perf_counter()
                answer = ask()
                times.append(time.perf_counter() - start)
                np.testing.assert_allclose(answer, first, rtol=1e-4, atol=1e-5)
    except Exception as error:
        errors.append(error)


def percentiles(times):
    found = np.percentile(times, [50, 90, 99, 100]) * 1e3
    return "  ".join(f"p{p} {ms:.2f}" for p, ms in zip((50, 90, 99, 100), found, strict=True))


def load(base, options):
    """Prints latencies and memory. Returns whether all is well."""
    rng = np.random.default_rng(0)
    ended, errors = threading.Event(), []
    with tfkit_server(base, options.options) as (pid, port, grpc_port):
        kinds = {"REST": (rest, port), "gRPC": (over_grpc, grpc_port)}
        times = {name: [] for name in kinds}
        threads = []
        for index in range(options.clients):
            name = list(kinds)[index % 2]
            make, at = kinds[name]
            ask = make(at, rng.normal(size=FEATURES).astype("float32"))
            threads.append(threading.Thread(target=client, args=(ask, ended, times[name], errors)))
        for thread in threads:
            thread.start()
        memory = []
        for _ in range(3):
            ended.wait(options.seconds / 3)
            memory.append(psutil.Process(pid).memory_info().rss)
        ended.set()
        for thread in threads:
            thread.join()
    for name, found in times.items():
        rate = len(found) / options.seconds
        print(f"{name}: {len(found):,} answers, {rate:,.0f} a second; ms: {percentiles(found)}")
    growth = memory[-1] / memory[0] - 1
    sizes = ", ".join(f"{size / 2**20:.1f}" for size in memory)
    print(f"memory of the server after each third, MiB: {sizes} ({growth:+.1%})")
    print(f"errors: {len(errors)}{''.join(f'; {error}' for error in errors[:3])}")
    return not errors and growth < ALLOWED_GROWTH


def run_c_client(folder, base):
    """Prints the latency of one row through TensorFlow's C library, without a server."""
    if shutil.which("gcc") is None or shutil.which("make") is None:
        print("C client: there is no gcc or no make")
        return
    source = ROOT / "export" / "client"
    for name in ("Makefile", "tfkit_client.c"):
        shutil.copy(source / name, folder)
    subprocess.run(["make", "-s", "CC=gcc", f"PYTHON={sys.executable}"], cwd=folder, check=True)
    row = f"x={json.dumps([[0.5] * FEATURES])}"
    command = [folder / "tfkit_client", base / "load" / "1", "--input", row, "--repeat", "2000"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    print(f"C client, one row: {result.stderr.splitlines()[-1]}")
