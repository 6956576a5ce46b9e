"""Small calls run in the calling thread, with the same results, draws and errors."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit import layers
from tfkit.src.engine.small_calls import SmallCalls

MANY = 300_000


class Threads(layers.Layer):
    """Notes the threads that compute it."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.note = self.seen.append

    def call(self, x):
        def note(value):
            self.note(threading.get_ident())
            return value

        y = tf.numpy_function(note, [x], x.dtype, stateful=False)
        return tf.ensure_shape(y, x.shape)


def handed_over(monkeypatch):
    monkeypatch.setattr(SmallCalls, "include", lambda self, tensors: False)


def test_the_calling_thread_computes_small_calls_and_no_large_ones():
    layer = Threads()
    for rows in (1, 2, MANY, 3):
        x = tf.ones((rows, 8))
        layer(x), layer(x)
        layer.seen.clear()
        layer(x)
        assert (layer.seen == [threading.get_ident()]) == (rows < MANY)


def test_it_computes_predictions_too():
    layer = Threads()
    model = keras.Sequential([keras.Input((8,)), layer])
    for _ in range(2):
        layer.seen.clear()
        model.predict(np.ones((3, 8), "float32"), verbose=0)
        assert set(layer.seen) == {threading.get_ident()}


def convolution():
    parts = [layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(5)]
    return keras.Sequential([keras.Input((8, 8, 1)), *parts])


def recurrent():
    return keras.Sequential([keras.Input((6, 3)), layers.LSTM(4), layers.Dense(2)])


def attention():
    x = keras.Input((6, 8))
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(x, {"y": y, "z": [layers.Dense(3, activation="gelu")(y)]})


@pytest.mark.parametrize("make", [convolution, recurrent, attention])
def test_results_are_equal_to_the_bit(make, monkeypatch):
    model = make()
    x = np.random.default_rng(0).normal(size=(5, *model.input_shape[1:])).astype("float32")
    model(x)
    here = [model(x), model.predict(x, verbose=0)]
    handed_over(monkeypatch)
    there = [model(x), model.predict(x, verbose=0)]
    for one, other in zip(tf.nest.flatten(here), tf.nest.flatten(there), strict=True):
        np.testing.assert_array_equal(one, other)


def test_draws_are_not_repeated_where_calls_are_small_and_large_in_turns():
    class Noise(layers.Layer):
        def call(self, x):
            return x + tf.random.normal([], seed=3)

    layer = Noise()
    layer(tf.zeros((1, 8)))  # Eagerly: what comes next is traced once, for any number of rows.
    drawn = [float(layer(tf.zeros((rows, 8)))[0, 0]) for rows in (2, MANY, 3, MANY, 4)]
    assert len(set(drawn)) == len(drawn)


def test_errors_are_the_same(monkeypatch):
    model = keras.Sequential([keras.Input((2,), dtype="int32"), layers.Embedding(3, 2, name="e")])
    model(np.zeros((1, 2), "int32"))

    def message(run):
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            run(np.full((1, 2), 7, "int32"))
        return str(raised.value)

    runs = (model, lambda x: model.predict(x, verbose=0))
    here = [message(run) for run in runs]
    handed_over(monkeypatch)
    assert here == [message(run) for run in runs]
    assert all("/e' (" in it for it in here)


def test_threads_get_their_own_results():
    model = convolution()
    x = np.random.default_rng(0).normal(size=(8, 3, 8, 8, 1)).astype("float32")
    expected = [model(rows).numpy() for rows in x]

    def work(index):
        for _ in range(50):
            np.testing.assert_array_equal(model(x[index]), expected[index])
            np.testing.assert_allclose(
                model.predict(x[index], verbose=0), expected[index], rtol=1e-5, atol=1e-6
            )

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))


def test_what_changes_between_small_calls_is_seen():
    dense = layers.Dense(2, use_bias=False, kernel_initializer="ones")
    dropout = layers.Dropout(0.5)
    model = keras.Sequential([keras.Input((3,)), dense, dropout])
    x = np.ones((1, 3), "float32")
    for _ in range(3):
        assert model(x).numpy().tolist() == [[3, 3]]
    dense.kernel.assign(tf.fill((3, 2), 2.0))
    assert model(x).numpy().tolist() == [[6, 6]]
    assert model.predict(x, verbose=0).tolist() == [[6, 6]]
    rows = np.ones((50, 3), "float32")
    assert {0.0, 12.0} == {float(it) for it in tf.reshape(model(rows, training=True), [-1])}
    dropout.rate = 0.0
    assert set(model(rows, training=True).numpy().ravel()) == {6.0}
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(model(x))
    assert tape.gradient(total, dense.kernel).numpy().tolist() == [[1, 1]] * 3
    relu = layers.ReLU()
    assert {relu(x).dtype for _ in range(3)} == {tf.float32}
    relu.dtype_policy = "float16"
    assert {relu(x).dtype for _ in range(3)} == {tf.float16}
