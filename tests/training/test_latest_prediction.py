"""A prediction like the latest one runs the same program, and notices what was changed in between."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.training.latest_prediction import LatestPrediction

X = np.arange(12, dtype="float32").reshape(3, 4) - 5.0


class Scaled(layers.Layer):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    def call(self, x):
        return x * self.factor


@pytest.fixture
def repeats(monkeypatch):
    """Whether each prediction found the latest one's program."""
    found = []
    repeated = LatestPrediction.repeated

    def noting(self, *arguments):
        outputs = repeated(self, *arguments)
        found.append(outputs is not None)
        return outputs

    monkeypatch.setattr(LatestPrediction, "repeated", noting)
    return found


def test_a_prediction_is_repeated_until_something_is_set(repeats):
    model = tfkit.Sequential([Scaled()])
    for factor in (2.0, 3.0):
        model.layers[0].factor = factor
        for _ in range(3):
            outputs = model.predict(X, verbose=0)
            np.testing.assert_array_equal(outputs, X * factor)
            outputs[:] = 0  # The caller's own memory.
    assert repeats == [False, True, True] * 2


@pytest.mark.parametrize(
    "other",
    [
        lambda model: model.predict(X[:2], verbose=0),
        lambda model: model.predict(X.astype("float64"), verbose=0),
        lambda model: model.predict(X, verbose=0, batch_size=2),
        lambda model: model.predict(X, verbose=0, steps=1),
        lambda model: model.predict(X, verbose=0, callbacks=[tfkit.callbacks.Callback()]),
        lambda model: np.concatenate(list(model.predict(X, verbose=0, stream=True))),
        lambda model: model.predict(tf.constant(X), verbose=0),
        lambda model: model.predict([X], verbose=0),
    ],
)
def test_predictions_of_other_forms_are_not_repetitions(other, repeats):
    model = tfkit.Sequential([Scaled()])
    model.predict(X, verbose=0)
    outputs = other(model)
    assert repeats == [False, False]
    np.testing.assert_array_equal(outputs, 2 * X[: len(outputs)])


def test_weights_settings_and_steps_of_the_user_take_effect(repeats):
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(1, use_bias=False)])
    for value in (1.0, 2.0):
        model.set_weights([np.full((4, 1), value)])
        np.testing.assert_allclose(model.predict(X, verbose=0), value * X.sum(1, keepdims=True))
    assert repeats == [False, True]
    model.compile(jit_compile=True)
    model.predict(X, verbose=0)
    model.compile()
    model.predict_step = lambda data: model(data) + 1.0
    np.testing.assert_allclose(model.predict(X, verbose=0), 2 * X.sum(1, keepdims=True) + 1)
    model.run_eagerly = True
    model.predict(X, verbose=0)
    assert repeats[2:] == [False] * 3


def test_values_are_checked_in_repetitions(repeats):
    class Positive(layers.Layer):
        def call(self, x):
            tf.debugging.assert_positive(x)
            return x

    model = tfkit.Sequential([Positive()])
    model.predict(abs(X) + 1, verbose=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="positive"):
        model.predict(X, verbose=0)
    np.testing.assert_array_equal(model.predict(abs(X) + 1, verbose=0), abs(X) + 1)
    # A check that holds in each batch, and not in joined ones.
    ranges = tfkit.Sequential([layers.Lambda(within_a_batch)])
    many = np.repeat(np.arange(4, dtype="float32"), 32)[:, None]
    for _ in range(3):
        np.testing.assert_array_equal(ranges.predict(many, verbose=0), many)


def within_a_batch(x):
    tf.debugging.assert_less(tf.reduce_max(x) - tf.reduce_min(x), 1.0)
    return x


def test_each_prediction_draws(repeats):
    model = tfkit.Sequential([layers.Lambda(lambda x: x + tfkit.random.normal((3, 4)))])
    first, second = (model.predict(X, verbose=0) for _ in range(2))
    assert repeats == [False, True]
    assert (first != second).all()


def convolutional(x):
    x = layers.MaxPooling2D()(layers.Conv2D(4, 3)(x))
    return layers.Dense(2)(layers.Flatten()(x))


def recurrent(x):
    return layers.LSTM(8)(layers.Reshape((24, 4))(x))


def attending(x):
    x = layers.Reshape((24, 4))(x)
    return layers.MultiHeadAttention(2, 4)(x, x)


@pytest.mark.parametrize("network", [convolutional, recurrent, attending])
def test_after_many_predictions_of_a_row_the_program_is_for_one_row(network, repeats):
    inputs = tfkit.Input((6, 4, 4))
    model = tfkit.Model(inputs, network(inputs))
    images = np.random.default_rng(0).normal(size=(9, 6, 4, 4)).astype("float32")
    expected = [model.predict(images[:rows], verbose=0) for rows in (9, 3, 1)]
    for _ in range(102):
        np.testing.assert_array_equal(model.predict(images[:1], verbose=0), expected[-1])
    assert repeats[3:] == [True] * 99 + [False] + [True] * 2
    for rows, outputs in zip((9, 3, 1), expected, strict=True):
        np.testing.assert_array_equal(model.predict(images[:rows], verbose=0), outputs)
