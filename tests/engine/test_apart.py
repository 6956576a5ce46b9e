"""What TensorFlow's graph optimizer would join with other results is kept apart: each is run in all ways."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers, ops
from tfkit.src.engine.apart import set_apart

ROWS = np.array([[1.0, -2.0, np.nan, 0.25], [3.0, 0.5, -1.0, 0.75]], "float32")


def in_a_loop(function):
    def run(x):
        result = function(x)
        for _ in tf.range(2):
            result = function(x + 0.0 * tf.cast(tf.size(result), x.dtype))
        return result

    return run


CASES = {
    "a leaky rectifier": lambda x: tf.maximum(x, 2.0 * x),
    "a leaky rectifier, turned": lambda x: ops.maximum(x * 3.0, x),
    "not less": lambda x: tf.where(tf.logical_not(x < 0.0), 7.0, x),
    "not less or equal": lambda x: ops.where(~(x <= 0.0), 7.0, x),
    "not greater": lambda x: ops.where(ops.logical_not(x > 0.0), 7.0, x),
    "not greater or equal": lambda x: tf.where(~(x >= 0.0), 7.0, x),
    "largest logarithm": lambda x: ops.max(ops.log(x), -1),
    "largest root": lambda x: tf.reduce_max(tf.sqrt(x), -1),
    "smallest reciprocal root": lambda x: ops.min(ops.rsqrt(x), -1),
    "largest angle": lambda x: tf.reduce_max(tf.acos(x), -1),
    "first rounded": lambda x: tf.argmax(tf.round(0.4 * ops.nan_to_num(x)[:, ::-1]), -1),
    "first rectified": lambda x: tf.argmin(tf.nn.relu(ops.nan_to_num(x)[:, ::-1]), -1),
    "first sign": lambda x: tf.argmax(tf.sign(ops.nan_to_num(x)[:, ::-1]), -1),
}
LOOPS = {f"{name}, in a loop": in_a_loop(CASES[name]) for name in CASES if "turned" not in name}


@pytest.mark.parametrize("case", [*CASES, *LOOPS])
def test_each_way_of_running_has_the_result_of_the_operations(case, tmp_path):
    function = (CASES | LOOPS)[case]

    class Own(layers.Layer):
        def call(self, x):
            return function(x)

    x = tf.constant(ROWS)
    expected = function(x).numpy()
    inputs = tfkit.Input((4,))
    model = tfkit.Model(inputs, Own()(inputs))
    found = [model(x) for _ in range(3)] + [model.predict(ROWS, verbose=0)]
    if case in CASES:  # A loop in a function of one's own is TensorFlow's.
        found.append(tf.function(lambda x: model(x), autograph=False)(x))
        model.export(tmp_path / "frozen", verbose=False, freeze=True)
        found.append(tf.saved_model.load(str(tmp_path / "frozen")).serve(x))
    model.export(tmp_path / "m", verbose=False)
    found.append(tf.saved_model.load(str(tmp_path / "m")).serve(x))
    for jit_compile in (False, True):
        model.compile("sgd", "mse", jit_compile=jit_compile)
        found.append(model.predict(ROWS, verbose=0))
    for result in found:
        np.testing.assert_allclose(result, expected, 1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.maximum(x, 2.0 * x),
        lambda x: ops.logical_not(x < 0.0),
        lambda x: ops.max(ops.sqrt(x), -1),
        lambda x: ops.min(ops.log1p(2.0 * x), -1),
    ],
)
def test_ops_in_a_function_of_the_user(function):
    x = tf.constant(ROWS)
    np.testing.assert_allclose(tf.function(function, autograph=False)(x), function(x), 1e-6)


def test_gradients_are_those_of_the_operations():
    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = ops.maximum(x, 2.0 * x) + ops.max(ops.log(ops.abs(x)), -1, keepdims=True)
        return tape.gradient(y, x)

    x = tf.constant([[1.0, -2.0, 0.25]])
    np.testing.assert_allclose(tf.function(slopes)(x), slopes(x), 1e-6)


def test_what_is_apart_stays_as_it_is():
    """Twice as often would be twice as slow: a SavedModel may be exported again."""
    run = tf.function(lambda x: CASES["not less"](tf.nn.relu(x)), autograph=False)
    definition = run.get_concrete_function(tf.TensorSpec((2, 4))).function_def
    assert set_apart(definition)
    assert not set_apart(definition)


def test_no_pass_fails_where_leaky_rectifiers_follow_convolutions(capfd):
    """Otherwise TensorFlow says so in the first training step, and joins nothing in it."""
    convolutions = (layers.Conv2D(4, 3, activation="leaky_relu") for _ in range(2))
    model = tfkit.Sequential([*convolutions])
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(np.ones((8, 8, 8, 2)), np.ones((8, 4, 4, 4)), verbose=0)
    assert "failed" not in capfd.readouterr().err
