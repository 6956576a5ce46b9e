"""The benchmark: it measures, compares and judges; how fast things are is not tested."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def test_medians_ratios_and_verdicts(benchmarks):
    from benchmarks.driver import Run
    from benchmarks.report import Report

    def run(framework, kind, step):
        return Run("mlp", framework, kind, 0, {"step": step, "first": 1.0, "memory": 100.0})

    times = {"XLA loop": 20e-6, "XLA step in a graph loop": 90e-6, "graph loop": 60e-6}
    runs = [run("tfkit", "auto", step) for step in (19e-6, 40e-6, 20e-6)]
    runs += [run("tfkit", kind, step) for kind, step in times.items()]
    runs += [run("keras", None, 600e-6), run("plain", None, 10e-6)]
    report = Report(runs, ["tfkit", "keras", "plain"])
    row = next(row for row in report.rows() if row["measured"].startswith("a step"))
    assert (row["tfkit"], row["Keras / tfkit"]) == ("20", "30.00")
    assert (
        row["reached"] == "no: 2.00x"
    )  # 30 times Keras; twice the loop by hand, 1.3 times allowed
    kinds = next(iter(report.kind_rows()))
    assert (kinds["best"], kinds["reached"]) in (("auto", "yes"), ("XLA loop", "yes"))
    assert "| MLP" in report.markdown()


def test_errors_are_in_the_table(benchmarks):
    from benchmarks.driver import Run
    from benchmarks.report import Report

    runs = [Run("imports", "tfkit", None, 0, error="exit status 1: ImportError")]
    text = Report(runs, ["tfkit", "keras", "plain"]).markdown()
    assert "error 1: imports tfkit: exit status 1: ImportError" in text


def test_a_quick_run_prints_a_table(tmp_path):
    path = tmp_path / "numbers.json"
    command = ["--quick", "--rounds", "1", "--only", "predict", "--json", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *command],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"predict 1 row, µs *\| +[\d,.]+ \| +[\d,.]+ \| +[\d,.]+ \|", done.stdout)
    assert len(json.loads(path.read_text())["runs"]) == 3


@pytest.mark.parametrize(
    ("workload", "measured"),
    [
        (
            "images",
            ["image in map", "image in parallel map", "image in batches", "image in fit"],
        ),
        ("texts", ["adapt"]),
    ],
)
def test_pipelines_are_measured(benchmarks, workload, measured):
    from benchmarks.report import MEASURES

    module = importlib.import_module(f"benchmarks.workloads.{workload}")
    measures = module.WORKLOAD.measure("tfkit", None, quick=True)
    assert list(measures) == [*measured, "memory"]
    assert set(measures) <= set(MEASURES)
    assert all(value > 0 for value in measures.values())
    assert module.WORKLOAD.measure("plain", None, quick=True) == {}


@pytest.mark.parametrize(
    ("workload", "framework"),
    [("mirrored", "tfkit"), ("mirrored", "plain"), ("workers", "plain"), ("workers", "keras")],
)
def test_strategies_are_measured(benchmarks, workload, framework):
    from benchmarks.driver import Run, execute
    from benchmarks.report import MEASURES

    run = Run(workload, framework, None, 0)  # In a process of its own, with two logical CPUs.
    execute(run, quick=True, timeout=200)
    assert run.error is None
    steps = {"MLP step", "MLP step, CPU", "CNN step", "CNN step, CPU"}
    assert run.measures.keys() == (set() if framework == "keras" else steps | {"memory"})
    assert run.measures.keys() <= MEASURES.keys()
    assert all(value > 0 for value in run.measures.values())


def test_the_loop_by_hand_has_the_numbers_of_fit(benchmarks):
    """Replicas of two CPUs, as in the benchmark: the same batches, Adam, and losses."""
    done = subprocess.run(
        [sys.executable, "-c", SAME_NUMBERS], cwd=ROOT / "tools", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


SAME_NUMBERS = """
import numpy as np, tensorflow as tf
cpus = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
import tfkit as keras
from benchmarks.strategies import ReplicaLoop
from benchmarks.workloads import mlp

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
loop = ReplicaLoop(mlp.Plain, strategy, 32)
with strategy.scope():
    model, arguments = mlp.build(keras)
    model.compile(**arguments)
    for ours, theirs in zip(model.trainable_weights, loop.model.weights, strict=True):
        ours.assign(theirs.numpy())
