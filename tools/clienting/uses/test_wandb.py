"""Programs that use the callbacks of Weights & Biases, without its server."""

import keras
import numpy as np
import pytest
import wandb
from wandb.integration.keras import WandbEvalCallback, WandbMetricsLogger, WandbModelCheckpoint

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
    logged = []
    log = run.log
    run.log = lambda values, *rest, **options: (
        logged.append(values),
        log(values, *rest, **options),
    )
    callback = WandbMetricsLogger(log_freq=frequency)
    fit(callback, keras.optimizers.SGD(rate))
    found = wandb.run.summary
    record_property("logged", [sorted(each) for each in logged])
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


def test_tables_of_predictions(run):
    class Predictions(WandbEvalCallback):
        def add_ground_truth(self, logs=None):
            for index in range(3):
                self.data_table.add_data(index, float(Y[index, 0]))

        def add_model_predictions(self, epoch, logs=None):
            for index, value in enumerate(self.model.predict(X[:3], verbose=0)):
                row = self.data_table_ref.data[index]
                self.pred_table.add_data(epoch, *row, float(value[0]))

    callback = Predictions(["index", "y"], ["epoch", "index", "y", "found"])
    fit(callback)
    assert len(callback.pred_table.data) == 3
