"""The tool that runs packages on Keras and on tfkit: what it keeps, and the page that it writes."""

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def report(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(TOOLS))
    from clienting import environment, report

    monkeypatch.setattr(environment, "FOLDER", tmp_path)
    monkeypatch.setattr(report, "ROWS", tmp_path / "rows.json")
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")
    return report


@pytest.fixture
def package(report):
    from clienting import environment
    from clienting.packages import PACKAGES

    package = next(each for each in PACKAGES if each.name == "kapre")
    environment.place_of(package).mkdir()
    return package


def results(report, **outcomes):
    from clienting.running import Results

    def tests(values):
        return {
            f"{name}.py::test": {"outcome": outcome, "error": "it 1", "seconds": 1.0, "values": {}}
            for name, outcome in values.items()
        }

    return {side: Results(tests(outcomes[side]), 2.0) for side in ("keras", "tfkit")}


def test_results_are_kept_file_by_file(report, package):
    """A second run of one file replaces its results alone; the page has the sums."""
    lost = results(report, keras={"a": "passed"}, tfkit={"a": "failed"})
    other = results(report, keras={"b": "passed"}, tfkit={"b": "passed"})
    files = {"a.py": lost, "b.py": other}
    assert report.save(package, files)["lost"] == {"it …": ["a.py::test: it 1"]}
    assert report.stored(package) == files
    report.write_page()
    row = "| kapre 0.4.1 | audio layers | programs | 2 | 1 | 4 | 4 |  |"
    assert row in report.PAGE.read_text()

    files = report.stored(package)
    files["a.py"] = results(report, keras={"a": "passed"}, tfkit={"a": "passed"})
    report.save(package, files)
    report.write_page()
    assert "| programs | 2 | 2 | 4 | 4 |  |" in report.PAGE.read_text()
    assert "2 of the 2 tests that pass on Keras pass on tfkit" in report.PAGE.read_text()


def test_values_agree_to_a_thousandth(report):
    assert report.agree({"loss": [1.0, 2.0005]}, {"loss": [1.0, 2.0]})
    assert not report.agree({"loss": [1.0, 2.01]}, {"loss": [1.0, 2.0]})
    assert not report.agree([1.0], [1.0, 2.0])
    assert not report.agree({"a": 1}, {"b": 1})
    assert not report.agree(1.0, None)


def test_a_file_runs_on_both_sides(report, monkeypatch, tmp_path):
    """In a process for each, whose outcomes and values are read."""
    from clienting import environment, running
    from clienting.packages import Package

    file = tmp_path / "tests" / "test_it.py"
    file.parent.mkdir()
    file.write_text(
        "def test_it(record_property):\n"
        "    import keras\n"
        "    record_property('name', keras.layers.Dense.__module__.split('.')[0])\n"
        "def test_fails():\n"
        "    assert False\n"
    )
    package = Package("a-package", "1.0", "an example", tests=("tests",))
    environment.place_of(package).mkdir()
    monkeypatch.setattr(
        environment, "prepare", lambda package: (Path(sys.executable), file.parents[1])
    )
    monkeypatch.setattr(running, "_root", lambda package, file: file.parents[1])
    ((label, found),) = running.run(package, 120)
    assert label == "tests/test_it.py"
    for side, name in (("keras", "keras"), ("tfkit", "tfkit")):
        test = found[side].tests["tests/test_it.py::test_it"]
        assert (test["outcome"], test["values"]) == ("passed", {"name": name})
        assert found[side].tests["tests/test_it.py::test_fails"]["outcome"] == "failed"
        assert found[side].seconds > 0
        assert not found[side].cut
    assert not list(running.run(package, 120, "other"))
