"""Trainings under strategies of `tf.distribute` give the numbers of one device."""

import itertools
import json
import os
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.distribution import cases, features

LIMIT = 420  # seconds for all processes together: a busy machine takes several times as long


def start(kind, path, task=None):
    environment = {**os.environ, "TFKIT_CACHE": "off", "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment.pop("TF_CONFIG", None)
    if task is not None:
        environment["TF_CONFIG"] = json.dumps(task)
    with open(f"{path}.log", "w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.distribution.cases", kind, str(path)],
            env=environment,
            stdout=log,
            stderr=log,
        )


def free_ports(number):
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start_workers(folder):
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    for index in range(2):
        task = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        yield start("workers", folder / f"worker{index}.npz", task)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of all kinds of devices; processes that do not end in time are killed."""
    folder = tmp_path_factory.mktemp("strategies")
    processes, end = [], time.monotonic() + LIMIT
    try:
        for kind in ("one", "mirrored2", "mirrored4"):
            processes.append(start(kind, folder / f"{kind}.npz"))
        processes += start_workers(folder)
        for process in processes:
            process.wait(max(0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass  # The tests of what is missing fail, with the output of its process.
    finally:
        for process in processes:
            # SIGTERM would be caught by TensorFlow, which then waits for the other workers.
            process.kill()
            process.wait()

    def read(kind, ending=""):
        path = folder / f"{kind}.npz{ending}"
        assert path.exists(), (folder / f"{kind}.npz.log").read_text()[-2000:]
        return json.loads(path.read_text()) if ending else np.load(path)

    return read


@pytest.mark.parametrize("kind", ["mirrored2", "mirrored4", "worker0", "worker1"])
@pytest.mark.parametrize("case", cases.CASES)
def test_a_training_has_the_numbers_of_one_device(results, kind, case):
    one, several = results("one"), results(kind)
    names = [name for name in one.files if name.startswith(f"{case}/")]
    assert names
    for name in names:
        np.testing.assert_allclose(several[name], one[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "feature"),
    [
        *itertools.product(["mirrored2", "worker0", "worker1"], features.names_for(2)),
        *itertools.product(["mirrored4"], features.names_for(4)),
    ],
)
def test_a_feature_works_under_a_strategy(results, kind, feature):
    failure = results(kind, ".json")[feature]
    assert not failure, failure
