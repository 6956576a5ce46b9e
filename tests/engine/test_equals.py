"""Operations replaced in programs that XLA compiles: the same numbers, also for those that are none."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.engine.passes.equals import equal_of
from tfkit.src.training.step import traced

SPECIAL = np.array([-np.inf, -3.5, -0.0, 0.0, 1e-40, 0.3, 7.0, 3e38, np.inf, np.nan])
ROWS = np.random.default_rng(0).normal(size=(4, 6, 10))


def gradient(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, tf.cast(tf.reshape(ROWS[0, 0], [10]), x.dtype))


def bias_gradient(x):
    bias = tf.zeros(10, x.dtype)
    with tf.GradientTape() as tape:
        tape.watch(bias)
        y = tf.nn.bias_add(x, bias)
    return tape.gradient(y, bias, x)


CASES = {
    "Relu": (tf.nn.relu, SPECIAL),
    "ReluGrad": (lambda x: gradient(tf.nn.relu, x), SPECIAL),
    "Sqrt": (tf.sqrt, np.concatenate([SPECIAL, np.abs(ROWS).ravel()])),
    "BiasAddGrad": (bias_gradient, ROWS),
    "BiasAddGrad of a matrix": (bias_gradient, ROWS[0]),
    "Einsum": (lambda x: tf.einsum("abc,dbc->da", x, x), ROWS),
    "Einsum of heads": (lambda x: tf.einsum("abc,cde->abde", x, ROWS[:1, :5].T), ROWS),
    "Einsum that sums": (lambda x: tf.einsum("abc,ad->d", x, x[:, 0]), ROWS),
    "Einsum with an ellipsis": (lambda x: tf.einsum("...bc,...dc->...bd", x, x), ROWS),
}


def nodes(function):
    return {node.op: node for node in function.graph.as_graph_def().node}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_an_equal_is_equal(name, dtype):
    body, values = CASES[name]
    x = tf.constant(values, dtype)
    spec = tf.TensorSpec([None, *x.shape[1:]], dtype)
    op = name.split()[0]
    plain = tf.function(body, jit_compile=True)
    node = nodes(plain.get_concrete_function(spec))[op]
    assert (equal_of(node) is None) == (op == "Einsum" and dtype == "float64")
    expected, given = plain(x), traced(body, [spec], jit_compile=True)(x)
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: tf.nn.relu(tf.cast(x, "bfloat16")),
        lambda x: tf.nn.relu(tf.cast(x, "int32")),
        lambda x: tf.raw_ops.BiasAddGrad(out_backprop=x, data_format="NCHW"),
        lambda x: tf.einsum("abc->c", x),
        tf.exp,
    ],
    ids=["bfloat16", "integers", "channels first", "one operand", "no equal"],
)
def test_others_are_left(body):
    function = tf.function(body).get_concrete_function(tf.TensorSpec([2, 3, 4]))
    assert not any(map(equal_of, function.graph.as_graph_def().node))


def test_a_model_that_has_them_is_compiled_whole():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((5, 8))
    x = keras.layers.MultiHeadAttention(2, 4)(inputs, inputs)
    outputs = keras.layers.Dense(1)(keras.layers.Dense(8, activation="relu")(x))

    def trained(jit_compile):
        model = keras.Model(inputs, outputs)
        copy = keras.models.clone_model(model)
        copy.set_weights(model.get_weights())
        copy.compile(keras.optimizers.SGD(0.01), "mse", jit_compile=jit_compile)
        copy.fit(ROWS[:, :5, :8], np.ones((4, 5, 1)), batch_size=4, epochs=3, verbose=0)
        return copy

    compiled, plain = trained("auto"), trained(False)
    assert "XLA compiles all of the step" in str(compiled.plan)
    for given, expected in zip(compiled.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-6)
