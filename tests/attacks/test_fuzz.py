"""A short piece of each fuzzer with fixed seeds, and what fuzzers have found before: see `tools/fuzz`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CORPUS = sorted(Path(__file__).parent.joinpath("corpus").iterdir())
TARGETS = {"h5": 40, "keras": 40, "index": 20, "resume": 15}


def child(*words):
    """The lines that a guarded process says, one for each case that ended."""
    found = subprocess.run(
        [sys.executable, "-m", "fuzzing.child", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/tools:{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        check=False,
    )
    lines = [json.loads(line) for line in found.stdout.splitlines() if line.startswith(b'["')]
    assert found.returncode == 0, (lines[-1:], found.stderr.decode()[-3000:])
    return [line for line in lines if line[0] == "end"]


def test_a_short_piece(tmp_path):
    cases = [f"{target}:{number}" for target, count in TARGETS.items() for number in range(count)]
    lines = child("cases", tmp_path, *cases)
    assert len(lines) == len(cases)
    assert not [line for line in lines if line[3]]


@pytest.mark.skipif(not CORPUS, reason="nothing has been found")
def test_what_was_found_before(tmp_path):
    lines = child("files", tmp_path, *CORPUS)
    assert len(lines) == len(CORPUS)
    assert not [line for line in lines if line[3]]
