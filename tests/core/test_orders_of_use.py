"""A model gives the same answers in whatever order it is called, followed by tapes, trained and predicts."""

import random

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

MODELS = {
    "dense": lambda x: layers.Dense(2, activation="softmax")(layers.Dense(5, "gelu")(x)),
    "recurrent": lambda x: layers.Dense(2)(layers.LSTM(3)(layers.Reshape((4, 2))(x))),
    "convolution": lambda x: layers.Flatten()(
        layers.MaxPooling1D()(layers.Conv1D(4, 3, activation="relu")(layers.Reshape((8, 1))(x)))
    ),
}


def gradients(model, x, count=1, persistent=False):
    tapes = [tf.GradientTape(persistent=persistent) for _ in range(count)]
    for tape in tapes:
        tape.__enter__()
    loss = tf.reduce_sum(tf.sin(model(x)))
    for tape in reversed(tapes):
        tape.__exit__(None, None, None)
    *_, found = [tape.gradient(loss, model.trainable_variables) for tape in tapes]
    return found


def trained(model, x):
    model.fit(x, np.zeros(model.output_shape[1:])[None].repeat(len(x), 0), batch_size=3, verbose=0)


# What each gives: outputs, gradients, or nothing.
USES = {
    "call": lambda model, x: [model(x)],
    "call in parts": lambda model, x: [tf.concat([model(x[:2]), model(x[2:])], 0)],
    "predict": lambda model, x: [model.predict(x, verbose=0)],
    "tape": gradients,
    "two tapes": lambda model, x: gradients(model, x, count=2),
    "persistent tape": lambda model, x: gradients(model, x, persistent=True),
    "function": lambda model, x: [tf.function(model)(x)],
    "gradient in a function": lambda model, x: tf.function(lambda: gradients(model, x))(),
    "fit": trained,
    "training": lambda model, x: [model(x, training=True)],
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", MODELS)
def test_answers_do_not_depend_on_what_came_before(name, seed):
    tfkit.utils.set_random_seed(seed)
    inputs = tfkit.Input((8,))
    model = tfkit.Model(inputs, MODELS[name](inputs))
    model.compile(tfkit.optimizers.SGD(0.0), "mse")
    x = tf.constant(np.random.default_rng(seed).normal(size=(5, 8)).astype("float32"))
    tfkit.config.run_functions_eagerly(True)
    outputs, slopes = [model(x)], gradients(model, x)
    tfkit.config.run_functions_eagerly(False)
    order = random.Random(f"{name}{seed}").choices(list(USES), k=12)
    for place, use in enumerate(order):
        found = USES[use](model, x)
        expected = slopes if "tape" in use or "gradient" in use else outputs
        for a, b in zip(found or expected, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=str(order[: place + 1]))
