"""Attributes that are set once a layer is built, and state that is added inside a call."""

import functools

import keras as oracle
import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit import layers

pytestmark = pytest.mark.usefixtures("eager_keras")

X = np.random.default_rng(0).normal(size=(8, 6)).astype("float32")
SERIES = X[..., None]


def after(library, make, name, value, x):
    """Sums of what a model computes once an attribute of its layer is set, and its loss."""
    library.utils.set_random_seed(0)
    layer = make(library.layers)
    model = library.Sequential([library.Input(x.shape[1:]), layer])
    model.compile("sgd", "mse")
    first = model.predict(x, verbose=0)
    layer(x)
    setattr(layer, name, value(library) if callable(value) else value)
    model.compile("sgd", "mse")
    second = model.predict(x, verbose=0)
    loss = model.evaluate(x, np.zeros_like(second), verbose=0)
    return [first.sum(), second.sum(), np.sum(layer(x)), loss]


CASES = {
    "no activation": (lambda L: L.Dense(3, activation="relu"), "activation", None, X),
    "activation": (lambda L: L.Dense(3), "activation", lambda k: k.activations.tanh, X),
    "of a convolution": (lambda L: L.Conv1D(3, 2, activation="relu"), "activation", None, SERIES),
    "of an LSTM cell": (
        lambda L: L.RNN(L.LSTMCell(2)),
        "return_sequences",
        True,
        SERIES,
    ),
    "strides": (lambda L: L.Conv1D(3, 2), "strides", lambda k: (2,), SERIES),
    "padding": (lambda L: L.Conv1D(3, 2), "padding", "same", SERIES),
    "epsilon": (lambda L: L.LayerNormalization(), "epsilon", 0.5, X),
    "slope": (lambda L: L.LeakyReLU(0.2), "negative_slope", 0.5, X),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_set_after_build_is_computed_with_as_in_keras(case):
    np.testing.assert_allclose(after(oracle, *case), after(keras, *case), rtol=1e-4, atol=1e-5)


def test_a_regularizer_that_is_set_after_build_reaches_the_loss_of_traced_programs():
    layer = layers.Dense(2, kernel_initializer="ones", use_bias=False)
    model = keras.Sequential([keras.Input((6,)), layer])
    model.compile("sgd", "mse")
    targets = model.predict(X, verbose=0)
    assert model.evaluate(X, targets, verbose=0) == pytest.approx(0, abs=1e-9)
    layer.kernel_regularizer = keras.regularizers.L2(0.5)
    assert model.evaluate(X, targets, verbose=0) == pytest.approx(0.5 * 12)
    layer.kernel.regularizer = keras.regularizers.L2(0.25)
    assert model.evaluate(X, targets, verbose=0) == pytest.approx(0.25 * 12)
    layer.kernel_regularizer = None
    assert model.evaluate(X, targets, verbose=0) == pytest.approx(0, abs=1e-9)
    layer.bias_regularizer = "l2"  # There is no bias: nothing to add.
    assert layer.bias_regularizer.get_config() == keras.regularizers.get("l2").get_config()


def test_a_constraint_that_is_set_after_build_holds_from_the_next_update_on():
    layer = layers.Dense(2, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((6,)), layer])
    model.compile("sgd", "mse")
    model.fit(X, X[:, :2], verbose=0)
    assert layer.kernel.numpy().min() < 0
    layer.kernel_constraint = "non_neg"
    model.fit(X, X[:, :2], verbose=0)
    assert layer.kernel.numpy().min() >= 0


def test_a_weight_that_is_frozen_by_itself_is_trained_no_more():
    layer = layers.Dense(2)
    model = keras.Sequential([keras.Input((6,)), layer])
    model.compile("sgd", "mse")
    model.fit(X, X[:, :2], verbose=0)
    layer.bias.trainable = False
    assert [weight.name for weight in model.trainable_weights] == ["kernel"]
    kernel, bias = model.get_weights()
    model.fit(X, X[:, :2], verbose=0)
    assert (model.get_weights()[0] != kernel).any()
    np.testing.assert_array_equal(model.get_weights()[1], bias)


def test_a_setting_that_cannot_reach_its_weights_is_refused():
    layer = layers.MultiHeadAttention(2, 3)
    layer(X[None], X[None])
    with pytest.raises(AttributeError, match=r"kernel_regularizer.*Set it before"):
        layer.kernel_regularizer = "l2"
    assert layer.kernel_regularizer is None


def test_the_name_can_be_set():
    layer = layers.Dense(2)
    layer.name = "scores"
    assert layer.name == "scores"
    assert layer.get_config()["name"] == "scores"
    with pytest.raises(ValueError, match="cannot contain character `/`"):
        layer.name = "a/b"
    assert layer.name == "scores"


