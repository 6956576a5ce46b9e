"""The same seed gives the initial weights and the loss curve of Keras."""

import keras
import numpy as np
import pytest

import tfkit
from tests.guide.vae import vae_class

# A tenth of MNIST: an epoch takes a second, and a wrong update or draw shows within a few steps.
ROWS = 6400


def autoencoder(framework, images, labels):
    """The guide's: nested subclassed layers, `add_loss`, draws in each step."""
    x = images.reshape(len(images), 784)
    model = vae_class(framework)(784, 64, 32)
    model.compile(
        framework.optimizers.Adam(1e-3), framework.losses.MeanSquaredError(), jit_compile=False
    )
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


# name: builder(framework, images, labels) -> (compiled model, x, y), batch size
MODELS = {
    "autoencoder": (autoencoder, 64),
    "convolutional": (convolutional, 64),
}


@pytest.fixture(scope="module")
def digits(mnist):
    (images, labels), _ = mnist
    return images[:ROWS].astype("float32") / 255, labels[:ROWS].astype("int32")


def run(framework, build, batch_size, digits):
    framework.utils.set_random_seed(7)
    model, x, y = build(framework, *digits)
    model.build((None, *x.shape[1:]))
    start = [weight.numpy() for weight in model.weights]
    history = model.fit(x, y, batch_size=batch_size, epochs=3, shuffle=False, verbose=0)
    return start, history.history


@pytest.mark.parametrize("name", MODELS)
def test_weights_and_losses_equal_those_of_keras(name, digits):
    (start, ours), (keras_start, theirs) = (
        run(framework, *MODELS[name], digits) for framework in (tfkit, keras)
    )
    assert len(start) == len(keras_start)
    for weight, expected in zip(start, keras_start, strict=True):
        assert weight.dtype == expected.dtype
        np.testing.assert_array_equal(weight, expected)
    assert set(ours) == set(theirs)
    np.testing.assert_allclose(ours["loss"], theirs["loss"], rtol=1e-4)
    assert theirs["loss"][2] < 0.97 * theirs["loss"][0]
    print(ours, theirs)
