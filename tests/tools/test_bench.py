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


def test_unknown_work_is_refused():
    command = [sys.executable, "-m", "benchmarks", "--only", "nothing"]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True)
    assert done.returncode == 2
    assert "expected some of mlp" in done.stderr
