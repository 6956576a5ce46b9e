"""Layers that call others with given values, by `stateless_call`: exported, in JAX and in PyTorch."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


class Hypernetwork(layers.Layer):
    """A layer whose values a network computes."""

    def __init__(self):
        super().__init__()
        self.below, self.above = layers.Dense(2, activation="tanh"), layers.Dense(8)

    def build(self, input_shape):
        self.below.build((None, 3))
        self.above.build((1, 2))
        self.code = self.add_weight(shape=(1, 2), initializer="ones")

    def call(self, x):
        values = self.above(self.code)[0]
        return self.below.stateless_call([tf.reshape(values[:6], (3, 2)), values[6:]], [], x)[0]


class Scaled(layers.Layer):
    """A model whose weights are all multiplied by a factor."""

    def __init__(self):
        super().__init__()
        self.model = tfkit.Sequential(
            [tfkit.Input((3,)), layers.Dense(4, activation="relu"), layers.Dense(2)]
        )
        self.factor = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        values = [weight.value * self.factor for weight in self.model.trainable_variables]
        return self.model.stateless_call(values, [], x)[0]


class Learner(layers.Layer):
    """A layer after one step of gradient descent."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        values = [tf.identity(weight) for weight in self.dense.trainable_variables]
        with tf.GradientTape() as tape:
            tape.watch(values)
            loss = tf.reduce_mean(self.dense.stateless_call(values, [], x)[0] ** 2)
        steps = tape.gradient(loss, values)
        changed = [value - 0.1 * step for value, step in zip(values, steps, strict=True)]
        return self.dense.stateless_call(changed, [], x)[0]


class Looked(layers.Layer):
    """An embedding with another table."""

    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(5, 2)

    def build(self, input_shape):
        self.embedding.build(())
        self.shift = self.add_weight(shape=(5, 2), initializer="ones")

    def call(self, x):
        ids = tf.cast(tf.abs(x) * 2, "int32") % 5
        table = self.embedding.trainable_variables[0].value + self.shift
        return self.embedding.stateless_call([table], [], ids)[0]


class Assigns(layers.Layer):
    """A layer that changes a trained value in its call, and reads it again."""

    def __init__(self):
        super().__init__()
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        self.scale.assign_add(1.0)
        return x * self.scale


class CallsAssigning(layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = Assigns()
        self.inner.built = True

    def call(self, x):
        return self.inner.stateless_call([tf.constant(3.0)], [], x)[0]


LAYERS = {cls.__name__: cls for cls in (Hypernetwork, Scaled, Learner, Looked)}


@pytest.fixture(params=LAYERS)
def layer(request):
    tfkit.utils.set_random_seed(1)
    layer = LAYERS[request.param]()
    layer(X)
    return layer


def expected_of(layer):
    """The outputs, and the gradients, which are 0 of values that are not used."""
    with tf.GradientTape() as tape:
        outputs = layer(X)
        loss = tf.reduce_sum(outputs**2)
    weights = layer.trainable_weights
    slopes = tape.gradient(loss, weights, unconnected_gradients="zero")
    return outputs, [tf.convert_to_tensor(slope) for slope in slopes]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_exported(layer, tmp_path):
    model = tfkit.Sequential([tfkit.Input((3,)), layer])
    model.export(tmp_path / "exported", verbose=False)
    before = layer.get_weights()
    loaded = tf.saved_model.load(tmp_path / "exported")
    close(loaded.serve(X), layer(X))
    for weight, value in zip(layer.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_in_jax(layer):
    jax = pytest.importorskip("jax")
    outputs, slopes = expected_of(layer)
    f, params, state = tfkit.interop.to_jax(layer, X)
    close(jax.jit(f)(params, state, X)[0], outputs)
    found = jax.grad(lambda params: (f(params, state, X)[0] ** 2).sum())(params)
    for path, slope in zip(params, slopes, strict=True):
        close(found[path], slope)


def test_in_pytorch(layer):
    torch = pytest.importorskip("torch")
    outputs, slopes = expected_of(layer)
    module = tfkit.interop.to_torch(layer, X).eval()
    found = module(torch.tensor(X))
    close(found.detach().numpy(), outputs)
    (found**2).sum().backward()
    for parameter, slope in zip(module.parameters(), slopes, strict=True):
        close(0 * slope if parameter.grad is None else parameter.grad, slope)


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_a_given_value_that_the_call_changes(framework):
    library = pytest.importorskip(framework)
    layer = CallsAssigning()
    close(layer(X), 4 * X)
    if framework == "jax":
        f, params, state = tfkit.interop.to_jax(layer, X)
        close(f(params, state, X)[0], 4 * X)
    else:
        close(tfkit.interop.to_torch(layer, X).eval()(library.tensor(X)).detach(), 4 * X)
