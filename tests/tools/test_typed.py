"""What type checkers say to a program with mistakes, and to one without."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("typed")
ROOT = FOLDER.parents[2]
_spec = importlib.util.spec_from_file_location("environments", FOLDER.with_name("environments.py"))
environments = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(environments)
MISTAKES = {
    number
    for number, line in enumerate((FOLDER / "wrong.py").read_text().splitlines(), 1)
    if "# wrong:" in line
}


def mypy(name, tmp_path):
    options = ["--config-file", "", "--cache-dir", str(tmp_path), "--follow-imports", "silent"]
    options += ["--disable-error-code", "import-untyped", "--check-untyped-defs"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(FOLDER / name)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return {int(line) for line in re.findall(rf"{name}:(\d+): error", done.stdout)}


def basedpyright(name, tmp_path):
    settings = {"include": [str(FOLDER / name)], "typeCheckingMode": "standard"}
    settings["extraPaths"] = [str(ROOT)]
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [environments.command("basedpyright"), "--outputjson", "--pythonpath", sys.executable]
        + ["--project", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    found = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    return {each["range"]["start"]["line"] + 1 for each in found}


@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_mistakes_are_found_and_nothing_else(checker, tmp_path):
    assert len(MISTAKES) == 16
    assert checker("wrong.py", tmp_path) == MISTAKES
    assert checker("right.py", tmp_path) == set()
