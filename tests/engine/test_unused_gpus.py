"""A GPU that TensorFlow does not use is named in one sentence."""

import os
import shutil
import subprocess
import sys

import pytest

from tfkit.src.borrowed import log_lines

DRIVER = (
    "int cuInit(int flags) { return 0; } int cuDeviceGetCount(int *count) { *count = 2; return 0; }"
)
PROGRAM = """
import warnings
from tfkit.src.engine import unused_gpus
with warnings.catch_warnings(record=True) as found:
    unused_gpus.warn_once()
    unused_gpus.warn_once()
print(*(it.message for it in found), sep="\\n")
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of a process that finds a driver with two GPUs, of which TensorFlow can use none."""
    if log_lines.has_cuda_driver():
        pytest.skip("the machine has a CUDA driver of its own")
    if shutil.which("cc") is None:
        pytest.skip("a C compiler makes the driver: apt-get install gcc")
    folder = tmp_path_factory.mktemp("driver")
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "libcuda.so.1")]
    subprocess.run(command, input=DRIVER, text=True, check=True)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def output(environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_it_is_one_sentence(environment):
    said = output(environment)
    assert said.startswith("This machine has 2 NVIDIA GPUs, and TensorFlow uses none, because ")
    assert len(said.splitlines()) == 1


def test_hidden_gpus_are_not_missed(environment):
    assert output({**environment, "CUDA_VISIBLE_DEVICES": "-1"}) == ""
