"""Slices at places that variables hold: programs of XLA compile once for all of them."""

import time

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.training.step import traced

TABLE = np.arange(60, dtype="float32").reshape(5, 4, 3)


def gradient(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[n] ** 2 + x[n + 1]
    return tape.gradient(y, x)


def seconds_and_results(run, variable, values):
    """Returns the processor time and the result of a run for each value of a variable."""
    seconds, results = [], []
    for value in values:
        variable.assign(value)
        start = time.process_time()
        results.append(run().numpy())
        seconds.append(time.process_time() - start)
    return seconds, results


@pytest.mark.parametrize(
    "body",
    [
        lambda x, n: x[n],
        lambda x, n: x[:, n - 2, tf.newaxis],
        lambda x, n: x[..., n % 3],
        lambda x, n: x[n, n - 1] + x[-n, 0],
        lambda x, n: tf.slice(x, [n, 0, n - 1], [2, 4, 1]),
        lambda x, n: tf.slice(tf.sqrt(x), tf.stack([n, 0, 0]) // 2, [2, 4, 1]),
        gradient,
    ],
    ids=["row", "new axis", "ellipsis", "several", "slice", "computed", "gradient"],
)
def test_is_compiled_once(body):
    n, x = tf.Variable(0), tf.constant(TABLE)
    run = traced(lambda: body(x, n.value()), [], jit_compile=True)
    seconds, results = seconds_and_results(run, n, [2, 3, 2, 1])
    for value, result in zip([2, 3, 2, 1], results, strict=True):
        np.testing.assert_array_equal(result, body(x, tf.constant(value)))
    assert max(seconds[1], seconds[3]) < seconds[0] / 3


@pytest.mark.parametrize(
    "body",
    [
        lambda x, n: tf.reshape(x, [tf.constant([2, 3, 4])[n], -1]),
        lambda x, n: x[n : n + 2],
        lambda x, n: x[n, 1:3],
        lambda x, n: x[:n],
        lambda x, n: tf.slice(x, [n, 0, 0], [-1, 4, 3]),
        lambda x, n: tf.slice(x, [0, 0, 0], [n, 4, 3]),
    ],
    ids=["size", "range", "row and range", "begin", "rest", "variable size"],
)
def test_a_place_that_decides_on_sizes_stays_a_constant(body):
    n, x = tf.Variable(0), tf.constant(TABLE)
    run = traced(lambda: body(x, n.value()), [], jit_compile=True)
    _, results = seconds_and_results(run, n, [1, 2])
    for value, result in zip([1, 2], results, strict=True):
        np.testing.assert_array_equal(result, body(x, tf.constant(value)))


class Turn(keras.layers.Layer):
    def build(self, shape):
        self.turn = self.add_weight((), "zeros", "int32", trainable=False)
        self.table = self.add_weight((5, shape[-1]), "ones")

    def call(self, x):
        turn = tf.convert_to_tensor(self.turn)
        self.turn.assign_add(1)
        return x * self.table[turn]


def test_steps_that_move_on_train_alike_and_refuse_the_end():
    x = TABLE[:2].reshape(8, 3)
    weights = []
    for jit_compile in (True, False):
        model = keras.Sequential([Turn()])
        model.compile(keras.optimizers.SGD(1e-4), "mse", jit_compile=jit_compile)
        model.fit(x, x + 1, batch_size=2, shuffle=False, verbose=0)
        weights.append(model.get_weights())
        with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 5 of dimension 0"):
            model.fit(x, x, batch_size=2, shuffle=False, verbose=0)
        assert int(model.layers[0].turn) == 5
    for compiled, plain in zip(*weights, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-5)
