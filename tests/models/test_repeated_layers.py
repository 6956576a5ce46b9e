"""A layer that is in several places of a Sequential model."""

import copy
import pickle

import numpy as np
import pytest

import tfkit
from tfkit import layers

X = np.random.default_rng(0).normal(size=(4, 4)).astype("float32")


def at_once():
    dense = layers.Dense(4)
    return tfkit.Sequential([tfkit.Input((4,)), dense, dense])


def one_by_one():
    dense, model = layers.Dense(4, name="twice"), tfkit.Sequential()
    for layer in (tfkit.Input((4,)), dense, layers.Dense(4), layers.ReLU(), dense):
        model.add(layer)
    return model


def without_input():
    dense = layers.Dense(4)
    model = tfkit.Sequential([dense, layers.Dense(4), dense])
    model(X)
    return model


def check_same(model, other):
    assert other.layers[0] is other.layers[-1]
    assert [type(layer) for layer in other.layers] == [type(layer) for layer in model.layers]
    assert len(other.weights) == len(model.weights)
    for value, expected in zip(other.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(other(X), model(X), rtol=1e-5)


@pytest.mark.parametrize("make", [at_once, one_by_one, without_input])
def test_a_repeated_layer_has_its_weights_once_everywhere(make, tmp_path, capsys):
    model = make()
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.fit(X, X, verbose=0)
    assert all(not np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    assert len(model.weights) == 2 * len({layer for layer in model.layers if layer.weights})
    for file in ("model.h5", "model.keras"):
        model.save(tmp_path / file)
        check_same(model, tfkit.models.load_model(tmp_path / file))
    check_same(model, copy.deepcopy(model))
    check_same(model, pickle.loads(pickle.dumps(model)))
    for file in ("model.weights.h5", "model.safetensors"):
        model.save_weights(tmp_path / file)
        clone = tfkit.models.clone_model(model)
        clone.build((None, 4))
        clone.load_weights(tmp_path / file)
        check_same(model, clone)
    model.summary()
    assert f"Trainable params: {model.count_params()}" in capsys.readouterr().out
    top = model.pop()
    assert top is model.layers[0]


def test_two_layers_of_one_name_are_refused():
    with pytest.raises(ValueError, match="unique names"):
        tfkit.Sequential([tfkit.Input((4,)), layers.Dense(3, name="a"), layers.Dense(3, name="a")])
    config = one_by_one().get_config()
    config["layers"][-1] = {
        **config["layers"][-1],
        "config": {**config["layers"][-1]["config"], "units": 5},
    }
    with pytest.raises(ValueError, match="unique names"):
        tfkit.Sequential.from_config(config)
