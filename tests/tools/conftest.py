"""What several tests of the tools share: the site, built once."""

import fcntl
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, built once for all processes that run tests."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install 'tfkit-dl[docs]'")
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    out, log = folder / "site", folder / "site.log"
    with open(folder / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not log.exists():
            log.write_text(build(out))
    assert log.read_text() == ""
    return out


def build(out):
    """Builds the site. Returns what went wrong, or an empty text."""
    paths = os.pathsep.join([str(ROOT / "tools"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "documenting", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    warned = re.search(r": (WARNING|ERROR|CRITICAL): ", done.stderr)
    return done.stderr[-5000:] if done.returncode or warned else ""
