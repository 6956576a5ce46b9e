"""`export_training`: the folder trains without TensorFlow, and gives the weights of `fit(engine="jax")`."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers, optimizers
from tfkit.interop import export_training

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")

# Without JAX this module has nothing.
from tests.convert.test_jax_engine import (  # noqa: E402
    FLOATS,
    LABELS,
    cnn,
    cross_entropy,
    embedding,
    masked_lstm,
    stateful,
    transformer,
    vae,
)

ROWS = 22  # Two batches of 8, and one of 6.
X, Y = FLOATS[:ROWS], LABELS[:ROWS]
WEIGHTS = np.linspace(0, 2, ROWS).astype("float32")

# As a file: modules that are blocked cannot be imported, by anything.
WITHOUT_TENSORFLOW = """
import runpy, sys
sys.modules.update(dict.fromkeys(["tensorflow", "tfkit", "keras"]))
script, *sys.argv[1:] = sys.argv[1:]
runpy.run_path(script, run_name="__main__")
"""


class Sides(tfkit.Model):
    """A nest of inputs, dropout, running means, an own loss, a log of its own, a frozen layer."""

    def __init__(self):
        super().__init__()
        self.frozen = layers.Dense(6, trainable=False)
        self.parts = [layers.BatchNormalization(), layers.Dropout(0.3, seed=1)]
        self.head = layers.Dense(4)
        self.unused = layers.Dense(1)
        self.unused.build((None, 2))
        self.unused.trainable = False

    def call(self, inputs, training=False):
        x = self.frozen(inputs["left"]) + inputs["right"][:, :6]
        for part in self.parts:
            x = part(x, training=training)
        return self.head(x)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        logs = super().compute_metrics(x, y, y_pred, sample_weight)
        return logs | {"rate": self.optimizer.learning_rate}


def sides(engine="jax"):
    tfkit.utils.set_random_seed(5)
    model = Sides()
    schedule = optimizers.schedules.CosineDecay(0.05, 20)
    optimizer = optimizers.AdamW(schedule, weight_decay=0.1, use_ema=True, clipnorm=1.0)
    model.compile(optimizer, cross_entropy(), weighted_metrics=["accuracy"], engine=engine)
    return model


def run(folder, *arguments):
    command = [sys.executable, "-c", WITHOUT_TENSORFLOW, str(folder / "train.py")]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    x = {"left": X, "right": X[:, ::-1]}
    export_training(sides("tensorflow"), folder / "training", x, Y, WEIGHTS, batch_size=8)
    np.savez(folder / "x.npz", **x)
    np.save(folder / "y.npy", Y)
    np.save(folder / "weights.npy", WEIGHTS)
    return folder


def test_it_trains_without_tensorflow_and_gives_the_weights_of_fit(exported):
    data = ("--x", exported / "x.npz", "--y", exported / "y.npy")
    data += ("--sample_weight", exported / "weights.npy")
    parts = exported / "two", exported / "three"
    first = run(exported / "training", *data, "--epochs", 2, "--output", parts[0])
    assert first.returncode == 0, first.stderr[-2000:]
    second = run(exported / "training", *data, "--start", parts[0], "--output", parts[1])
    assert second.returncode == 0, second.stderr[-2000:]

    model = sides()
    x = {"left": X, "right": X[:, ::-1]}
    options = {"sample_weight": WEIGHTS, "batch_size": 8, "verbose": 0}
    histories = [model.fit(x, Y, epochs=n, **options).history for n in (2, 1)]
    lines = first.stdout.splitlines() + second.stdout.splitlines()
    for name in ("accuracy", "loss", "rate"):
        found = [float(line.split(f"{name} ")[1].split()[0]) for line in lines]
        np.testing.assert_allclose(found, [*histories[0][name], *histories[1][name]], rtol=1e-5)
    loaded = sides()
    loaded.build({"left": (None, 12), "right": (None, 12)})
    loaded.load_weights(parts[1] / "weights.safetensors")
    for one, two in zip(model.variables, loaded.variables, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-7, err_msg=one.path)


def test_the_script_refuses_data_that_does_not_fit(exported):
    x, y = ("--x", exported / "x.npz"), ("--y", exported / "y.npy")
    weights = ("--sample_weight", exported / "weights.npy")
    np.save(exported / "large.npy", np.full(ROWS, 2**40))
    refused = run(exported / "training", *x, "--y", exported / "large.npy", *weights)
    assert (
        "y: expected {'shape': [None], 'dtype': 'int32'}. Received: (22,), int64" in refused.stderr
    )
    assert "required: --sample_weight" in run(exported / "training", *x, *y).stderr


@pytest.mark.parametrize("make", [cnn, embedding, masked_lstm, transformer, vae])
def test_models_are_lowered_for_all_platforms(make, tmp_path):
    tfkit.utils.set_random_seed(0)
    model, x = make()
    is_vae = make is vae
    model.compile("sgd", "mse" if is_vae else cross_entropy())
    x = x[:20]
    export_training(model, tmp_path / "training", x, x if is_vae else LABELS[:20])
    program = jax.export.deserialize(bytearray((tmp_path / "training/program.bin").read_bytes()))
    assert program.platforms == ("cpu", "cuda", "tpu")
    form = json.loads((tmp_path / "training/training.json").read_text())
    assert list(form["data"]) == (["x"] if is_vae else ["x", "y"])  # The same array once.
    assert "tensorflow" not in (tmp_path / "training/train.py").read_text().lower()


def test_refusals(tmp_path):
    model = tfkit.Sequential([tfkit.Input((12,)), layers.Dense(4)])
    with pytest.raises(TypeError, match=r"`export_training` needs a model\. Received: 3"):
        export_training(3, tmp_path / "a", X, Y)
    with pytest.raises(ValueError, match=r"call `compile\(\)` before calling `export_training"):
        export_training(model, tmp_path / "a", X, Y)
    model.compile("sgd", cross_entropy())
    for platforms in ("cpu", ["gpu"], []):
        with pytest.raises(ValueError, match="must be a list of some of"):
            export_training(model, tmp_path / "a", X, Y, platforms=platforms)
    with pytest.raises(FileExistsError, match=r"exists\. Choose a name for a new folder"):
        export_training(model, tmp_path, X, Y)
    words = tfkit.Sequential(
        [tfkit.Input((), dtype="string"), layers.StringLookup(vocabulary=["a"])]
    )
    words.compile("sgd", "mse")
    with pytest.raises(ValueError, match="have: strings"):
        export_training(words, tmp_path / "a", np.array(["a"] * ROWS), Y)

    class Storing(layers.Dense):
        def save_own_variables(self, store):
            store["kernel"] = tf.convert_to_tensor(self.kernel)

        def load_own_variables(self, store):
            self.kernel.assign(store["kernel"])

    storing = tfkit.Sequential([tfkit.Input((12,)), Storing(4)])
    storing.compile("sgd", cross_entropy())
    with pytest.raises(ValueError, match=r"'storing/kernel'.*own `save_own_variables\(\)`"):
        export_training(storing, tmp_path / "a", X, Y)
    model, x = stateful()
    model.compile("sgd", cross_entropy())
    with pytest.raises(
        ValueError, match=r"batches of any size.*ncompatible shapes.*some sizes only"
    ):
        export_training(model, tmp_path / "a", x, LABELS[:80], batch_size=16)
    assert not list(tmp_path.iterdir())
