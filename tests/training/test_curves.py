"""The same seed gives the initial weights and the loss curve of Keras."""

from functools import partial

import keras
import numpy as np
import pytest

import tfkit
from tests.guide.vae import vae_class

# A part of MNIST: an epoch takes a second, and a wrong update or draw shows within a few steps.
ROWS = 3210


def autoencoder(framework, images, labels):
    """The guide's: nested subclassed layers, `add_loss`, draws in each step."""
    x = images.reshape(len(images), 784)
    model = vae_class(framework)(784, 64, 32)
    model.compile(
        framework.optimizers.Adam(1e-3), framework.losses.MeanSquaredError(), jit_compile=False
    )
    model(x[:1])
    return model, x, x


def convolutional(framework, images, labels):
    """A functional image classifier: statistics that move, and dropped units."""
    layers = framework.layers
    inputs = framework.Input((28, 28, 1))
    x = layers.Conv2D(8, 3, activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.BatchNormalization()(x)
    x = layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.Dropout(0.4)(layers.Flatten()(x))
    model = framework.Model(inputs, layers.Dense(10, activation="softmax")(x))
    model.compile(
        "adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False
    )
    return model, images[..., None], labels


def sentences():
    """Rows of 3 to 12 words and then padding; is the sum of the words above what is to be expected?"""
    generator = np.random.default_rng(0)
    ids = generator.integers(1, 20, size=(1300, 12)).astype("int32")
    lengths = generator.integers(3, 13, size=(1300, 1))
    ids[np.arange(12) >= lengths] = 0
    return ids, (ids.sum(1) > 10 * lengths[:, 0]).astype("float32")[:, None]


def recurrent(framework, images, labels, **options):
    """An LSTM on masked steps, of a vocabulary of its own.

    Built from its `Input`: a call would draw dropout masks in Keras, though it does not train.
    """
    del images, labels
    layers = framework.layers
    model = framework.Sequential(
        [
            framework.Input((12,), dtype="int32"),
            layers.Embedding(20, 8, mask_zero=True),
            layers.LSTM(16, **options),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"], jit_compile=False)
    return model, *sentences()


# name: builder(framework, images, labels) -> (compiled model, x, y), dtype, tolerance.
# Gradients of convolutions are rounded in another way than those of Keras; 150 steps through maxima multiply
# that by a hundred: float32 gives 5e-4, float64 what metrics in float32 leave.
MODELS = {
    "autoencoder": (autoencoder, "float32", 1e-4),
    "convolutional": (convolutional, "float64", 1e-7),
    "recurrent": (recurrent, "float32", 1e-4),
    "recurrent, dropout": (
        partial(recurrent, dropout=0.2, recurrent_dropout=0.3),
        "float32",
        1e-4,
    ),
}


@pytest.fixture(scope="module")
def digits(mnist):
    (images, labels), _ = mnist
    return images[:ROWS].astype("float32") / 255, labels[:ROWS].astype("int32")


def run(framework, build, dtype, digits):
    framework.utils.set_random_seed(7)
    framework.config.set_floatx(dtype)
    framework.config.set_dtype_policy(dtype)
    try:
        model, x, y = build(framework, *digits)
        start = [weight.numpy() for weight in model.weights]
        history = model.fit(x, y, batch_size=64, epochs=3, shuffle=False, verbose=0)
    finally:
        framework.config.set_floatx("float32")
        framework.config.set_dtype_policy("float32")
    return start, history.history


@pytest.mark.parametrize("name", MODELS)
def test_weights_and_losses_equal_those_of_keras(name, digits):
    build, dtype, tolerance = MODELS[name]
    (start, ours), (keras_start, theirs) = (
        run(framework, build, dtype, digits) for framework in (tfkit, keras)
    )
    assert len(start) == len(keras_start)
    for weight, expected in zip(start, keras_start, strict=True):
        assert weight.dtype == expected.dtype
        np.testing.assert_array_equal(weight, expected)
    assert set(ours) == set(theirs)
    np.testing.assert_allclose(ours["loss"], theirs["loss"], rtol=tolerance)
    assert theirs["loss"][2] < 0.97 * theirs["loss"][0]
