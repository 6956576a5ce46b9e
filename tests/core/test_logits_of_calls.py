"""A loss of what a direct call returns is exact in every call, eager or compiled: it knows the logits."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = np.array([[200.0], [-300.0]], "float32")  # Probabilities of 0 and 1 in float32.


def made(library, kind):
    """Returns a model that multiplies by 1, -1 and 0, and ends with an activation."""
    layers = library.layers
    scale = {"kernel_initializer": lambda shape, dtype=None: tf.constant([[1.0, -1.0, 0.0]])}
    inputs = library.Input((1,))
    if kind == "dense":
        outputs = layers.Dense(3, activation="softmax", **scale)(inputs)
    elif kind == "sigmoid":
        outputs = layers.Dense(3, activation="sigmoid", **scale)(inputs)
    elif kind == "layer":
        outputs = layers.Softmax()(layers.Dense(3, **scale)(inputs))
    elif kind == "activation":
        outputs = layers.Activation("softmax")(layers.Dense(3, **scale)(inputs))
    else:
        logits = layers.Dense(3, **scale)(inputs)
        outputs = {"raw": logits, "softmax": library.ops.softmax(logits)}
    return library.Model(inputs, outputs)


def results(library, kind, calls=3):
    """Returns the losses of repeated calls, and their gradients."""
    model = made(library, kind)
    losses = library.losses
    loss = losses.BinaryCrossentropy() if kind == "sigmoid" else losses.CategoricalCrossentropy()
    targets = tf.constant([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    found = []
    for _ in range(calls):
        with tf.GradientTape() as tape:
            outputs = model(X)
            value = loss(targets, outputs["softmax"] if kind == "dict" else outputs)
        gradients = tape.gradient(value, model.trainable_variables)
        found.append((float(value), *(gradient.numpy() for gradient in gradients)))
    return found


@pytest.mark.parametrize("kind", ["dense", "sigmoid", "layer", "activation", "dict"])
def test_each_call_has_the_loss_and_the_gradients_of_the_first(kind):
    (expected, *_) = results(keras, kind, 1)
    for value in results(tfkit, kind):
        assert expected[0] > 100  # A loss of clipped probabilities is at most 16.
        for mine, keras_value in zip(value, expected, strict=True):
            np.testing.assert_allclose(mine, keras_value, rtol=1e-6)


def test_logits_are_looked_for_where_keras_does():
    """`tf.nn.softmax` notes nothing, neither eagerly nor in a compiled call."""

    class Plain(tfkit.layers.Layer):
        def call(self, inputs):
            return tf.nn.softmax(inputs)

    layer, loss = Plain(), tfkit.losses.CategoricalCrossentropy()
    values = [float(loss([[1.0, 0.0]], layer(tf.constant([[0.0, 100.0]])))) for _ in range(3)]
    assert len(set(values)) == 1
    assert values[0] < 17
