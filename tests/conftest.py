"""What all tests share: quiet TensorFlow, equal seeds for each test, the MNIST digits, the wide tests."""

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
from tests import wide
from tfkit.datasets import mnist as mnist_dataset
from tfkit.src.base.registry.dtype_policies import reset_dtype_policy

# Rarer than by default, which takes a fourth of the collection of all tests, and 2% of their time:
# `only_new_objects` collects after each module.
gc.set_threshold(20_000, 10, 10)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks the wide tests; `-m "not wide"` leaves them out."""
    for item, is_wide in zip(items, wide.find([item.nodeid for item in items]), strict=True):
        if is_wide:
            item.add_marker("wide")


def pytest_addoption(parser):
    """Tests see the tracebacks that users see; `--all-frames` shows tfkit's and TensorFlow's lines."""
    parser.addoption("--all-frames", action="store_true", help="show all frames of tracebacks")


def pytest_configure(config):
    """Applies the options, and lets XLA compile trainings as short as those of tests."""
    tfkit.config.set_compile_after(0)
    if config.getoption("--all-frames"):
        tfkit.config.disable_traceback_filtering()


@pytest.fixture(autouse=True)
def same_start():
    """Each test starts from the same state, whichever tests and examples ran before it."""
    random.seed(0)
    np.random.seed(0)
    reset_dtype_policy()  # The policy that follows `floatx`.
    tfkit.config.set_compile_after(0)  # XLA compiles the trainings of a test, short as they are.


@pytest.fixture(autouse=True, scope="module")
def only_new_objects():
    """The collector sees the objects of this module: those of all before it would take seconds each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def eager_keras():
    """Keras trains eagerly, whatever `compile` was given: tracing takes longer than a few steps do."""
    import keras  # After tfkit, which sets flags that TensorFlow reads.

    with pytest.MonkeyPatch.context() as patch:
        always = property(lambda model: True, lambda model, value: None)
        patch.setattr(keras.Model, "run_eagerly", always)
        yield


@pytest.fixture(scope="session")
def mnist():
    """The digits, `(x_train, y_train), (x_test, y_test)`; no test downloads them."""
    for folder in os.environ.get("TFKIT_DATA", "").split(os.pathsep):
        path = os.path.join(folder, "mnist.npz")
        if folder and os.path.exists(path):
            return mnist_dataset.load_data(path)
    pytest.skip("set TFKIT_DATA to a folder with mnist.npz")
