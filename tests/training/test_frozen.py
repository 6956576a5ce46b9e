"""Models that have nothing to learn say so, as in Keras."""

import warnings

import numpy as np
import pytest

import tfkit
from tfkit import layers

X = np.linspace(0, 1, 24, dtype="float32").reshape(8, 3)


def frozen_model():
    model = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2), layers.Dense(1)])
    model.trainable = False
    return model


def frozen_layers():
    model = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2), layers.Dense(1)])
    for layer in model.layers:
        layer.trainable = False
    return model


def without_weights():
    return tfkit.Sequential([tfkit.Input((3,)), layers.Flatten()])


@pytest.mark.parametrize("make", [frozen_model, frozen_layers, without_weights])
@pytest.mark.parametrize("run_eagerly", [False, True], ids=["compiled", "eager"])
def test_it_warns_and_nothing_changes(make, run_eagerly):
    model = make()
    before = [np.array(weight) for weight in model.weights]
    model.compile("sgd", "mse", run_eagerly=run_eagerly)
    with pytest.warns(UserWarning, match="does not have any trainable weights") as caught:
        losses = model.fit(X, X[:, :1] if before else X, epochs=2, verbose=0).history["loss"]
    assert all(each.filename == __file__ for each in caught)
    assert losses[0] == pytest.approx(losses[1])
    for weight, value in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_it_does_not_warn_where_something_is_learnt_or_nothing_is_trained():
    model = frozen_model()
    model.compile("sgd", "mse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.evaluate(X, X[:, :1], verbose=0)
        model.predict(X, verbose=0)
        model.trainable = True
        model.layers[0].trainable = False
        model.compile("sgd", "mse")
        model.fit(X, X[:, :1], verbose=0)