VALUES = [np.zeros((6, 2)), tf.zeros((6, 2)), None, keras.Variable(np.zeros((6, 2), "float32"))]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_weight_is_not_replaced(value):
    layer = layers.Dense(2)
    layer.build((None, 6))
    kernel = layer.kernel
    with pytest.raises(AttributeError, match=r"`kernel`.*layer\.kernel\.assign"):
        layer.kernel = value
    assert layer.kernel is kernel
    assert len(layer.weights) == 2
    layer.kernel = kernel  # The same one.


class Inside(layers.Layer):
    """Calls what it is given, inside `call`."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def call(self, inputs):
        return self.body(self, inputs)


def assigned(self, inputs):
    self.dense = layers.Dense(2)
    return self.dense(inputs)


def in_list(self, inputs):
    self.blocks = [layers.ReLU(), layers.Dense(2)]
    return self.blocks[1](inputs)


def variable(self, inputs):
    self.scale = keras.Variable(1.0)
    return inputs * self.scale


NEW_STATE = {
    "a layer": lambda self, inputs: layers.Dense(2)(inputs),
    "a model": lambda self, inputs: keras.Sequential([layers.Dense(2)])(inputs),
    "an attribute": assigned,
    "a list": in_list,
    "a variable": variable,
}


@pytest.mark.parametrize("body", NEW_STATE.values(), ids=NEW_STATE)
def test_state_that_is_made_in_a_call_is_refused(body):
    layer = Inside(body)
    for call in (lambda: layer(X), lambda: keras.Sequential([layer]).predict(X, verbose=0)):
        with pytest.raises(ValueError, match=r"`call\(\)`.*`__init__\(\)`"):
            call()
    assert layer.weights == []


def test_what_has_no_weights_may_be_made_in_a_call():
    layer = Inside(lambda self, inputs: layers.ReLU()(inputs))
    np.testing.assert_array_equal(layer(X), np.maximum(X, 0))


def test_layers_may_be_made_in_build_while_another_layer_is_called():
    class Built(layers.Layer):
        def build(self, input_shape):
            self.dense = layers.Dense(2)

        def call(self, inputs):
            return self.dense(inputs)

    built = Built()
    layer = Inside(lambda self, inputs: self.inner(inputs))
    layer.inner = built
    assert layer(X).shape == (8, 2)
    assert len(built.weights) == 2


def test_a_call_may_ask_for_the_shape_that_a_layer_would_give():
    dense = layers.Dense(2)
    layer = Inside(lambda self, inputs: inputs * dense.compute_output_shape((None, 6))[1])
    np.testing.assert_array_equal(layer(X), 2 * X)


@pytest.mark.parametrize(
    "wrapped", [tf.function, lambda layer: functools.wraps(layer)(lambda x: layer(x))]
)
def test_a_function_that_wraps_a_layer_is_not_a_layer(wrapped):
    """It has copies of the layer's attributes. Keras does not train the weights here."""

    class Wrapping(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(3)
            self.function = wrapped(self.dense)

        def call(self, x):
            return self.function(x)

    model = Wrapping()
    outputs = model(tf.ones((2, 4)))
    assert list(model.get_weights()[0].shape) == [4, 3]
    assert [weight.path for weight in model.trainable_weights] == [
        f"{model.name}/dense/kernel",
        f"{model.name}/dense/bias",
    ]
    np.testing.assert_array_equal(outputs, model.dense(tf.ones((2, 4))))


def test_members_are_in_the_order_in_which_they_were_attached():
    dense = [layers.Dense(units, use_bias=False) for units in range(1, 6)]
    for each in dense:
        each.build((None, 1))
    layer = layers.Layer()
    layer.first, layer.several, layer.last = dense[0], dense[1:3], dense[3]
    assert [weight.shape[1] for weight in layer.weights] == [1, 2, 3, 4]
    layer.first = dense[4]
    assert [weight.shape[1] for weight in layer.weights] == [2, 3, 4, 5]


def with_property(base, *arguments):
    """Returns an object of a class whose property has a setter that counts, and refuses negative numbers."""

    class Counting(base):
        count = 0

        @property
        def rate(self):
            return self._rate

        @rate.setter
        def rate(self, value):
            if value < 0:
                raise ValueError("negative")
            self.count += 1
            self._rate = value

    return Counting(*arguments)


KINDS = {
    "layer": (layers.Layer,),
    "model": (keras.Model,),
    "metric": (keras.metrics.Metric,),
    "optimizer": (keras.optimizers.Optimizer, 0.1),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_setter_of_a_users_property_runs_each_time(kind):
    it = with_property(*kind)
    value = tf.Variable(2.0)
    it.rate = it.rate = 0.5
    it.rate = value
    it.rate = value
    assert it.count == 4
    refused = tf.Variable(-1.0)
    with pytest.raises(ValueError, match="negative"):
        it.rate = refused
    children = it._trackable_children()
    assert it.rate is children["_rate"] is value
    assert all(child is not refused for child in children.values())
