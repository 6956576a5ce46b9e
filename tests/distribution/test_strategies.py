"""Trainings under strategies of `tf.distribute` give the numbers of one device."""

import contextlib
import itertools
import json
import subprocess
import time

import numpy as np
import pytest

from tests.distribution import cases, features, rows  # noqa: F401 (more features)
from tests.distribution.processes import (
    Started,
    addresses,
    killed_at_the_end,
    once,
    start,
    start_servers,
    task_of,
)

# Kinds of devices beside one and "mirrored2", and how many replicas they have.
KINDS = {"mirrored4": 4, "worker0": 2, "worker1": 2, "servers": 1}
LIMIT = 900  # seconds for all processes together: a busy machine takes several times as long


def start_cases(kind, path, task=None, **options):
    module = "tests.distribution.cases"
    return start(f"{path}.log", module, kind, str(path), task=task, **options)


def start_workers(folder):
    cluster = addresses(worker=2)
    for index in range(2):
        path = folder / f"worker{index}.npz"
        task = task_of(cluster, "worker", index)
        yield start_cases("workers", path, task, companions=(folder / "ended", 2))


def run_near(folder):
    """Runs one device, and two in one process."""
    with killed_at_the_end() as processes:
        processes += [start_cases(kind, folder / f"{kind}.npz") for kind in ("one", "mirrored2")]
        wait_for(processes)


def run_far(folder):
    """Runs the other kinds of devices."""
    cluster = addresses(chief=1, worker=1, ps=1)
    with killed_at_the_end() as servers, killed_at_the_end() as processes:
        servers += start_servers(cluster, folder)
        chief = task_of(cluster, "chief", 0)
        processes.append(start_cases("servers", folder / "servers.npz", chief))
        processes += start_workers(folder)
        processes.append(start_cases("mirrored4", folder / "mirrored4.npz"))
        wait_for(processes)


def wait_for(processes):
    """Waits until all have ended; those that do not end in time are killed afterwards."""
    end = time.monotonic() + LIMIT
    # What is missing after that fails its tests, with the output of its process.
    with contextlib.suppress(subprocess.TimeoutExpired):
        for process in processes:
            process.wait(max(0, end - time.monotonic()))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Returns the results of a kind of devices."""

    def read(kind, ending=""):
        near = kind in ("one", "mirrored2")
        folder = once(tmp_path_factory, f"strategies-{near}", run_near if near else run_far)
        path = folder / f"{kind}.npz{ending}"
        assert path.exists(), (folder / f"{kind}.npz.log").read_text()[-2000:]
        return json.loads(path.read_text()) if ending else np.load(path)

    return read


FAR = [pytest.param(kind, marks=pytest.mark.wide) for kind in KINDS]


@pytest.mark.parametrize("kind", ["mirrored2", *FAR])
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
        *itertools.product(["mirrored2"], features.names_for(2)),
        *(
            pytest.param(kind, name, marks=pytest.mark.wide)
            for kind, number in KINDS.items()
            for name in features.names_for(number)
        ),
    ],
)
def test_a_feature_works_under_a_strategy(results, kind, feature):
    failure = results(kind, ".json")[feature]
    assert not failure, failure


STEPS = """
import contextlib
import numpy as np, tensorflow as tf
cpus = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
import tfkit as keras

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
found, exchanges, calls = [], [], []


class Counting(keras.layers.Dense):
    def call(self, x):
        calls.append(x)
        return super().call(x)


for size in (0, 100):
    strategy.extended._communication_options = tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=size
    )
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), Counting(16), keras.layers.Dense(1)])
        model.compile("adam", "mse")
    calls.clear()
    x = np.random.RandomState(0).randn(15, 8)
    with strategy.scope() if size else contextlib.nullcontext():
        model.fit(x, x[:, :1], batch_size=6, verbose=0)
    assert len(calls) == 2, calls  # A trace for each replica, though the step makes Adam's variables.
    found.append(model.get_weights())
    step = model._tfkit_programs._latest["train"].trace.definition
    exchanges.append(sum(node.op == "CollectiveReduceV2" for node in step.node))
for one, other in zip(*found, strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-6)
assert exchanges[0] == 2 < exchanges[1], exchanges  # One of each replica.
"""


def test_a_step_is_traced_once_and_exchanges_one_tensor_unless_a_size_is_given(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(STEPS)
    process = Started([script])
    output = process.communicate(LIMIT)
    assert process.returncode == 0, output[-2000:]


OVERFLOWS = """
import numpy as np, tensorflow as tf
cpus = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
import tfkit as keras

x = np.random.RandomState(0).randn(64, 8) * 30
found, weights = [], []
for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        hidden = keras.layers.Dense(16, "relu", dtype="mixed_float16", kernel_regularizer="l2")
        model = keras.Sequential([keras.Input((8,)), hidden, keras.layers.Dense(1)])
        sgd = keras.optimizers.SGD(1e-4)
        model.compile(keras.optimizers.LossScaleOptimizer(sgd, dynamic_growth_steps=5), "mse")
    scales = []
    for epoch in range(10):  # Of 25 rows: 13 for one replica, 12 for the other; and of the last 14.
        model.fit(x, x[:, :1], batch_size=25, shuffle=False, verbose=0)
        scales.append((int(model.optimizer.iterations), float(model.optimizer.dynamic_scale)))
    found.append(scales)
    weights.append(np.concatenate([np.ravel(it) for it in model.get_weights()]))
assert found[0] == found[1], found
assert found[0][1][0] == 0 and len(set(scale for _, scale in found[0])) > 4, found  # Skipped, and grown.
np.testing.assert_allclose(*weights, atol=2e-3)  # Rounding of float16.
"""


def test_replicas_skip_the_updates_that_one_device_skips(tmp_path):
    """Their gradients are as large as its parts, and a sum of finite ones may overflow."""
    script = tmp_path / "script.py"
    script.write_text(OVERFLOWS)
    process = Started([script])
    output = process.communicate(LIMIT)
    assert process.returncode == 0, output[-2000:]
