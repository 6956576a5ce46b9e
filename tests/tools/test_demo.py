"""The example and the demo, small, each as a user starts it."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]


def run(*arguments, **environment):
    paths = os.pathsep.join([str(ROOT), str(ROOT / "examples")])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_example(mnist):
    output = run(ROOT / "examples" / "vae_mnist.py", "--epochs", "1", "--limit", "256")
    assert "4/4" in output


@pytest.mark.parametrize("source", ["mnist", "fallback"])
def test_demo(source, tmp_path, request):
    environment = {}
    if source == "mnist":
        request.getfixturevalue("mnist")
    else:  # no file anywhere, and nobody listens at the proxy's port
        nowhere = {"TFKIT_DATA": "", "TFKIT_HOME": str(tmp_path / "home")}
        environment = {**nowhere, "https_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    small = ["--epochs", "1", "--limit", "512"]
    output = run(ROOT / "tools" / "demo.py", *small, "--out", tmp_path / "out", **environment)

    assert ("scikit-learn" in output) == (source == "fallback")
    assert "equal, bit for bit" in output
    assert "C library in a separate process" in output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "decoder",
        "digits.png",
        "vae.h5",
    ]
    assert h5py.is_hdf5(tmp_path / "out" / "vae.h5")
    with Image.open(tmp_path / "out" / "digits.png") as picture:
        assert picture.size == (16 * 56, 3 * 56)
        assert picture.getextrema()[1] > 200
