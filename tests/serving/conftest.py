"""A small model with all kinds of signatures, and the server in a thread."""

import asyncio
import contextlib
import json
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.export.saved_model import archive_of
from tfkit.src.export.warmup import write_warmup
from tfkit.src.outer.serving.server import Options, running

LABELS = ["good", "bad"]
X = np.array([[1, 2, 3], [4, 5, 6]], "float32")


class Small(tfkit.Model):
    """Rows of three numbers to rows of two scores, and what else may be asked of it."""

    def __init__(self):
        super().__init__()
        self.dense = tfkit.layers.Dense(2, activation="softmax")

    def call(self, x):
        return self.dense(x)

    @tfkit.export.endpoint(input_signature=[tf.TensorSpec([None], tf.string, "words")] * 1)
    def spell(self, words):
        return {"upper": tf.strings.upper(words), "raw_bytes": words, "n": tf.strings.length(words)}

    @tfkit.export.endpoint(input_signature=[tf.TensorSpec([None], tf.int32, "numbers")])
    def total(self, numbers):
        return tf.reduce_sum(numbers)

    @tfkit.export.endpoint(input_signature=[tf.TensorSpec([None], tf.int32, "numbers")])
    def positive(self, numbers):
        with tf.control_dependencies([tf.debugging.assert_greater(numbers, 0)]):
            return numbers * 2


def small(seed):
    tfkit.utils.set_random_seed(seed)
    model = Small()
    model(X)
    return model


def export(model, folder):
    """Writes a version the way `to_serving` does, without its check in another process."""
    archive = archive_of(model)
    archive.add_endpoint("labels", tfkit.export.classify(model, LABELS))
    x = tfkit.Input((3,), name="x")
    first = tfkit.Model(x, tfkit.layers.Lambda(lambda scores: scores[:, 0])(model(x)))
    archive.add_endpoint("first", tfkit.export.regress(first))
    archive.write_out(folder, verbose=False)
    return folder


def texts(folder):
    """Writes a version of a model of texts."""
    layers = tfkit.layers
    model = tfkit.Sequential(
        [
            tfkit.Input((1,), dtype="string", name="words"),
            layers.TextVectorization(output_sequence_length=4, vocabulary=["a", "b", "é"]),
            layers.Embedding(5, 2),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    archive_of(model).write_out(folder, verbose=False)
    return folder


class Client:
    """Asks a server that runs on this machine."""

    def __init__(self, addresses):
        self.port = addresses.port
        self.grpc_port = addresses.grpc_port
        self.grpc_address = f"127.0.0.1:{addresses.grpc_port}"

    def __call__(self, path, body=None, headers=None):
        """Status and JSON of `/v1/models/` and path; a POST where there is a body."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.port}/v1/models/{path}"
        request = urllib.request.Request(url, body, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.headers["Content-Type"].startswith("application/json")
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@contextlib.contextmanager
def serving(base, **options):
    """A server for the folder `base`, in a thread, and a client of it."""
    started, addresses, failure = threading.Event(), [], []

    async def serve():
        ended = asyncio.Event()
        try:
            async with running(Options(base, port=0, grpc_port=0, **options)) as server:
                addresses.append((asyncio.get_running_loop(), ended, server))
                started.set()
                await ended.wait()
        except BaseException as error:
            failure.append(error)
            started.set()
            raise

    def main():
        with contextlib.suppress(BaseException):  # It is raised in the thread of the test.
            asyncio.run(serve())

    thread = threading.Thread(target=main)
    thread.start()
    started.wait()
    if failure:
        thread.join()
        raise failure[0]
    loop, ended, server = addresses[0]
    try:
        yield Client(server)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
    if failure:
        raise failure[0]


@pytest.fixture(scope="session")
def model():
    return small(1)


@pytest.fixture(scope="session")
def base(model, tmp_path_factory):
    """A folder with the model `small`, whose version 3 has warm-up requests, and one that does not load."""
    base = tmp_path_factory.mktemp("base")
    folder = export(model, base / "small" / "3")
    requests = [("serving_default", "tensorflow/serving/predict", {"x": X})]
    examples = tfkit.export.classify(model).serialize({"x": X})
    requests += [("labels", "tensorflow/serving/classify", {"inputs": examples})]
    write_warmup(folder, "small", requests)
    (base / "broken" / "1").mkdir(parents=True)
    (base / "broken" / "1" / "saved_model.pb").write_bytes(b"?")
    (base / "empty").mkdir()
    return base


@pytest.fixture(scope="session")
def client(base):
    with serving(base) as client:
        yield client
