"""Kinds of program: what is chosen and said, that all of them compute the same, and how often a step is traced."""

import logging

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.training.planner import GRAPH_LOOP, XLA_LOOP, XLA_STEP

layers = keras.layers
X = np.random.default_rng(0).random((103 * 4 - 1, 6)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
LABELS = (Y[:, 0] > 3).astype("int32")


def perceptron():
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="relu"),
            layers.Dropout(0.3),
            layers.GaussianNoise(0.1),
            layers.Dense(1),
        ]
    )


def convolutional():
    return keras.Sequential(
        [keras.Input((6,)), layers.Reshape((3, 2)), layers.Conv1D(2, 2), layers.Flatten(), layers.Dense(1)]
    )


def recurrent():
    return keras.Sequential(
        [keras.Input((6,)), layers.Reshape((3, 2)), layers.LSTM(3), layers.Dense(1)]
    )


def with_python():
    """A layer with an operation that XLA does not know."""

    class Doubled(layers.Layer):
        def call(self, inputs):
            outputs = tf.numpy_function(lambda x: x * 2, [inputs], tf.float32)
            return tf.ensure_shape(outputs, inputs.shape)

    return keras.Sequential([keras.Input((6,)), layers.Dense(1), Doubled(name="doubled")])


def data(form):
    if form == "arrays":
        return {"x": X, "y": Y, "batch_size": 4, "shuffle": False}
    return {"x": tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)}


def train(build, form="arrays", epochs=1, **options):
    keras.utils.set_random_seed(3)
    model = build()
    model.compile("adam", "mse", metrics=["mae"], **options)
    history = model.fit(**data(form), epochs=epochs, verbose=0).history
    return model, history


@pytest.mark.parametrize("form", ["arrays", "tf.data"])
@pytest.mark.parametrize(
    ("build", "kind", "reason"),
    [
        (perceptron, XLA_LOOP, "all of the step"),
        (convolutional, GRAPH_LOOP, "Conv2D of '.*conv1d.*' on CPUs"),
        (recurrent, XLA_STEP, "While"),
        (with_python, GRAPH_LOOP, "cannot compile the operation EagerPyFunc of '.*doubled'"),
    ],
)
def test_every_kind_gives_the_same_weights(build, kind, reason, form):
    model, history = train(build, form)
    assert model.plan["train"].kind == kind
    assert model.plan["train"].reason
    import re

    assert re.search(reason, model.plan["train"].reason)
    assert f"train: {kind}" in repr(model.plan)
    assert int(model.optimizer.iterations) == 103
    if build is with_python:  # No gradient passes through NumPy.
        return
    plain, plain_history = train(build, form, jit_compile=False)
    assert plain.plan["train"].kind == GRAPH_LOOP
    eager, eager_history = train(build, form, run_eagerly=True)
    for other, other_history in ((plain, plain_history), (eager, eager_history)):
        for weight, expected in zip(model.variables, other.variables, strict=True):
            np.testing.assert_allclose(weight, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(history["loss"], other_history["loss"], rtol=1e-5)
