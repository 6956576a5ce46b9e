"""What all tests share: quiet TensorFlow, equal seeds for each test, the MNIST digits."""

import gc
import os
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read when TensorFlow is imported
# What XLA makes of the source at hand is what is tested, not what it made of an older one. Named, a folder is
# used: the tests give the same results with it, empty or filled.
os.environ.setdefault("TFKIT_CACHE", "off")

import numpy as np
import pytest

import tfkit
from tfkit.datasets import mnist as mnist_dataset
from tfkit.src.base.registry.dtype_policies import reset_dtype_policy


def pytest_addoption(parser):
    """Tests see the tracebacks that users see; `--all-frames` shows tfkit's and TensorFlow's lines."""
    parser.addoption("--all-frames", action="store_true", help="show all frames of tracebacks")


def pytest_configure(config):
    """Applies the options, and lets XLA compile trainings as short as those of tests."""
    tfkit.config.set_compile_after(0)
    if config.getoption("--all-frames"):
        tfkit.config.disable_traceback_filtering()


@pytest.fixture(autouse=True)
def same_seeds():
    """Each test starts from the same random state, whichever tests ran before it."""
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(autouse=True)
def default_dtypes():
    """Each test starts with the policy that follows `floatx`, though one before it may have set another."""
    reset_dtype_policy()


@pytest.fixture(autouse=True)
def compile_at_once():
    """XLA compiles the trainings of a test, short as they are, whatever an example of a docstring has set."""
    tfkit.config.set_compile_after(0)


@pytest.fixture(autouse=True, scope="module")
def only_new_objects():
    """The collector sees the objects of this module: those of all before it would take seconds each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def mnist():
    """The digits, `(x_train, y_train), (x_test, y_test)`; no test downloads them."""
    for folder in os.environ.get("TFKIT_DATA", "").split(os.pathsep):
        path = os.path.join(folder, "mnist.npz")
        if folder and os.path.exists(path):
            return mnist_dataset.load_data(path)
    pytest.skip("set TFKIT_DATA to a folder with mnist.npz")
