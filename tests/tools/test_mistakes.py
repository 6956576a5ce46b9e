"""The script that counts lines of tracebacks, and the goals that it measures."""

import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def mistaking(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def test_all_mistakes_show_the_users_lines_in_a_few_lines(mistaking):
    from mistaking.__main__ import report, run
    from mistaking.beginners import BEGINNERS
    from mistaking.cases import MISTAKES

    names = list(MISTAKES)
    assert len(names) >= 650
    found = run("tfkit", names)
    lines = {name: found[name]["lines"] for name in names}
    assert not [name for name in names if found[name]["type"] is None], "a mistake that is none"
    assert statistics.median(lines.values()) <= 12
    assert max(lines.values()) <= 15
    beginners = [lines[name] for name in BEGINNERS]
    assert len(beginners) >= 250
    assert statistics.median(beginners) <= 5
    assert lines["wrong input width in fit"] <= 15
    assert lines["Ctrl-C in fit"] <= 13
    assert not [name for name in names if found[name]["not_shown"]], (
        "lines of the user's are missing"
    )
    assert not [name for name in names if "{{" in found[name]["text"]]
    two = [name for name in names if found[name]["tracebacks"] > 1]
    assert two == ["an error with a cause of the user's", "a from_config that takes too much"]
    elsewhere = [
        each
        for name in names
        for each in found[name]["warnings"]
        if str(ROOT / "tfkit") in each.partition(": ")[0]
    ]
    assert not elsewhere, "warnings that point into tfkit"
    assert "tfkit, in a terminal: median" in report({"keras": found, "tfkit": found}, names)


def test_keras_makes_the_same_mistakes(mistaking):
    from mistaking.__main__ import run

    name = "wrong input width in fit"
    assert run("keras", [name])[name]["type"] == run("tfkit", [name])[name]["type"] == "ValueError"
