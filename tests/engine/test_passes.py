"""Passes are switched off by name, and a program without them computes the same."""

import os
import subprocess
import sys

import pytest

from tfkit.src.engine import passes

PROGRAM = """
import numpy as np
import tfkit as keras
keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(128, 256)).astype("float32")
model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(4)])
model.compile("sgd", "mse", jit_compile=True)
print(model.fit(x, x[:, :4], batch_size=64, epochs=3, verbose=0).history["loss"][-1])
"""


def test_each_pass_is_a_file():
    folder = os.path.dirname(passes.__file__)
    files = {name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py")}
    assert files == {*passes.NAMES, "__init__"}


def test_unknown_passes_are_refused():
    assert passes._switched_off(" halves, orders,") == {"halves", "orders"}
    with pytest.raises(
        ValueError, match=r"some of equals, halves, orders, places, transposes.*'halve'"
    ):
        passes._switched_off("halve")


def test_a_program_without_passes_computes_the_same():
    losses = []
    for off in ("", ",".join(passes.NAMES)):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "TFKIT_WITHOUT_PASSES": off},
            capture_output=True,
            text=True,
            check=True,
        )
        losses.append(float(run.stdout))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
