"""Versions come and go under requests; large requests are refused; requests are joined."""

import asyncio
import concurrent.futures
import gzip
import http.client
import json
import shutil
import signal
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
)

import tfkit
from tests.serving.conftest import X, export, serving, small
from tfkit.src.outer import cli
from tfkit.src.outer.serving import batching, packages
from tfkit.src.outer.serving.bodies import jobs
from tfkit.src.outer.serving.bodies.errors import RequestError
from tfkit.src.outer.serving.servable import Servable
from tfkit.src.outer.serving.server import Options

ROWS = {"instances": X.tolist()}


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def states(client, name="m"):
    _, answer = client(name)
    found = answer.get("model_version_status", [])
    return {int(each["version"]): each["state"] for each in found}


@pytest.fixture(scope="module")
def exports(model, base, tmp_path_factory):
    """Two exported models and what they answer."""
    other = small(2)
    folder = export(other, tmp_path_factory.mktemp("other") / "1")
    return [(base / "small" / "3", model(X).numpy()), (folder, other(X).numpy())]


def publish(source, base, version, name="m"):
    """A version that appears whole."""
    (base / name).mkdir(exist_ok=True)
    temporary = base / name / ".new"
    shutil.copytree(source, temporary)
    temporary.rename(base / name / str(version))


