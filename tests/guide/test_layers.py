"""The founding guide's snippets on layers, with the values that it prints."""

import numpy as np
import pytest

import tfkit as keras
from tfkit import layers, ops


class Linear(keras.layers.Layer):
    def __init__(self, units=32, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(
            shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True
        )
        self.b = self.add_weight(shape=(self.units,), initializer="random_normal", trainable=True)

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b

    def get_config(self):
        config = super().get_config()
        config.update({"units": self.units})
        return config


def test_weights_made_in_the_constructor():
    class Eager(keras.layers.Layer):
        def __init__(self, units=32, input_dim=32):
            super().__init__()
            self.w = self.add_weight(
                shape=(input_dim, units), initializer="random_normal", trainable=True
            )
            self.b = self.add_weight(shape=(units,), initializer="zeros", trainable=True)

        def call(self, inputs):
            return ops.matmul(inputs, self.w) + self.b

    layer = Eager(4, 2)
    y = layer(ops.ones((2, 2)))
    assert y.shape == (2, 4)
    np.testing.assert_array_equal(y[0], y[1])
    assert layer.weights == [layer.w, layer.b]


def test_state_that_is_not_trained():
    class ComputeSum(keras.layers.Layer):
        def __init__(self, input_dim):
            super().__init__()
            self.total = self.add_weight(initializer="zeros", shape=(input_dim,), trainable=False)

        def call(self, inputs):
            self.total.assign_add(ops.sum(inputs, axis=0))
            return self.total

    x = ops.ones((2, 2))
    layer = ComputeSum(2)
    assert layer(x).numpy().tolist() == [2.0, 2.0]
    assert layer(x).numpy().tolist() == [4.0, 4.0]
    assert len(layer.weights) == len(layer.non_trainable_weights) == 1
    assert layer.trainable_weights == []


def test_layers_are_composed():
    class MLPBlock(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.linear_1 = Linear(32)
            self.linear_2 = Linear(32)
            self.linear_3 = Linear(1)

        def call(self, inputs):
            x = keras.activations.relu(self.linear_1(inputs))
            x = keras.activations.relu(self.linear_2(x))
            return self.linear_3(x)

    mlp = MLPBlock()
    assert mlp(ops.ones(shape=(3, 64))).shape == (3, 1)
    assert len(mlp.weights) == len(mlp.trainable_weights) == 6


class ActivityRegularizationLayer(keras.layers.Layer):
    def __init__(self, rate=1e-2):
        super().__init__()
        self.rate = rate

    def call(self, inputs):
        self.add_loss(self.rate * ops.mean(inputs))
        return inputs


def test_losses_are_those_of_the_latest_call():
    class Outer(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.activity_reg = ActivityRegularizationLayer(1e-2)

        def call(self, inputs):
            return self.activity_reg(inputs)

    layer = Outer()
    assert layer.losses == []
    for value in (0.0, 1.0, 2.0, 3.0):
        layer(ops.full((1, 1), value))
        assert [float(loss) for loss in layer.losses] == pytest.approx([0.01 * value])


def test_losses_hold_the_regularization_of_weights():
    class Outer(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(32, kernel_regularizer=keras.regularizers.l2(1e-3))

        def call(self, inputs):
            return self.dense(inputs)

    layer = Outer()
    layer(ops.zeros((1, 1)))
    expected = 1e-3 * np.sum(layer.dense.kernel.numpy() ** 2)
    assert [float(loss) for loss in layer.losses] == pytest.approx([expected])


def test_fit_adds_the_losses():
    inputs = keras.Input(shape=(3,))
    model = keras.Model(inputs, ActivityRegularizationLayer()(inputs))
    x, y = np.random.random((2, 3)), np.random.random((2, 3))
    model.compile(optimizer="adam", loss="mse")
    loss = model.fit(x, y, verbose=0).history["loss"][0]
    assert loss == pytest.approx(np.mean((x - y) ** 2) + 0.01 * np.mean(x), rel=1e-5)
    model.compile(optimizer="adam")
    loss = model.fit(x, y, verbose=0).history["loss"][0]
    assert loss == pytest.approx(0.01 * np.mean(x), rel=1e-5)


def test_configurations():
    config = Linear(64, name="linear_7").get_config()
    assert config == {"name": "linear_7", "trainable": True, "dtype": "float32", "units": 64}
    assert list(config) == ["name", "trainable", "dtype", "units"]
    assert Linear.from_config(config).units == 64

    class Bare(keras.layers.Layer):
        def __init__(self, units=32):
            super().__init__()
            self.units = units

    assert Bare(64).get_config() == {"units": 64}
    assert Bare.from_config({"units": 64}).units == 64


def test_the_training_argument():
    class CustomDropout(keras.layers.Layer):
        def __init__(self, rate, **kwargs):
            super().__init__(**kwargs)
            self.rate = rate
            self.seed_generator = keras.random.SeedGenerator(1337)

        def call(self, inputs, training=None):
            if training:
                return keras.random.dropout(inputs, rate=self.rate, seed=self.seed_generator)
            return inputs

    layer, x = CustomDropout(0.5), ops.ones((8, 8))
    np.testing.assert_array_equal(layer(x), x)
    first, second = layer(x, training=True), layer(x, training=True)
    assert set(np.unique(first)) == {0.0, 2.0}
    assert not np.array_equal(first, second)


def test_the_mask_argument():
    class Mean(keras.layers.Layer):
        def call(self, inputs, mask=None):
            weights = ops.cast(mask, "float32")[..., None]
            return ops.sum(inputs * weights, axis=1) / ops.sum(weights, axis=1)

    embedding = layers.Embedding(5, 2, mask_zero=True)
    ids = np.array([[1, 2, 0, 0]])
    np.testing.assert_allclose(
        Mean()(embedding(ids)), embedding(ids[:, :2]).numpy().mean(1), rtol=1e-6
    )
