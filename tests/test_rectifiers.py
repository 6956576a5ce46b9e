"""NaN stays NaN behind rectifiers: oneDNN's fused ones would give 0, and hide that a model diverges."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import callbacks, layers, ops
from tfkit.src.engine.machine import onednn_is_on
from tfkit.src.export.verification import run_elsewhere

ROWS = np.random.default_rng(0).normal(size=(2, 5, 5, 4)).astype("float32")
ROWS[0] = np.nan


class Product(layers.Layer):
    """A product, a bias and a rectifier as users write them."""

    def build(self, shape):
        self.w = self.add_weight(shape=(4, 4), initializer="ones")
        self.b = self.add_weight(shape=(4,))

    def call(self, x):
        return tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 4]), self.w) + self.b)


class Loop(Product):
    """The same in a loop, which is a function of its own in the graph."""

    def call(self, x):
        x = tf.reshape(x, [-1, 4])
        for _ in tf.range(2):
            x = tf.nn.relu6(tf.nn.bias_add(tf.matmul(x, self.w), self.b))
        return x


def residual(x):
    return layers.ReLU()(layers.Add()([layers.Conv2D(4, 3, padding="same")(x), x]))


MODELS = {
    "Dense": lambda x: layers.Dense(4, "relu")(layers.Flatten()(x)),
    "a layer": lambda x: layers.ReLU(6.0)(layers.Dense(4)(layers.Flatten()(x))),
    "TensorFlow's": lambda x: tf.nn.relu(layers.Dense(4)(layers.Flatten()(x))),
    "Lambda": lambda x: layers.Lambda(tf.nn.relu6)(layers.Dense(4)(layers.Flatten()(x))),
    "hard sigmoid": lambda x: layers.Activation("hard_sigmoid")(
        layers.Dense(4, use_bias=False)(layers.Flatten()(x))
    ),
    "Conv2D": layers.Conv2D(3, 3, activation="relu6"),
    "Conv1D": lambda x: layers.Conv1D(3, 3, activation="relu")(layers.Reshape((25, 4))(x)),
    "Conv3D": lambda x: layers.Conv3D(3, 1, activation="relu")(layers.Reshape((5, 5, 4, 1))(x)),
    "padded": lambda x: layers.Conv2D(3, 3, activation="relu")(layers.ZeroPadding2D()(x)),
    "transposed": layers.Conv2DTranspose(3, 3, activation="relu"),
    "depthwise": layers.DepthwiseConv2D(3, activation="relu"),
    "separable": layers.SeparableConv2D(3, 3, activation="relu"),
    "normalized": lambda x: layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(3, 3)(x))),
    "residual": residual,
    "own layer": Product(),
    "own loop": Loop(),
}
NESTED = {"own loop"}  # Loops in the user's own functions, and under a tape, are TensorFlow's.


@pytest.fixture(scope="module", params=MODELS)
def named(request):
    tfkit.utils.set_random_seed(0)
    x = tfkit.Input((5, 5, 4))
    model = tfkit.Model(x, MODELS[request.param](x))
    model.compile(tfkit.optimizers.SGD(0.0), "mse", jit_compile=False)
    return request.param, model


def is_nan(outputs):
    """Of each of the two rows, whether its outputs have a NaN."""
    return np.isnan(np.reshape(outputs, (2, -1))).any(1).tolist()


EXPECTED = [True, False]


def test_outputs_and_losses_are_nan_in_every_way_of_running(named):
    name, model = named
    x = tf.constant(ROWS)
    outputs = model(x)
    assert is_nan(outputs) == is_nan(model(x)) == EXPECTED
    assert is_nan(model.predict(ROWS, verbose=0)) == EXPECTED
    if name not in NESTED:
        assert is_nan(tf.function(lambda x: model(x), autograph=False)(x)) == EXPECTED
        with tf.GradientTape() as tape:
            outputs = model(x)
        assert is_nan(outputs) == EXPECTED
        assert any(np.isnan(it).any() for it in tape.gradient(outputs, model.trainable_variables))
    targets = np.zeros(outputs.shape, "float32")
    if len(targets) == 2:
        assert np.isnan(model.evaluate(ROWS, targets, verbose=0))
        weights = model.get_weights()
        assert np.isnan(model.train_on_batch(ROWS, targets))
        model.set_weights(weights)  # They are NaN now.


def test_exported_outputs_are_nan_where_tf_serving_runs_them(named, tmp_path):
    _, model = named
    model.export(tmp_path / "m", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert is_nan(loaded.serve(tf.constant(ROWS))) == EXPECTED
    (argument,) = loaded.signatures["serve"].structured_input_signature[1]
    ((found,),) = run_elsewhere([(str(tmp_path / "m"), [("serve", {argument: ROWS})])])
    assert is_nan(next(iter(found.values()))) == EXPECTED


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("rectifier", [ops.relu, ops.relu6, ops.hard_sigmoid])
def test_ops_in_a_function_of_the_user(rectifier, dtype):
    x, w = tf.cast(ROWS[:, 0, 0], dtype), tf.ones([4, 4], dtype)
    run = tf.function(lambda x: rectifier(tf.matmul(x, w) + w[0]), autograph=False)
    assert is_nan(tf.cast(run(x), "float32")) == EXPECTED


def test_gradients_are_those_of_the_rectifier():
    layer = layers.Dense(
        3,
        "relu",
        kernel_initializer="zeros",
        bias_initializer=lambda shape, dtype: tf.constant([-1.0, 0.0, 2.0], dtype),
    )
    layer.build((None, 3))

    @tf.function(autograph=False)
    def slope(x):
        with tf.GradientTape() as tape:
            y = layer(x)
        (gradient,) = tape.gradient(y, [layer.bias], tf.fill(tf.shape(y), 3.0))
        return gradient

    assert slope(tf.ones([1, 3])).numpy().tolist() == [0.0, 0.0, 3.0]
    operations = {
        it.type for it in slope.get_concrete_function(tf.TensorSpec([1, 3])).graph.get_operations()
    }
    assert "EnsureShape" in operations or not onednn_is_on()
    assert "Reshape" not in operations  # The gradient of `EnsureShape`.


def test_a_training_that_diverges_is_terminated():
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(4, "relu"), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    rows = np.ones((64, 4), "float32")
    rows[8] = np.nan
    history = model.fit(
        rows,
        rows[:, :1],
        batch_size=4,
        verbose=0,
        shuffle=False,
        callbacks=[callbacks.TerminateOnNaN()],
        epochs=3,
    )
    assert len(history.epoch) == 1