np.random.seed(0)
x, y = mlp.data(320)
np.random.permutation = np.arange
by_hand = [loop.fit(tf.constant(x), tf.constant(y)) for _ in range(3)]
fit = model.fit(x, y, epochs=3, shuffle=False, verbose=0).history["loss"]
np.testing.assert_allclose(by_hand, fit, rtol=1e-5)
assert fit[2] < fit[0]
"""


def test_unknown_work_is_refused():
    command = [sys.executable, "-m", "benchmarks", "--only", "nothing"]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True)
    assert done.returncode == 2
    assert "expected some of mlp" in done.stderr


def test_each_short_program_is_there(benchmarks):
    from importlib import import_module

    from benchmarks.programs import PROGRAMS

    assert len(PROGRAMS) >= 20
    for name, module in PROGRAMS.items():
        assert callable(getattr(import_module(f"benchmarks.programs.{module}"), name))


def short_runs(times):
    """Finished runs of two programs; by framework and way: wall, CPU, of these imports; memory."""
    from benchmarks.short import ShortRun

    for program in ("lstm", "gan"):
        for (framework, way), (wall, cpu, imports, memory) in times.items():
            measures = {"wall": wall, "CPU": cpu, "import": imports, "import CPU": imports}
            measures |= {"memory": memory, "loss": 0.25}
            if program == "gan" and framework == "keras":
                measures["wall"] *= 2
            yield ShortRun(program, framework, way, 0, measures)


def test_ratios_of_short_programs(benchmarks):
    from benchmarks.short import EMPTY, FILLED, ShortReport

    times = {
        ("keras", EMPTY): (6.0, 9.0, 3.0, 700.0),
        ("tfkit", EMPTY): (4.0, 6.0, 2.0, 350.0),
        ("tfkit", FILLED): (3.0, 4.0, 2.0, 350.0),
    }
    report = ShortReport(list(short_runs(times)), [EMPTY, FILLED])
    row = next(iter(report.rows("wall")))
    assert row["empty cache"] == 1.5
    assert row["empty cache, without imports"] == 1.5  # 3 / 2
    assert row["filled cache"] == 2.0
    assert row["filled cache, without imports"] == 3.0
    assert row["memory, empty cache"] == 2.0
    assert row["loss, tfkit"] == row["loss, Keras"] == 0.25
    assert next(iter(report.rows("CPU")))["filled cache, without imports"] == 3.0  # 6 / 2
    text = report.markdown()
    assert re.search(r"\*\*median\*\* \| +2.25 \|", text)  # 1.5 and 3.
    assert re.search(r"\*\*least\*\* +\| +1.50 \|", text)


def test_an_error_of_a_short_program_is_named(benchmarks):
    from benchmarks.short import EMPTY, ShortReport, ShortRun

    times = {("keras", EMPTY): (6.0, 9.0, 3.0, 700.0)}
    runs = [*short_runs(times), ShortRun("lstm", "tfkit", EMPTY, 0, error="exit status 1: Oops")]
    assert (
        "error: lstm tfkit empty cache: exit status 1: Oops"
        in ShortReport(runs, [EMPTY]).markdown()
    )


def test_a_cache_is_filled_before_it_is_used(benchmarks):
    from benchmarks.short import EMPTY, FILLED, LATER, plan

    ways = {run.way for run in plan(["lstm"], [FILLED], 1) if run.framework == "tfkit"}
    assert ways == {EMPTY, FILLED}
    order = [(run.framework, run.way) for run in plan(["lstm"], [EMPTY, FILLED, LATER], 2)]
    assert order[:3] == [("keras", EMPTY), ("tfkit", EMPTY), ("tfkit", FILLED)]
    assert order[5:8] == [("tfkit", EMPTY), ("keras", EMPTY), ("tfkit", FILLED)]  # In turns.


def test_a_short_program_runs_with_both(tmp_path):
    path = tmp_path / "numbers.json"
    command = ["--short", "mlp_of_arrays", "--quick", "--rounds", "1", "--json", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *command, "--ways", "filled cache"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    runs = json.loads(path.read_text())["runs"]
    assert [run["framework"] for run in runs] == ["keras", "tfkit"]
    for run in runs:
        assert run["measures"]["CPU"] > run["measures"]["import CPU"] > 0
        assert run["measures"]["memory"] > 100
        assert 0 < run["measures"]["loss"] < 5
