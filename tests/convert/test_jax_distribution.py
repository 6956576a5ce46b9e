"""Models on several devices of JAX: `keras.distribution` with `engine="jax"`, and several processes."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.distribution.processes import ROOT

pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")

CHECKS = re.findall(r"^def (check_\w+)", (ROOT / "tests/convert/four_devices.py").read_text(), re.M)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What went wrong in each check, all of which one process with four devices runs."""
    file = tmp_path_factory.mktemp("four") / "found.json"
    run(["-m", "tests.convert.four_devices", file])
    return json.loads(file.read_text())


def run(command, **variables):
    process = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "TFKIT_CACHE": "off", "PYTHONPATH": str(ROOT), **variables},
        timeout=500,
    )
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]
    return process.stdout


@pytest.mark.parametrize("check", CHECKS)
def test_on_four_devices(found, check):
    assert found[check] is None, found[check]


SCRIPT = """
import json, os, sys
import numpy as np
import tfkit as keras
from tfkit import distribution, layers

distribution.initialize(engine="jax")
names = distribution.list_devices()
assert len(names) == distribution.get_device_count() == 4
mesh = distribution.DeviceMesh((2, 2), ["data", "model"])
layout_map = distribution.LayoutMap(mesh)
layout_map[".*up/kernel"] = (None, "model")
layout_map[".*down/kernel"] = ("model", None)
parallel = distribution.ModelParallel(layout_map=layout_map)
distribution.set_distribution(parallel)
if len(sys.argv) > 1:
    keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((8,)),
        layers.Dense(16, "relu", name="up"),
        layers.Dropout(0.1),
        layers.Dense(1, name="down"),
    ]
)
model.compile("adam", "mse", metrics=["mae"], engine="jax")
x = np.random.default_rng(0).normal(size=(61, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)
options = {"batch_size": 8, "epochs": 3, "verbose": 0}
backup = keras.callbacks.BackupAndRestore(os.path.join(os.environ["STATE"], "state"))
history = model.fit(x, y, **options, validation_data=(x, y), callbacks=[backup]).history
if len(sys.argv) > 1:
    found = [history, model.evaluate(x, y, verbose=0), model.predict(x, verbose=0).sum().item()]
    found += [[float(weight.sum()) for weight in model.get_weights()]]
    print("FOUND", json.dumps([found, parallel.data_shard_id, parallel.num_processes]))
    # What only one process would see is refused by both.
    import jax

    other = keras.Sequential([keras.Input((8,)), layers.Dense(1, name="up"), layers.Dense(2, name="down")])
    other.compile("sgd", "mse", engine="jax")
    other.layers[0].kernel.assign(other.layers[0].kernel + float(jax.process_index()))
    layout_map.clear()
    try:
        other.fit(x, y, verbose=0)
    except ValueError as error:
        assert parallel.num_processes == 1 or "different values of: up/kernel" in str(error), error
    else:
        assert parallel.num_processes == 1
"""


def test_two_processes_with_two_devices_each(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    found = []
    for workers, devices in ((1, 4), (2, 2)):
        flags = (
            f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
        )
        folder = tmp_path / str(workers)
        folder.mkdir()
        launch = ["-m", "tfkit.launch", "--engine", "jax", "--workers", workers, script, "seed"]
        output = run(launch, XLA_FLAGS=flags, STATE=str(folder))
        found += sorted(re.findall(r"FOUND (.*)", output))
    (one, _, of_one), *others = map(json.loads, found)
    assert of_one == 1
    assert [rest for _, *rest in others] == [[0, 2], [1, 2]]
    for values, *_ in others:
        for (name, value), (_, expected) in zip(flat(values), flat(one), strict=True):
            assert value == pytest.approx(expected, rel=1e-5, abs=1e-5), name


def flat(value, path=""):
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from flat(item, f"{path}/{key}")
    else:
        yield path, value
