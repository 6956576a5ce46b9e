"""Programs that use the callbacks of Weights & Biases, without its server."""

import keras
import numpy as np
import pytest
import wandb
from wandb.integration.keras import WandbMetricsLogger, WandbModelCheckpoint

X = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


@pytest.fixture
def run(tmp_path):
    keras.utils.set_random_seed(1)
    with wandb.init(mode="offline", dir=tmp_path, project="test") as run:
        yield run


def model(optimizer="sgd"):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


def fit(callback, optimizer="sgd"):
    return model(optimizer).fit(
        *(X, Y), validation_data=(X, Y), epochs=2, shuffle=False, verbose=0, callbacks=[callback]
    )


@pytest.mark.parametrize("frequency", ["epoch", "batch", 1])
@pytest.mark.parametrize("scheduled", [False, True])
def test_metrics(run, frequency, scheduled, record_property):
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5) if scheduled else 0.1
    callback = WandbMetricsLogger(log_freq=frequency)
    fit(callback, keras.optimizers.SGD(rate))
    found = wandb.run.summary
    kind = "epoch" if frequency == "epoch" else "batch"
    record_property("loss", float(found[f"{kind}/loss"]))
    record_property("rate", float(found[f"{kind}/learning_rate"]))


@pytest.mark.parametrize("name", ["model.keras", "model.weights.h5"])
def test_checkpoints(run, tmp_path, name):
    weights = name.endswith(".weights.h5")
    callback = WandbModelCheckpoint(tmp_path / name, save_weights_only=weights)
    fit(callback)
    assert (tmp_path / name).exists()
    if not weights:
        np.testing.assert_array_equal(
            keras.models.load_model(tmp_path / name).predict(X, verbose=0).shape, (32, 1)
        )
