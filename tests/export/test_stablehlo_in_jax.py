"""StableHLO files, run by JAX's runtime, which knows nothing of TensorFlow."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

# A Python of its own: JAX asks for other versions of what TensorFlow needs too; see docs/export.md.
PYTHON = os.environ.get("TFKIT_JAX_PYTHON", sys.executable)

# The only parts of JAX that take the text of a module; seen in 0.10.
PROGRAM = """
import sys
import jax
import numpy as np
from jaxlib import _jax

folder = sys.argv[1]
device = jax.devices("cpu")[0]
with open(f"{folder}/model.mlir", encoding="utf-8") as file:
    text = file.read()
program = device.client.compile_and_load(text, [device], _jax.CompileOptions())
with np.load(f"{folder}/inputs.npz") as inputs:
    given = [jax.device_put(inputs[f"arr_{index}"], device) for index in range(len(inputs.files))]
outputs = program.execute_sharded(given).disassemble_into_single_device_arrays()
np.savez(f"{folder}/outputs.npz", *(np.asarray(shards[0]) for shards in outputs))
assert "tensorflow" not in sys.modules
"""


@pytest.fixture(scope="module")
def _jax():
    if "TFKIT_JAX_PYTHON" not in os.environ and importlib.util.find_spec("jax") is None:
        pytest.skip(
            "jax is not installed: python -m venv jax && jax/bin/pip install 'jax>=0.10', then set "
            "TFKIT_JAX_PYTHON=jax/bin/python"
        )


def dense():
    x = tfkit.Input((3,), name="x")
    return tfkit.Model(x, layers.Dense(2)(layers.Dense(8, activation="gelu")(x))), [(5, 3)]


def convolution():
    x = tfkit.Input((8, 8, 2), name="x")
    hidden = layers.BatchNormalization()(layers.Conv2D(3, 3, activation="relu")(x))
    hidden = layers.MaxPooling2D()(hidden)
    return tfkit.Model(x, layers.GlobalAveragePooling2D()(hidden)), [(2, 8, 8, 2)]


def recurrent():
    x = tfkit.Input((6, 3), name="x")
    hidden = layers.LSTM(4, return_sequences=True)(layers.Masking()(x))
    return tfkit.Model(x, [hidden, layers.Bidirectional(layers.GRU(3))(hidden)]), [(2, 6, 3)]


def two_of_each():
    inputs = [tfkit.Input((4, 3), name="z"), tfkit.Input((4, 3), name="a")]
    hidden = layers.MultiHeadAttention(2, 2, name="y")(*inputs)
    outputs = [hidden, layers.LayerNormalization(name="b")(hidden)]  # Names that are not sorted.
    return tfkit.Model(inputs, outputs), [(2, 4, 3), (2, 4, 3)]


@pytest.mark.usefixtures("_jax")
@pytest.mark.parametrize("make", [dense, convolution, recurrent, two_of_each])
def test_jax_runs_the_text(make, tmp_path):
    model, shapes = make()
    random = np.random.default_rng(0)
    inputs = [random.normal(size=shape).astype("float32") for shape in shapes]
    specs = [tf.TensorSpec(shape) for shape in shapes]
    signature = [specs] if len(specs) > 1 else specs
    file = tmp_path / "model.mlir"
    model.export(file, format="stablehlo", verbose=False, input_signature=signature)
    np.savez(tmp_path / "inputs.npz", *inputs)
    environment = {"PATH": os.environ["PATH"], "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [PYTHON, "-I", "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    expected = tf.nest.flatten(model(inputs if len(inputs) > 1 else inputs[0]))
    with np.load(tmp_path / "outputs.npz") as outputs:
        assert len(outputs.files) == len(expected)
        for index, value in enumerate(expected):
            np.testing.assert_allclose(outputs[f"arr_{index}"], value, rtol=1e-5, atol=1e-5)
