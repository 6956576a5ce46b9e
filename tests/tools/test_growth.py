"""The tool that measures how costs grow."""

import json
import os
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"


def test_a_case_is_measured_in_a_process_and_becomes_a_row(tmp_path):
    kept = tmp_path / "figures.json"
    ran = subprocess.run(
        [sys.executable, "-m", "growing", "--only", "rows", "--largest", "10000", "--json", kept],
        cwd=TOOLS.parent,
        env={**os.environ, "PYTHONPATH": f"{TOOLS}:{TOOLS.parent}"},
        capture_output=True,
        text=True,
    )
    assert not ran.returncode, ran.stderr
    figures = json.loads(kept.read_text())["rows"]["sizes"]["10000"]
    assert figures["predict"] > 0
    assert "| predict | " in ran.stdout


def test_the_exponent_is_that_of_the_largest_sizes(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    from growing.table import page

    sizes = {"10": {"fit": 5.0}, "100": {"fit": 1.0}, "1000": {"fit": 100.0}, "2000": "over 9 s"}
    text = page({"a": {"title": "Some work.", "sizes": sizes}})
    assert "| fit | 5 | 1 | 100 |  | 2.00 |" in text
    assert "2,000: over 9 s" in text
