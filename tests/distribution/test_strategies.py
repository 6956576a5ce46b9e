"""Trainings under strategies of `tf.distribute` give the numbers of one device."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from tests.distribution import cases

LIMIT = 200  # seconds for all processes together


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
    processes = []
    try:
        for kind in ("one", "mirrored2", "mirrored4"):
            processes.append(start(kind, folder / f"{kind}.npz"))
        processes += start_workers(folder)
        for process in processes:
            process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        pass  # The tests of what is missing fail, with the output of its process.
    finally:
        for process in processes:
            # SIGTERM would be caught by TensorFlow, which then waits for the other workers.
            process.kill()
            process.wait()

    def read(kind):
        path = folder / f"{kind}.npz"
        assert path.exists(), (folder / f"{kind}.npz.log").read_text()[-2000:]
        return np.load(path)

    return read


@pytest.mark.parametrize("kind", ["mirrored2", "mirrored4", "worker0", "worker1"])
@pytest.mark.parametrize("case", cases.CASES)
def test_a_training_has_the_numbers_of_one_device(results, kind, case):
    if kind.startswith("worker") and case in cases.ONE_PROCESS:
        pytest.skip("differs in several processes, as `docs/scaling.md` states")
    one, several = results("one"), results(kind)
    names = [name for name in one.files if name.startswith(f"{case}/")]
    assert names
    for name in names:
        np.testing.assert_allclose(several[name], one[name], rtol=1e-5, atol=1e-5)


PACKS = """
import numpy as np, tensorflow as tf
cpus = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
import tfkit as keras

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
found, exchanges = [], []
for size in (0, 100):
    strategy.extended._communication_options = tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=size
    )
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    x = np.random.RandomState(0).randn(15, 8)
    model.fit(x, x[:, :1], batch_size=6, verbose=0)
    found.append(model.get_weights())
    step = model._programs._latest["train"].trace.definition
    exchanges.append(sum(node.op == "CollectiveReduceV2" for node in step.node))
for one, other in zip(*found, strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-6)
assert exchanges[0] == 2 < exchanges[1], exchanges  # One of each replica.
"""


def test_gradients_are_exchanged_as_one_tensor_unless_a_size_is_given():
    done = subprocess.run([sys.executable, "-c", PACKS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