def test_a_new_version_takes_over_without_a_gap(exports, tmp_path):
    (one, first), (two, second) = exports
    publish(one, tmp_path, 1)
    wrong, asked, ended = [], [], threading.Event()

    def ask(client):
        while not ended.is_set():
            status, answer = client("m:predict", ROWS)
            asked.append(status)
            found = answer.get("predictions")
            if not any(np.allclose(found or 0, each, rtol=1e-5) for each in (first, second)):
                wrong.append((status, answer))

    with serving(tmp_path, poll=0.02, batching_window=0.001) as client:
        threads = [threading.Thread(target=ask, args=(client,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for version in range(2, 6):
            publish([two, one][version % 2], tmp_path, version)
            want = {**dict.fromkeys(range(1, version), "END"), version: "AVAILABLE"}
            wait_for(lambda want=want: states(client) == want)
            count = len(asked)
            wait_for(lambda count=count: len(asked) > count + 5)
        ended.set()
        for thread in threads:
            thread.join()
        assert set(asked) == {200}
        assert not wrong
        status, answer = client("m/versions/1:predict", ROWS)
        assert (status, "Specific(m, 1)" in answer["error"]) == (404, True)


def test_a_version_that_does_not_load_leaves_the_old_one(exports, tmp_path):
    (one, first), (two, second) = exports
    publish(one, tmp_path, 1)
    with serving(tmp_path, poll=0.02) as client:
        (tmp_path / "m" / "2").mkdir()
        wait_for(lambda: states(client) == {1: "AVAILABLE", 2: "END"})
        np.testing.assert_allclose(client("m:predict", ROWS)[1]["predictions"], first, rtol=1e-5)
        shutil.copytree(two, tmp_path / "m" / "2", dirs_exist_ok=True)  # Somebody copies it slowly.
        wait_for(lambda: states(client) == {1: "END", 2: "AVAILABLE"})
        np.testing.assert_allclose(client("m:predict", ROWS)[1]["predictions"], second, rtol=1e-5)
        shutil.rmtree(tmp_path / "m" / "2")  # Back to the old one.
        wait_for(lambda: states(client) == {1: "AVAILABLE", 2: "END"})
        shutil.rmtree(tmp_path / "m")
        wait_for(lambda: client("m:predict", ROWS)[0] == 404)


def test_a_folder_without_variables_waits_until_it_is_complete(exports, tmp_path):
    (one, first), (two, second) = exports
    publish(one, tmp_path, 1)
    with serving(tmp_path, poll=0.02) as client:
        (tmp_path / "m" / "2").mkdir()
        shutil.copy(two / "saved_model.pb", tmp_path / "m" / "2")
        wait_for(lambda: states(client) == {1: "AVAILABLE", 2: "END"})
        _, answer = client("m/versions/2")
        assert "not complete" in answer["model_version_status"][0]["status"]["error_message"]
        np.testing.assert_allclose(client("m:predict", ROWS)[1]["predictions"], first, rtol=1e-5)
        shutil.copytree(two / "variables", tmp_path / "m" / "2" / "variables")
        wait_for(lambda: states(client) == {1: "END", 2: "AVAILABLE"})
        np.testing.assert_allclose(client("m:predict", ROWS)[1]["predictions"], second, rtol=1e-5)


def test_the_newest_good_version_is_served(exports, tmp_path):
    (one, first), (two, _) = exports
    publish(one, tmp_path, 3)
    publish(two, tmp_path, 20261122083000123456)  # TF Serving passes over it.
    (tmp_path / "m" / "4").mkdir()
    with serving(tmp_path, poll=0.02) as client:
        wait_for(lambda: states(client) == {3: "AVAILABLE", 4: "END"})
        np.testing.assert_allclose(client("m:predict", ROWS)[1]["predictions"], first, rtol=1e-5)
        assert client("m/versions/20261122083000123456:predict", ROWS)[0] in (400, 404)


def test_several_versions_and_models_that_come_later(exports, tmp_path):
    (one, first), (two, second) = exports
    with serving(tmp_path, poll=0.02, num_versions=2) as client:
        assert client("m")[0] == 404
        for version, source in ((1, one), (2, two), (3, one)):
            publish(source, tmp_path, version)
        wait_for(lambda: states(client).get(3) == states(client).get(2) == "AVAILABLE")
        for version, expected in ((2, second), (3, first)):
            answer = client(f"m/versions/{version}:predict", ROWS)[1]
            np.testing.assert_allclose(answer["predictions"], expected, rtol=1e-5)


# --- Limits -----------------------------------------------------------------------------------------


def test_a_large_body_is_refused(exports, tmp_path):
    publish(exports[0][0], tmp_path, 1)
    with serving(tmp_path, max_body=1000) as client:
        status, answer = client("m:predict", {"instances": [[1.5, 2.5, 3.5]] * 100})
        assert status == 413
        assert "1000" in answer["error"]
        assert client("m:predict", ROWS)[0] == 200

        gzip_header = {"Content-Encoding": "gzip"}
        packed = gzip.compress(json.dumps(ROWS).encode())
        assert client("m:predict", packed, gzip_header)[0] == 200
        assert client("m:predict", gzip.compress(b" " * 10**6), gzip_header)[0] == 413

        connection = http.client.HTTPConnection("127.0.0.1", client.port)
        chunks = (b" " * 500 for _ in range(10))
        connection.request("POST", "/v1/models/m:predict", chunks, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()

        request = predict_pb2.PredictRequest()
        request.model_spec.name = "m" * 2000
        with grpc.insecure_channel(client.grpc_address) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            with pytest.raises(grpc.RpcError, match="larger than max") as raised:
                stub.Predict(request, timeout=30)
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


# --- Joined requests ----------------------------------------------------------------------------------


class Counted(Servable):
    """Counts the rows of each run."""

    def __init__(self, folder):
        self.sizes = []
        super().__init__(folder, "m", 1)
        self.sizes.clear()  # Those of the warm-up.

    def run(self, signature, inputs):
        self.sizes.append(len(next(iter(inputs.values()))))
        return super().run(signature, inputs)


def run_together(servable, requests, **options):
    """What `Batcher.run` gives for requests that come at the same time."""

    async def main():
        batcher = batching.Batcher(**{"window": 0.05, **options})
        runs = [batcher.run(servable, signature, inputs) for signature, inputs in requests]
        found = await asyncio.gather(*runs, return_exceptions=True)
        await batcher.close()
        return found

    return asyncio.run(main())


@pytest.fixture
def counted(exports):
    servable = Counted(exports[0][0])
    yield servable
    servable.close()


def numbers(*values):
    return "positive", {"numbers": np.array(values, "int32")}


def results(found):
    return [next(iter(each.values())).tolist() for each in found]


def test_requests_are_joined_and_split_again(counted):
    asked = [numbers(1), numbers(2, 3), numbers(), numbers(4)]
    assert results(run_together(counted, asked)) == [[2], [4, 6], [], [8]]
    assert counted.sizes == [4]
    assert not counted._users


def test_who_finds_the_model_busy_is_joined_with_the_others(counted):
    asked = [numbers(each) for each in range(1, 8)]
    found = run_together(counted, asked, window=0.0, threads=1)
    assert results(found) == [[2 * each] for each in range(1, 8)]
    assert counted.sizes == [1, 6]  # The first one finds it free, and does not wait.
    assert not counted._users


def test_nobody_waits_while_a_thread_is_free(counted):
    assert results(run_together(counted, [numbers(1), numbers(2)], window=0.0)) == [[2], [4]]
    assert counted.sizes == [1, 1]


def test_joining_can_be_turned_off(counted):
    asked = [numbers(each) for each in range(1, 5)]
    for window in (0.0, 0.05):
        found = run_together(counted, asked, window=window, threads=1, max_rows=1)
        assert results(found) == [[2], [4], [6], [8]]
    assert counted.sizes == [1] * 8


def test_an_error_among_those_that_waited_reaches_its_own_request(counted):
    asked = [numbers(1), numbers(2), numbers(-1), numbers(3)]
    found = run_together(counted, asked, window=0.0, threads=1)
    assert isinstance(found[2], RequestError)
    assert results([found[0], found[1], found[3]]) == [[2], [4], [6]]
    assert counted.sizes == [1, 3, 1, 1, 1]


def test_those_that_wait_longest_run_first(counted):
    """Whether they can be joined or not: here two signatures, and one request that fills a run."""
    order = []
    run = counted.run
    counted.run = lambda name, inputs: (
        order.append((name, inputs["numbers"].tolist())) or run(name, inputs)
    )
    total = ("total", {"numbers": np.array([5], "int32")})
    asked = [numbers(1), total, numbers(2), numbers(3, 4, 5), total, numbers(6)]
    run_together(counted, asked, window=0.0, threads=1, max_rows=3)
    assert order == [
        ("positive", [1]),
        ("total", [5]),
        ("positive", [2, 6]),
        ("positive", [3, 4, 5]),
        ("total", [5]),
    ]


def test_a_joined_request_has_at_most_so_many_rows(counted):
    asked = [numbers(1, 2), numbers(3), numbers(4, 5), numbers(6), numbers(7, 8, 9, 10)]
    found = run_together(counted, asked, max_rows=3)
    assert results(found) == [[2, 4], [6], [8, 10], [12], [14, 16, 18, 20]]
    assert sorted(counted.sizes) == [3, 3, 4]


def test_only_the_request_with_the_error_gets_it(counted):
    found = run_together(counted, [numbers(1), numbers(-1), numbers(2)])
    assert isinstance(found[1], RequestError)
    assert results([found[0], found[2]]) == [[2], [4]]
    assert counted.sizes == [3, 1, 1, 1]


def test_other_shapes_signatures_and_outputs_without_rows_are_not_joined(counted):
    total = ("total", {"numbers": np.array([1, 2], "int32")})
    rows = ("serve", {"x": X}), ("serving_default", {"x": X}), ("serve", {"x": X[:, :2]})
    found = run_together(counted, [total, total, *rows])
    assert results(found[:2]) == [3, 3]
    np.testing.assert_allclose(results(found[2:3]), results(found[3:4]))
    assert isinstance(found[4], RequestError)
    assert counted.sizes == [2, 2, 2, 2, 2]


def test_rows_that_depend_on_each_other_are_not_joined(tmp_path, caplog):
    """The warm-up requests show it."""
    x = tfkit.Input((2,), name="x")
    relative = tfkit.Model(x, tfkit.layers.Lambda(lambda x: x / tf.reduce_sum(x, 0))(x), name="m")
    plain = tfkit.Model(x, tfkit.layers.Lambda(lambda x: 2 * x)(x), name="n")
    names = {"serve", "serving_default"}
    for model, joined in ((relative, set()), (plain, names)):
        folder = tfkit.export.to_serving(model, tmp_path, warmup=X[:, :2])
        servable = Servable(folder, model.name, 1)
        assert {name for name in names if servable.has_rows(name)} == joined
        servable.close()
    (*lines,) = (each.getMessage() for each in caplog.records if "not batched" in each.getMessage())
    assert len(lines) == 2
    assert all(line.startswith("Model m, version 1: a row of signature 'serv") for line in lines)


def test_the_server_joins_requests(exports, tmp_path):
    publish(exports[0][0], tmp_path, 1)
    with serving(tmp_path, batching_window=0.05, max_batch=64) as client:
        bodies = [{"instances": [[i, 0, 1]]} for i in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            joined = list(threads.map(lambda body: client("m:predict", body), bodies))
    with serving(tmp_path) as client:
        alone = [client("m:predict", body) for body in bodies]
    assert {status for status, _ in joined} == {200}
    for (_, one), (_, other) in zip(joined, alone, strict=True):
        np.testing.assert_allclose(one["predictions"], other["predictions"], rtol=1e-5)


def test_a_caller_that_goes_away_keeps_the_model_for_the_thread(counted):
    """The memory of a model must not go while a thread runs it."""

    async def main():
        batcher = batching.Batcher()
        task = asyncio.create_task(batcher.run(counted, *numbers(1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        held = counted._users
        await counted.unused()
        await batcher.close()
        return held

    assert asyncio.run(main()) == 1


# --- The command --------------------------------------------------------------------------------------


def test_the_command_serves_until_it_is_told_to_end(exports, tmp_path):
    publish(exports[0][0], tmp_path, 1)
    arguments = [str(tmp_path), "--port", "0", "--grpc-port", "0", "--batching-window", "2"]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tfkit", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = process.stdout.readline()
        assert address.startswith("REST at http://127.0.0.1:")
        assert process.stdout.readline().endswith("/v1/models/m\n")
        connection = http.client.HTTPConnection(
            "127.0.0.1", int(address.split(":")[2].split(",")[0])
        )
        connection.request("GET", "/v1/models/m")
        assert b"AVAILABLE" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Model m, version 1: available" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{base}/none"], 2, "No such file or directory"),
        (["{base}/m"], 2, "Expected a folder of models, with BASE/name/number. Received: "),
        (["{base}/m/1"], 2, "which is a SavedModel itself"),
        (["{base}", "--port", "{taken}"], 1, "address already in use"),
        (["{base}", "--port", "0", "--grpc-port", "{taken}"], 1, "for gRPC"),
    ],
)
def test_what_stops_the_command(arguments, code, message, exports, tmp_path, client, capsys):
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "saved_model.pb").touch()
    values = {"base": tmp_path, "taken": client.port}
    assert cli.main(["serve", *(each.format(**values) for each in arguments)]) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "arguments", [["--max-body", "0"], ["--batching-window", "-1"], ["--num-versions", "x"]]
)
def test_arguments_out_of_range(arguments, capsys):
    with pytest.raises(SystemExit):
        cli.main(["serve", ".", *arguments])
    assert f"argument {arguments[0]}: invalid" in capsys.readouterr().err


def test_the_packages_that_are_missing_are_named(monkeypatch, tmp_path, capsys):
    monkeypatch.delitem(vars(packages), "web", raising=False)  # As before the first use.
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "aiohttp.web", raising=False)
    assert cli.main(["serve", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert "No module named 'aiohttp.web'" in message
    assert "Install it: pip install 'tfkit-dl[serve]'" in message


def test_other_commands_do_without_the_packages():
    code = (
        "import sys, tfkit.__main__\n"
        "assert not {'aiohttp', 'grpc', 'tensorflow_serving'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_large_messages_are_read_and_written_by_another_process(client, model, monkeypatch):
    here = []

    def noted(name, job):
        return lambda value, arrays: here.append(name) or job(value, arrays)

    for name, job in jobs.JOBS.items():
        monkeypatch.setitem(jobs.JOBS, name, noted(name, job))
    rows = np.random.default_rng(0).normal(size=(10_000, 3)).astype("float32")
    stub_request = predict_pb2.PredictRequest()
    stub_request.model_spec.name = "small"
    with grpc.insecure_channel(client.grpc_address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        for size, where in ((5, ["predict_inputs", "predict_answer"]), (10_000, [])):
            here.clear()
            status, answer = client("small:predict", {"instances": rows[:size].tolist()})
            assert status == 200
            np.testing.assert_allclose(answer["predictions"], model(rows[:size]), rtol=1e-5)
            stub_request.inputs["x"].CopyFrom(tf.make_tensor_proto(rows[:size]))
            outputs = stub.Predict(stub_request).outputs
            (found,) = (tf.make_ndarray(value) for value in outputs.values())
            np.testing.assert_allclose(found, model(rows[:size]), rtol=1e-5)
            assert here == where
        here.clear()
        text = "a" * 100_000
        example = {"x": [1.5, 2.0, 0.5], "text": text}
        body = {"signature_name": "labels", "examples": [example]}
        status, answer = client("small:classify", body)
        message = classification_pb2.ClassificationRequest()
        message.model_spec.name, message.model_spec.signature_name = "small", "labels"
        features = message.input.example_list.examples.add().features.feature
        features["x"].float_list.value.extend(example["x"])
        features["text"].bytes_list.value.append(text.encode())
        (row,) = stub.Classify(message).result.classifications
        assert status == 200
        np.testing.assert_allclose(
            [score for _, score in answer["results"][0]], [each.score for each in row.classes]
        )
    assert here == ["classification"]  # The answer is small.


def test_the_server_listens_to_this_machine_alone_unless_told_otherwise(tmp_path):
    assert Options(tmp_path).host == "127.0.0.1"
