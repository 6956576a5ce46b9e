"""The load test, for a second: it counts what the server answered, and notices errors."""

import argparse
import contextlib
from pathlib import Path

import pytest

import tfkit

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'tools'}:{ROOT}")


@pytest.fixture
def base(tmp_path):
    from loading.servers import FEATURES

    model = tfkit.Sequential([tfkit.Input((FEATURES,), name="x"), tfkit.layers.Dense(3)])
    model.export(tmp_path / "load" / "1", verbose=False)
    return tmp_path


def test_a_second_of_load(base, capfd):
    from loading import soak

    options = argparse.Namespace(seconds=1.0, clients=2, options=["--batching-window", "1"])
    soak.load(base, options)
    printed = capfd.readouterr().out
    for kind in ("REST", "gRPC"):
        (line,) = (line for line in printed.splitlines() if line.startswith(f"{kind}: "))
        assert int(line.split()[1].replace(",", "")) > 0
    assert "errors: 0\n" in printed


def test_both_servers_side_by_side(base, capfd):
    from loading.__main__ import compare

    compare(base, argparse.Namespace(seconds=0.5, rounds=1, clients="1,8", options=[]))
    lines = capfd.readouterr().out.splitlines()
    rates = [line for line in lines if "requests a second" in line]
    assert [" ".join(line.split()[2:4]) for line in rates] == ["bare aiohttp", "tfkit serve"] * 2
    assert sum("times as many requests" in line for line in lines) == 2


def test_a_wrong_answer_is_an_error():
    from loading import soak

    answers = iter([[1.0], [1.0], [2.0]])
    times, errors = [], []
    ended = argparse.Namespace(is_set=lambda: False)
    soak.client(contextlib.nullcontext(lambda: next(answers)), ended, times, errors)
    assert len(times) == 2
    assert "Not equal" in str(errors[0])
