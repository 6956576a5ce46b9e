"""Programs that use Optuna's callbacks: trainings that are stopped because others were better."""

import keras
import numpy as np
import optuna
import pytest
from optuna_integration import KerasPruningCallback, TFKerasPruningCallback

X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
optuna.logging.set_verbosity(optuna.logging.ERROR)


def study(callback, pruner, record_property, **fitting):
    def objective(trial):
        keras.utils.set_random_seed(1)
        units = trial.suggest_int("units", 1, 16)
        rate = trial.suggest_float("rate", 1e-4, 0.1, log=True)
        model = keras.Sequential([keras.layers.Dense(units, "relu"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(rate), "mse", metrics=["mae"])
        history = model.fit(
            *(X, Y),
            validation_split=0.25,
            epochs=4,
            shuffle=False,
            verbose=0,
            callbacks=[callback(trial, "val_loss")],
            **fitting,
        )
        return history.history["val_loss"][-1]

    sampler = optuna.samplers.RandomSampler(seed=0)
    found = optuna.create_study(sampler=sampler, pruner=pruner)
    found.optimize(objective, n_trials=6)
    record_property("values", [each.value for each in found.trials])
    record_property("states", [each.state.name for each in found.trials])
    record_property("steps", [sorted(each.intermediate_values.items()) for each in found.trials])
    return found


@pytest.mark.parametrize("callback", [KerasPruningCallback, TFKerasPruningCallback])
def test_pruning(callback, record_property):
    pruner = optuna.pruners.MedianPruner(n_startup_trials=1, n_warmup_steps=1)
    found = study(callback, pruner, record_property)
    states = [each.state for each in found.trials]
    assert optuna.trial.TrialState.PRUNED in states
    assert optuna.trial.TrialState.COMPLETE in states


@pytest.mark.parametrize("callback", [KerasPruningCallback, TFKerasPruningCallback])
def test_nothing_is_pruned(callback, record_property):
    found = study(callback, optuna.pruners.NopPruner(), record_property, batch_size=10)
    assert [len(each.intermediate_values) for each in found.trials] == [4] * 6


@pytest.mark.parametrize("callback", [KerasPruningCallback, TFKerasPruningCallback])
def test_a_metric_that_is_not_there(callback):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    trial = optuna.create_study().ask()
    with pytest.warns(UserWarning, match="'accuracy'"):
        model.fit(X, Y, verbose=0, callbacks=[callback(trial, "accuracy")])


def test_every_second_epoch():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    found = optuna.create_study()
    trial = found.ask()
    model.fit(X, Y, epochs=5, verbose=0, callbacks=[KerasPruningCallback(trial, "loss", 2)])
    assert sorted(found.trials[0].intermediate_values) == [1, 3]
