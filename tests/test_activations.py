"""Activations against Keras: values, names, signatures, configurations."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import activations
from tfkit.src.base.registry.tables import custom_object_scope
from tfkit.src.symbolic.tensors import KerasTensor

NAMES = sorted(
    name
    for name in dir(keras.activations)
    if not name.startswith("_") and name not in ("get", "serialize", "deserialize")
)
X = np.linspace(-4, 4, 24).reshape(3, 8).astype("float32")


def call(module, name, **kwargs):
    if name == "threshold":
        kwargs = {"threshold": 0.5, "default_value": 2.0, **kwargs}
    return getattr(module, name)(tf.constant(X), **kwargs)


@pytest.mark.parametrize("name", NAMES)
def test_against_keras(name):
    if name != "sparsemax":  # Keras's does not sum to 1; see the test of `ops.sparsemax`.
        mine, theirs = call(activations, name), call(keras.activations, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    compiled = tf.function(lambda: call(activations, name), jit_compile=True)()
    np.testing.assert_allclose(compiled, call(activations, name), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_signature_and_name(name):
    mine, theirs = getattr(activations, name), getattr(keras.activations, name)
    assert mine.__name__ == theirs.__name__
    described = [
        [(p.name, p.default) for p in inspect.signature(f).parameters.values()]
        for f in (mine, theirs)
    ]
    assert described[0] == described[1]


@pytest.mark.parametrize("name", NAMES)
def test_symbolic(name):
    args = (0.5, 2.0) if name == "threshold" else ()
    result = getattr(activations, name)(KerasTensor((None, 8)), *args)
    assert result.shape == ((None, 4) if name == "glu" else (None, 8))
    assert result.node.operation is getattr(activations, name)


@pytest.mark.parametrize(
    "options",
    [
        {"negative_slope": 0.3},
        {"max_value": 6.0},
        {"max_value": 2.0},
        {"threshold": 1.0},
        {"negative_slope": 0.3, "max_value": 2.0, "threshold": 1.0},
        {"negative_slope": 0.3, "threshold": -1.0},
        {"max_value": 6.0, "negative_slope": 0.1},
    ],
    ids=str,
)
def test_relu_options(options):
    mine, theirs = activations.relu(X, **options), keras.activations.relu(X, **options)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["sigmoid", "softmax"])
def test_logits_stay_on_the_result(name):
    x = tf.constant(X)
    assert getattr(activations, name)(x)._keras_logits is x


@pytest.mark.parametrize("name", NAMES)
def test_get_serialize_deserialize(name):
    function = getattr(activations, name)
    assert activations.get(name) is function
    assert activations.get(function) is function
    assert activations.serialize(function) == keras.activations.serialize(
        getattr(keras.activations, name)
    )
    assert activations.deserialize(activations.serialize(function)) is function


def test_get_none_is_linear():
    assert activations.get(None) is activations.linear
    with pytest.raises(ValueError, match="Did you mean 'relu'"):
        activations.get("rellu")


def test_function_of_the_user():
    def cubed(x):
        return x**3

    assert activations.get(cubed) is cubed
    config = activations.serialize(cubed)
    # The module, where Keras has "builtins", keeps the name from being taken for one of tfkit's own.
    assert config == keras.activations.serialize(cubed) | {"module": __name__}
    assert activations.deserialize(config, {"cubed": cubed}) is cubed
    with custom_object_scope({"cubed": cubed}):
        assert activations.get("cubed") is cubed


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (tf.exp, "exponential"),
        (tf.identity, "linear"),
        (tf.nn.elu, "elu"),
        (tf.nn.gelu, "gelu"),
        (tf.nn.leaky_relu, "leaky_relu"),
        (tf.nn.log_softmax, "log_softmax"),
        (tf.nn.relu, "relu"),
        (tf.nn.relu6, "relu6"),
        (tf.nn.selu, "selu"),
        (tf.nn.silu, "silu"),
        (tf.nn.softmax, "softmax"),
        (tf.nn.softplus, "softplus"),
        (tf.nn.softsign, "softsign"),
        (tf.nn.swish, "silu"),
        (tf.sigmoid, "sigmoid"),
        (tf.tanh, "tanh"),
    ],
)
def test_functions_of_tensorflow_are_saved_by_the_names_of_those_that_compute_the_same(
    function, name
):
    assert activations.serialize(function) == name
    x = tf.constant([[-9.0, -1.0, 0.0, 0.5, 7.0]])
    np.testing.assert_allclose(getattr(activations, name)(x), function(x), rtol=1e-6)


def test_a_layer_with_a_function_of_tensorflow_is_loaded(tmp_path):
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(2, activation=tf.nn.relu)])
    model.save(tmp_path / "model.keras")
    loaded = tfkit.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[-1].activation is activations.relu
