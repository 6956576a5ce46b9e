"""The load test, for a second: it counts what the server answered, and notices errors."""

import argparse
import contextlib
import runpy
from pathlib import Path

import pytest

import tfkit

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "load_serve.py"


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(SCRIPT))


def test_a_second_of_load(tool, tmp_path, capfd):
    model = tfkit.Sequential([tfkit.Input((tool["FEATURES"],), name="x"), tfkit.layers.Dense(3)])
    model.export(tmp_path / "load" / "1", verbose=False)
    options = argparse.Namespace(seconds=1.0, clients=2, batching_window=1.0)
    tool["load"](tmp_path, options)
    printed = capfd.readouterr().out
    for kind in ("REST", "gRPC"):
        (line,) = (line for line in printed.splitlines() if line.startswith(f"{kind}: "))
        assert int(line.split()[1].replace(",", "")) > 0
    assert "errors: 0\n" in printed


def test_a_wrong_answer_is_an_error(tool):
    answers = iter([[1.0], [1.0], [2.0]])
    times, errors = [], []
    ended = argparse.Namespace(is_set=lambda: False)
    tool["client"](contextlib.nullcontext(lambda: next(answers)), ended, times, errors)
    assert len(times) == 2
    assert "Not equal" in str(errors[0])
