"""`ParameterServerStrategy` with two workers and two parameter servers, which end in the middle."""

import contextlib
import json
import re
import subprocess

import numpy as np
import pytest

from tests.distribution.processes import (
    addresses,
    killed_at_the_end,
    once,
    start,
    start_servers,
    task_of,
)

LIMIT = 420  # seconds for all parts together: a busy machine takes several times as long


def run(folder):
    """Runs the script of all parts."""
    cluster = addresses(chief=1, worker=2, ps=2)
    with killed_at_the_end() as processes:
        processes += start_servers(cluster, folder)
        first_worker, _, first_server, _ = (str(process.pid) for process in processes)
        arguments = (str(folder), first_worker, first_server)
        task = task_of(cluster, "chief", 0)
        script = start(folder / "log", "tests.distribution.coordinator", *arguments, task=task)
        processes.append(script)
        # What is missing after that fails its tests, with the output of the script.
        with contextlib.suppress(subprocess.TimeoutExpired):
            (folder / "status.json").write_text(str(script.wait(LIMIT)))


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Returns what a part of the script has seen."""
    folder = once(tmp_path_factory, "coordinator", run)

    def read(part):
        path = folder / f"{part}.json"
        assert path.exists(), (folder / "log").read_text()[-3000:]
        return json.loads(path.read_text())

    return read


@pytest.mark.parametrize(
    "case", ["dense", "own", "words", "words in batches", "mixed", "uneven", "ragged"]
)
def test_steps_in_turn_have_the_numbers_of_one_device(seen, case):
    one, coordinated = seen("in_turn")[case]
    for expected, found in zip(one, coordinated, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_each_step_is_run_once_and_metrics_have_all_rows(seen):
    found = seen("together")
    history = found["history"]
    assert found["updates"] == 5 * 63
    assert found["updates later"] == 5 * 63 + 2
    assert history["rows"] == history["val_rows"] == [1000] * 5
    assert history["val_loss"][-1] < 0.5 * history["val_loss"][0]
    assert found["own"]["rows"] == [1000]
    assert sorted(found["own"]) == ["error", "last", "rows"]
    assert found["evaluation"]["rows"] == 1000
    assert found["evaluation"]["loss"] == pytest.approx(history["val_loss"][-1], rel=1e-4)


def test_a_saved_model_is_loaded_with_and_without_parameter_servers(seen):
    found = seen("together")
    for one, other in zip(*found["outputs"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert all("job:ps" in device for device in found["devices"])
    assert len(found["devices"]) == 2
    assert found["slots"]
    assert len(found["plans"]) == 3
    for plan in found["plans"]:
        assert plan == "graph loop: workers and parameter servers exchange values"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("jit_compile", "`jit_compile=True` cannot be combined with ParameterServerStrategy"),
        ("run_eagerly", "`run_eagerly=True` cannot be combined with ParameterServerStrategy"),
        ("accumulation", "cannot be combined with several workers.* Use larger batches"),
        ("outside", "belongs under ParameterServerStrategy, but all of it was made outside"),
        ("value", r"^indices\[\d+,0\] = 10 is not in \[0, 10\)"),
    ],
)
def test_what_does_not_go_is_said(seen, case, message):
    assert re.search(message, seen("refused")[case]), seen("refused")[case]


def test_an_error_of_a_worker_names_the_layer_and_nothing_of_the_cluster(seen):
    message = seen("refused")["value"]
    assert "embedding" in message
    for word in ("GRPC", "/job:", "Detected at", "stack traces"):
        assert word not in message


def test_a_killed_worker_does_not_stop_training_and_takes_part_again(seen):
    found = seen("worker")
    assert len(found["history"]["loss"]) == 8
    # Only the steps that it was running may be run twice.
    assert 8 * 125 <= found["updates"] <= 9 * 125
    assert min(found["history"]["rows"]) >= 1000
    assert found["history"]["loss"][-1] < 0.5 * found["history"]["loss"][0]
    assert found["took part"]
    assert found["later"]["rows"][0] >= 1000


def test_a_parameter_server_that_ends_ends_the_training(seen):
    found = seen("server")
    assert "Parameter server 0 has ended" in found["message"]
    assert "`fit(resume=folder)`" in found["message"]
    assert found["seconds"] < 30


def test_the_script_ends_although_processes_are_gone(seen):
    assert seen("status") == 0
