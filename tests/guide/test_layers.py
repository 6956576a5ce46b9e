"""The founding guide's snippets on layers, with the values that it prints."""

import re

import numpy as np
import pytest
import tensorflow as tf

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


def test_weights_made_when_the_input_is_known():
    layer = Linear(32)
    assert not layer.built
    assert layer.weights == []
    assert layer(ops.ones((2, 2))).shape == (2, 32)
    assert layer.built
    kernel = layer.w
    assert [weight.shape.as_list() for weight in layer.weights] == [[2, 32], [32]]
    layer(ops.ones((5, 2)))
    assert layer.w is kernel  # built once


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


def test_functions_of_tensorflow_in_a_layer():
    class OfTensorFlow(Linear):
        def call(self, inputs):
            return tf.matmul(inputs, self.w) + self.b

    x = np.random.normal(size=(3, 2)).astype("float32")
    ours, plain = Linear(4), OfTensorFlow(4)
    expected = ours(x)
    plain(x)
    plain.set_weights(ours.get_weights())
    np.testing.assert_allclose(plain(x), expected, rtol=1e-6)


def test_the_operations_that_it_names():
    x = np.array([[1.0, -1.0], [2.0, 0.0]], "float32")
    assert ops.sum(ops.matmul(x, x)).numpy() == (x @ x).sum()
    assert ops.reshape(x, (4,)).numpy().tolist() == [1.0, -1.0, 2.0, 0.0]
    assert ops.stack([x, x]).shape == (2, 2, 2)
    np.testing.assert_allclose(ops.softmax(x)[0, 0], 1 / (1 + np.exp(-2)), rtol=1e-6)
    assert ops.relu(x).numpy().tolist() == [[1.0, 0.0], [2.0, 0.0]]
    image, kernel = x[None, :, :, None], np.ones((2, 2, 1, 1), "float32")
    assert ops.conv(image, kernel).numpy().tolist() == [[[[2.0]]]]
    crossentropy = ops.binary_crossentropy(np.ones(1), np.full(1, 0.25))
    np.testing.assert_allclose(crossentropy, [-np.log(0.25)], rtol=1e-6)


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


def test_fit_adds_the_losses(capsys):
    inputs = keras.Input(shape=(3,))
    outputs = ActivityRegularizationLayer()(inputs)
    model = keras.Model(inputs, outputs)
    x, y = np.random.random((2, 3)), np.random.random((2, 3))

    model.compile(optimizer="adam", loss="mse")
    loss = model.fit(x, y).history["loss"][0]
    assert loss == pytest.approx(np.mean((x - y) ** 2) + 0.01 * np.mean(x), rel=1e-5)
    assert last_bar(capsys) == f"{loss:.4f}"

    model.compile(optimizer="adam")
    loss = model.fit(x, y).history["loss"][0]
    assert loss == pytest.approx(0.01 * np.mean(x), rel=1e-5)
    assert last_bar(capsys) == f"{loss:.4f}"


def last_bar(capsys):
    """The loss behind the last bar that was drawn, which must look as in the guide."""
    line = re.split("[\r\n]+", capsys.readouterr().out.strip())[-1]
    line = re.sub("\x1b\\[[0-9;]*m|\x08", "", line).strip()
    match = re.fullmatch(r"1/1 ━{20} \d+m?s \d+[mu]?s/step - loss: (\d\.\d{4})", line)
    assert match, line
    return match[1]


def test_configurations():
    class Plain(keras.layers.Layer):
        def __init__(self, units=32):
            super().__init__()
            self.units = units

        def get_config(self):
            return {"units": self.units}

    config = Plain(64).get_config()
    assert config == {"units": 64}
    assert Plain.from_config(config).units == 64

    class Recorded(keras.layers.Layer):
        def __init__(self, units=32):
            super().__init__()
            self.units = units

    assert Recorded(64).get_config() == {"units": 64}
    assert Recorded.from_config({"units": 64}).units == 64


def test_configurations_with_the_arguments_of_the_base():
    keras.utils.clear_session()
    for _ in range(7):
        Linear()
    config = Linear(64).get_config()
    dtype = keras.dtype_policies.serialize(keras.DTypePolicy("float32"))
    assert config == {"name": "linear_7", "trainable": True, "dtype": dtype, "units": 64}
    assert list(config) == ["name", "trainable", "dtype", "units"]
    layer = Linear.from_config(config)
    assert (layer.name, layer.units, layer.dtype) == ("linear_7", 64, "float32")

    class Flexible(Linear):
        @classmethod
        def from_config(cls, config):
            return cls(**{**config, "units": 2 * config["units"]})

    assert Flexible.from_config(config).units == 128


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


def test_the_loops_pass_the_training_argument():
    seen = []

    class Seeing(keras.Model):
        def call(self, inputs, training=None):
            seen.append(training)
            return inputs

    model, x = Seeing(), np.ones((2, 1))
    model.compile(loss="mse", run_eagerly=True)
    for loop, expected in ((model.fit, True), (model.evaluate, False), (model.predict, False)):
        seen.clear()
        loop(x, x, verbose=0) if loop != model.predict else loop(x, verbose=0)
        assert set(seen) == {expected}


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


def test_layers_that_make_a_mask():
    class Seeing(keras.layers.Layer):
        def call(self, inputs, mask=None):
            return ops.cast(mask, "int32")

    expected = [[1, 1, 0, 0]]
    ids = np.array([[1, 2, 0, 0]])
    assert Seeing()(layers.Embedding(5, 2, mask_zero=True)(ids)).numpy().tolist() == expected
    vectors = np.array([[[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [0.0, 0.0]]])
    assert Seeing()(layers.Masking()(vectors)).numpy().tolist() == expected


def test_a_model_of_blocks(tmp_path):
    @keras.saving.register_keras_serializable("guide")
    class ResNetBlock(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.conv = layers.Conv2D(3, 3, padding="same", activation="relu")

        def call(self, inputs):
            return inputs + self.conv(inputs)

    @keras.saving.register_keras_serializable("guide")
    class ResNet(keras.Model):
        def __init__(self, num_classes=1000):
            super().__init__()
            self.block_1 = ResNetBlock()
            self.block_2 = ResNetBlock()
            self.global_pool = layers.GlobalAveragePooling2D()
            self.classifier = layers.Dense(num_classes)

        def call(self, inputs):
            x = self.block_1(inputs)
            x = self.block_2(x)
            x = self.global_pool(x)
            return self.classifier(x)

    resnet = ResNet(5)
    images = np.random.normal(size=(12, 6, 6, 3)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((images, np.arange(12) % 5)).batch(4)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    resnet.compile("adam", loss)
    losses = resnet.fit(dataset, epochs=10, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert resnet.layers == [
        resnet.block_1,
        resnet.block_2,
        resnet.global_pool,
        resnet.classifier,
    ]
    resnet.save(tmp_path / "resnet.h5")
    again = keras.saving.load_model(tmp_path / "resnet.h5")
    np.testing.assert_array_equal(
        again.predict(images, verbose=0), resnet.predict(images, verbose=0)
    )
