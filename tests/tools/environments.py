"""The tools of other people, each in the environment that has it."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A Python of its own for tools that would disturb others; see docs/tools.md.
PYTHON = os.environ.get("TFKIT_TOOLS_PYTHON", sys.executable)


def needs(module, extra):
    """Skips a test where the tool is not installed, and says how to install it."""
    if sys.executable == PYTHON:
        found = importlib.util.find_spec(module) is not None
    else:
        found = not subprocess.run(
            [PYTHON, "-c", f"import {module}"], capture_output=True
        ).returncode
    if not found:
        pytest.skip(
            f"{module} is not installed: pip install 'tfkit-dl[{extra}]', or set TFKIT_TOOLS_PYTHON"
        )


def command(name):
    """The path of a tool's command; skips where there is none."""
    beside = Path(PYTHON).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: pip install 'tfkit-dl[tools]'")
    return found


def run(program, folder):
    """What a program prints in a process of its own."""
    path = Path(folder, "program.py")
    path.write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [PYTHON, str(path)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
