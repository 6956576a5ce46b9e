"""The field: it measures in turns, compares, and draws; how fast things are is not tested."""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras

ROOT = Path(__file__).parents[2]


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def results(times):
    """Results of two works; by framework: the seconds of a step."""
    from benchmarks.field.driver import Result

    versions = {"numpy": "9.9"}
    return [
        Result(work, framework, {"step": [99.0, step * factor, 0.0]}, versions)
        for work, factor in (("mlp", 1), ("cnn", 100))
        for framework, step in times.items()
    ]


def test_medians_ratios_and_their_means(benchmarks):
    from benchmarks.field.report import Report

    times = {"tfkit": 10e-6, "keras": 300e-6, "torch": 20e-6, "products": 1e-6}
    report = Report(results(times), "field.png")
    first, second, means = report.rows("step")
    assert (first["tfkit"], first["Keras, TensorFlow"], first["products alone"]) == (
        "10",
        "300",
        "1",
    )
    assert second["PyTorch"] == "2,000"
    assert first["best / tfkit"] == second["best / tfkit"] == "2.00"
    assert (means["Keras, TensorFlow"], means["PyTorch"]) == ("30.00", "2.00")
    page = report.markdown()
    assert "numpy 9.9" in page
    assert "](field.png)" in page
    assert re.findall("^## .*", page, re.MULTILINE) == ["## A training step, µs"]


def test_what_is_missing_is_left_blank_and_errors_are_listed(benchmarks):
    from benchmarks.field.driver import Result
    from benchmarks.field.report import Report

    found = results({"tfkit": 10e-6, "torch": 20e-6})
    found[1] = Result("mlp", "torch", error="exit status 1: no torch")
    report = Report(found, "field.png")
    first, second, _ = report.rows("step")
    assert (first["PyTorch"], first["best / tfkit"]) == ("", "")
    assert second["best / tfkit"] == "2.00"
    assert "* mlp, torch: exit status 1: no torch" in report.markdown()


def test_the_chart_is_a_small_file(benchmarks, tmp_path):
    from benchmarks.field.report import Report

    path = tmp_path / "pictures" / "field.png"
    Report(results({"tfkit": 10e-6, "keras": 300e-6}), "field.png").draw(path)
    assert path.read_bytes()[1:4] == b"PNG"
    assert path.stat().st_size < 100_000


def test_a_quick_run_measures_all_in_turns():
    command = ["--field", "tfkit,tensorflow,products", "--quick", "--only", "mlp"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *command],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    heads = re.findall("^## (.*)", done.stdout, re.MULTILINE)
    assert len(heads) == 9, done.stdout
    assert len(re.findall(r"^\| MLP 16-32-32-10", done.stdout, re.MULTILINE)) == 8
    assert "Errors" not in heads


def test_nothing_begins_when_the_time_is_over(benchmarks):
    from benchmarks.field.driver import run

    (result,) = run(["mlp"], ["tfkit"], quick=True, minutes=0)
    assert result.error == "not begun: the time was over"
    assert result.measures == {}


def test_a_process_that_ends_is_an_error(benchmarks):
    from benchmarks.field.driver import Result, Worker

    result = Result("nothing", "products")
    Worker(result, quick=True, end=time.monotonic() + 60).end()
    assert "exit status 1: ModuleNotFoundError" in result.error


def test_a_process_that_does_not_answer_in_time_is_an_error(benchmarks):
    from benchmarks.field.driver import Result, Worker

    result = Result("mlp", "tfkit")
    Worker(result, quick=True, end=time.monotonic() - 20).end()
    assert result.error == "no answer after 1 s"


def model_and_formula(name):
    """A model of tfkit, and the formula by hand with the model's weights."""
    from benchmarks.field.works import Work

    work = Work(name, quick=True)
    model, _ = work.workload.build(keras)
    x = work.inputs(3)
    model(x)
    plain = work.workload.plain()
    return model, plain, x


def assign(model, variables):
    """Gives the formula the weights of the model that have the same shapes, in their order."""
    left = [weight.numpy() for weight in model.weights]
    for variable in variables:
        place = next(i for i, it in enumerate(left) if it.shape == tuple(variable.shape))
        variable.assign(left.pop(place))
    return left


def test_the_gru_by_hand_is_the_model(benchmarks):
    model, plain, x = model_and_formula("gru")
    kernel, recurrent, biases = (tf.identity(it) for it in model.weights[:3])
    biases += np.random.default_rng(0).normal(size=biases.shape).astype("float32")
    model.layers[0].cell.bias.assign(biases)
    for variable, value in zip(plain.cell, (kernel, biases[0], recurrent, biases[1]), strict=True):
        variable.assign(value)
    assign(model.layers[1], plain.head)
    np.testing.assert_allclose(plain(x), model(x), atol=1e-6)


def test_the_residual_network_by_hand_is_the_model(benchmarks):
    model, plain, x = model_and_formula("resnet")
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            values = np.random.default_rng(0).random((4, 32)).astype("float32") + 0.5
            layer.set_weights(list(values))
    rest = assign(model, [it for each in plain.convolutions for it in each] + plain.head)
    assert rest == []
    np.testing.assert_allclose(plain(x), model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["mlp", "wide", "cnn", "embedding"])
def test_networks_by_hand_are_the_models(benchmarks, name):
    model, plain, x = model_and_formula(name)
    assert assign(model, plain.weights) == []
    np.testing.assert_allclose(plain(x), model(x), rtol=1e-4, atol=1e-5)
